#include "strategies/scenario/scenario_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/layers.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/scenario/parallel/pipeline_layout.hpp"
#include "strategies/scenario/without_effect/without_effect.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {
namespace {

/// Notes a problem at the member of `in` that a key with dots leads to, or at the object where it
/// is left out.
void note_at(ObjectReader& in, std::string_view key, const std::string& message) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return in.note(key, message);
  const auto at = in.optional(key.substr(0, dot));
  if (!at || !at->is_object()) return in.note(key.substr(0, dot), message);
  at->object([&](ObjectReader& members) {
    (void)members.all();
    note_at(members, key.substr(dot + 1), message);
  });
}

/// Whether the scenario itself says something there.
bool is_given(const JsonValue* at, std::string_view key) {
  const auto* members = at == nullptr ? nullptr : at->get_if<JsonObject>();
  if (members == nullptr) return false;
  const std::size_t dot = key.find('.');
  const JsonValue* found = find_member(*members, key.substr(0, dot));
  if (dot == std::string_view::npos) return found != nullptr;
  return is_given(found, key.substr(dot + 1));
}

/// Why this model cannot be spread so over this cluster, at the key that is to blame.
void note_layout_problems(ObjectReader& in, const ScenarioParts& parts) {
  const Cluster& cluster = parts.cluster.cluster;
  for (const LayoutProblem& problem :
       layout_problems(parts.model, parts.parallel, cluster.ranks(), cluster.gpus_per_node()))
    note_at(in, problem.key, problem.message);
}

/// The fastest dense products in a precision; those of fp32 may go through TF32.
std::optional<FlopRate> peak_of(const Device& device, Dtype precision) {
  const auto peak = device.peak(peak_precision(precision));
  if (precision != Dtype::fp32) return peak;
  return std::max(peak, device.peak(Precision::kTf32));
}

bool has_peak(const Device& device, std::string_view precision) {
  const auto found = std::ranges::find(kPrecisionNames, precision);
  return device.peaks.at(static_cast<std::size_t>(found - kPrecisionNames.begin())).has_value();
}

/// NVFP4 has a scale of 8 bits with a fraction per 16 numbers, MXFP4 a power of two per 32: peaks
/// in fp4 are of NVFP4 in NVIDIA's devices, from Blackwell on, and of MXFP4 in others'.
bool takes_nvfp4(const Device& device) {
  return device.kernels.starts_with("blackwell") || device.kernels.starts_with("rubin");
}

/// A GPU without such products cannot be asked for them, nor for more than it has.
void check_precision(ObjectReader& in, const ScenarioParts& parts) {
  const Device& device = parts.cluster.device;
  const Dtype precision = parts.parallel.precision;
  const auto peak = peak_of(device, precision);
  const bool unknown = !parts.parallel.recipe.id.empty() && in.self().problems().any();
  if (!peak && unknown) return;  // no recipe, as has been noted
  if (!peak) {
    std::vector<std::string_view> possible;
    for (const auto& [name, dtype] : precision_names())
      if (peak_of(device, dtype)) possible.push_back(name);
    note_at(in, "parallel.precision",
            fmt::format("{} has no products in {}; precision may be {}", in_quotes(device.id),
                        precision_text(parts.parallel), fmt::join(possible, ", ")));
  } else if (const std::string& needed = parts.parallel.recipe.requires_peak;
             !needed.empty() && !has_peak(device, needed)) {
    note_at(in, "parallel.precision",
            fmt::format("{} needs units for its scales, which only devices with products in {} "
                        "have; {} has none",
                        precision_text(parts.parallel), needed, in_quotes(device.id)));
  } else if (precision == Dtype::nvfp4 && !takes_nvfp4(device)) {
    note_at(
        in, "parallel.precision",
        fmt::format(
            "{} needs units for scales of 16 numbers, which only devices with the "
            "kernels \"blackwell\" or \"rubin\" have; the fp4 of {} is MXFP4, with scales of 32",
            precision_text(parts.parallel), in_quotes(device.id)));
  } else if (parts.sustained && *parts.sustained > *peak) {
    note_at(in, "sustained",
            fmt::format("sustained = {} is above the dense {} peak of {}, {}",
                        to_string(*parts.sustained), precision_text(parts.parallel),
                        in_quotes(device.id), to_string(*peak)));
  }
}

/// Kernels that dispatch tokens leave multiprocessors to what is computed meanwhile.
void check_multiprocessors(ObjectReader& in, const ScenarioParts& parts) {
  const ParallelConfig& parallel = parts.parallel;
  if (parallel.dispatcher != Dispatcher::deepep || !parallel.overlaps_experts()) return;
  const Device& device = parts.cluster.device;
  if (!device.multiprocessors) {
    note_at(in, "parallel.dispatcher",
            fmt::format("deepep takes multiprocessors from computation, and {} does not say how "
                        "many it has",
                        in_quotes(device.id)));
  } else if (parallel.dispatch_sms >= *device.multiprocessors) {
    note_at(in, "parallel.dispatch_sms",
            fmt::format("dispatch_sms = {}; {} has {} multiprocessors, and computation needs some",
                        parallel.dispatch_sms, in_quotes(device.id), *device.multiprocessors));
  }
}

/// A layout in letters has as many layers of multi-token prediction as the model, or leaves them
/// out.
void check_predictions(ObjectReader& in, const ScenarioParts& parts) {
  const auto* scenario = in.self().value()->get_if<JsonObject>();
  const JsonValue* given = scenario == nullptr ? nullptr : find_member(*scenario, "parallel");
  const auto* parallel = given == nullptr ? nullptr : given->get_if<JsonObject>();
  const JsonValue* stages = parallel == nullptr ? nullptr : find_member(*parallel, "stages");
  const auto* text = stages == nullptr ? nullptr : stages->get_if<std::string>();
  if (text == nullptr) return;
  const auto read = read_pipeline_layout(*text);
  const auto* layout = std::get_if<PipelineLayout>(&read);
  if (layout == nullptr || layout->predictions == 0) return;
  const TransformerConfig* model = parts.model.transformer();
  const std::int64_t has = model != nullptr && model->mtp ? model->mtp->layers : 0;
  if (layout->predictions != has)
    note_at(in, "parallel.stages",
            fmt::format("{} letters m, but the model has {} layers of multi-token prediction",
                        layout->predictions, has));
}

double layers_written(const ModelConfig& model) {
  if (std::holds_alternative<ResNetConfig>(model.shape)) return 64;  // they have fewer blocks
  return static_cast<double>(layers_of(model));
}

/// More layers, and more times a layer and a microbatch, than a step is written out with: each of
/// these takes some tenths of a millisecond and a few kilobytes.
void check_length(ObjectReader& in, const ScenarioParts& parts) {
  constexpr double kMostLayers = 10'000;
  constexpr double kMostCalls = 300'000;
  const double layers = layers_written(parts.model);
  if (layers > kMostLayers)
    return note_at(in, "model.layers",
                   fmt::format("layers = {}; a step of at most {} layers can be simulated", layers,
                               kMostLayers));
  const auto microbatches = static_cast<double>(parts.parallel.microbatches());
  if (layers * microbatches <= kMostCalls) return;
  note_at(in, "parallel.global_batch",
          fmt::format("{} layers for {} microbatches a step are more than the {} that can be "
                      "simulated; a global_batch of {} or a larger micro_batch would do",
                      layers, parts.parallel.microbatches(), kMostCalls,
                      static_cast<std::int64_t>(kMostCalls / layers) * parts.parallel.micro_batch *
                          parts.parallel.dp));
}

/// Numbers of the widest tensors of a microbatch, all replicas together.
double numbers_of(const ScenarioParts& parts) {
  const auto samples =
      static_cast<double>(parts.parallel.micro_batch) * static_cast<double>(parts.parallel.dp);
  if (const auto* mlp = std::get_if<MlpConfig>(&parts.model.shape))
    return samples * static_cast<double>(std::max(mlp->hidden, mlp->ffn));
  if (const auto* of = parts.model.transformer()) {
    const auto tokens = static_cast<double>(
        std::max(of->sequence, of->encoder ? of->encoder->sequence : std::int64_t{0}));
    const double scores =
        of->attention == AttentionKind::unfused ? static_cast<double>(of->heads) * tokens : 0;
    const auto width = static_cast<double>(
        std::max({of->hidden, of->ffn, of->vocabulary, 2 * of->heads * of->head_size}));
    const double copies = of->experts ? static_cast<double>(of->experts->top_k) : 1;
    return samples * tokens * std::max(scores, width * copies);
  }
  const auto& net = std::get<ResNetConfig>(parts.model.shape);
  return samples * static_cast<double>(net.frames) * static_cast<double>(net.image) *
         static_cast<double>(net.image) * static_cast<double>(net.width);
}

/// Bytes are counted in 63 bits.
void check_size(ObjectReader& in, const ScenarioParts& parts) {
  constexpr double kMostNumbers = 1e15;
  const double numbers = numbers_of(parts);
  if (numbers <= kMostNumbers) return;
  note_at(in, "parallel.micro_batch",
          fmt::format("micro_batch = {} on each of dp = {} replicas: one tensor has {:.3g} "
                      "numbers; at most {:.0e} can be counted",
                      parts.parallel.micro_batch, parts.parallel.dp, numbers, kMostNumbers));
}

/// Refuses what contradicts the layout; returns the rest of what changes nothing, where the
/// scenario itself says it.
std::vector<ScenarioNote> sorted_out(ObjectReader& in, const std::vector<WithoutEffect>& found) {
  std::vector<ScenarioNote> out;
  for (const WithoutEffect& each : found) {
    if (each.refused) {
      note_at(in, each.key, each.message);
    } else if (is_given(in.self().value(), each.key)) {
      out.push_back({each.key, each.message});
    }
  }
  return out;
}

/// Figures of a network that nothing is sent over, and makes of fabric that are taken alike.
void add_fabric(const JsonValue* scenario, const ScenarioParts& parts,
                std::vector<WithoutEffect>& out) {
  const auto* members = scenario == nullptr ? nullptr : scenario->get_if<JsonObject>();
  const JsonValue* at = members == nullptr ? nullptr : find_member(*members, "cluster");
  const auto* cluster = at == nullptr ? nullptr : at->get_if<JsonObject>();
  if (cluster == nullptr) return;
  const JsonValue* fabric = find_member(*cluster, "fabric");
  const auto* name = fabric == nullptr ? nullptr : fabric->get_if<std::string>();
  const char* alone = "all GPUs are in one node, nothing goes through NICs";
  const bool one_node = parts.cluster.cluster.nodes() == 1;
  const bool modeled = transport_latency(parts.cluster.cluster) > Duration{};
  if (name != nullptr && *name != "infiniband" && (one_node || !modeled))
    out.push_back({"cluster.fabric",
                   one_node ? std::string{alone}
                            : fmt::format("no latencies of {} are shipped, those of InfiniBand "
                                          "stand for them; bandwidth is nic_gbps",
                                          *name)});
  if (one_node && find_member(*cluster, "nic_gbps") != nullptr)
    out.push_back({"cluster.nic_gbps", alone});
}

std::vector<WithoutEffect> without_effect(ObjectReader& in, const ScenarioParts& parts) {
  const int per_node = parts.cluster.cluster.gpus_per_node();
  std::vector<WithoutEffect> out = values_without_effect(parts.model, parts.parallel, per_node);
  for (WithoutEffect& each : model_values_without_effect(parts.model))
    out.push_back(std::move(each));
  add_fabric(in.self().value(), parts, out);
  if (parts.parallel.algorithms.empty() && parts.parallel.traffic_weights.empty()) return out;
  const Program program = build_program(parts.model, parts.parallel, per_node);
  for (WithoutEffect& each : algorithms_without_effect(program, parts.parallel))
    out.push_back(std::move(each));
  for (WithoutEffect& each : windows_without_effect(program, parts.parallel, per_node))
    out.push_back(std::move(each));
  for (WithoutEffect& each : traffic_weights_without_effect(program, parts.parallel))
    out.push_back(std::move(each));
  return out;
}

}  // namespace

std::vector<ScenarioNote> check_together(ObjectReader& in, const ScenarioParts& parts) {
  check_precision(in, parts);
  check_multiprocessors(in, parts);
  check_predictions(in, parts);
  check_length(in, parts);
  check_size(in, parts);
  note_layout_problems(in, parts);
  if (in.self().problems().any()) return {};
  return sorted_out(in, without_effect(in, parts));
}

}  // namespace lockstep
