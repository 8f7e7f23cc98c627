#include "strategies/stacks/software_stack.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/complaint.hpp"
#include "sim/config/reader.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "topologies/devices/device_figure.hpp"

namespace lockstep {

namespace {

constexpr double kMost = 1'000;
const std::vector<std::string_view> kImplementations{"flash-2", "torch-flash-2", "flash-3",
                                                     "cudnn",   "cutlass",       "flash-1"};

KindFigures read_kind(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    KindFigures out;
    out.kernels = in.number("kernels", 0, kMost);
    out.traffic = in.number("traffic", 0, kMost);
    if (const auto rate = in.optional("multiprocessor_rate"))
      out.multiprocessor_rate = rate->rate();
    return out;
  });
}

std::vector<std::string> read_attention(const ValueReader& value) {
  std::vector<std::string> out;
  value.array(
      [&out](const ValueReader& one) {
        out.push_back(one.one_of("implementation of attention", kImplementations));
      },
      1);
  return out;
}

HostWait read_host_wait(const ValueReader& value) {
  const std::string name = value.one_of("thing to wait for", {"nothing", "messages", "kernels"});
  if (name == "kernels") return HostWait::kernels;
  return name == "messages" ? HostWait::messages : HostWait::nothing;
}

LossForm read_loss_form(const ValueReader& value) {
  const std::string name =
      value.one_of("form of the logits", {"logits", "wide_logits", "wide_steps"});
  if (name == "wide_steps") return LossForm::wide_steps;
  return name == "wide_logits" ? LossForm::wide_logits : LossForm::logits;
}

/// Casts to 8 bits: kernels and bytes, and what one of them serves.
struct Casts {
  KindFigures figures{};
  Fp8Casts serve{};
};

Casts read_casts(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    const auto once = [&in](std::string_view key, std::string_view name) {
      const auto said =
          in.optional_one_of(key, "extent of a cast", {std::string_view{"every_product"}, name});
      return said == name;
    };
    Casts out;
    out.figures.kernels = in.number("kernels", 0, kMost);
    out.figures.traffic = in.number("traffic", 0, kMost);
    out.serve.inputs_once = once("inputs", "once");
    out.serve.weights_once = once("weights", "once_a_step");
    return out;
  });
}

ModelForm read_form(ObjectReader& in, FigureReader& reader) {
  const auto flag = [](const ValueReader& value) { return value.boolean(); };
  ModelForm out;
  out.loss = reader.figure(in, "loss_keeps", read_loss_form);
  out.joined_gemms = reader.figure(in, "joined_products", flag);
  out.stops_early = reader.figure(in, "recomputation_stops_early", flag);
  out.fp8_output_layer = reader.optional_figure(in, "fp8_output_layer", flag).value_or(false);
  return out;
}

Dtype read_precision(const ValueReader& value) {
  const std::string name = value.one_of("precision", {"fp32", "bf16", "fp16"});
  if (name == "fp32") return Dtype::fp32;
  return name == "fp16" ? Dtype::fp16 : Dtype::bf16;
}

std::optional<GradientReduction> read_reduction(ObjectReader& in, std::string_view key) {
  std::vector<std::string_view> names = keys_of(reduction_names());
  names.push_back("refused");
  return named(reduction_names(), in.required(key).one_of("time to reduce gradients", names));
}

void read_reductions(ObjectReader& in, FigureReader& reader, SoftwareStack& stack) {
  (void)reader.optional_figure(in, "reduces_gradients", [&stack](const ValueReader& value) {
    return value.object([&stack](ObjectReader& when) {
      stack.reduction_without_pipeline = read_reduction(when, "without_pipeline");
      stack.reduction_with_pipeline = read_reduction(when, "with_pipeline");
      return true;
    });
  });
}

std::set<Overlap> read_traffic(ObjectReader& in, std::string_view key) {
  std::set<Overlap> out;
  in.optional_array(key, [&out](const ValueReader& value) {
    const std::string name = value.one_of("kind of traffic", keys_of(overlap_names()));
    if (const auto kind = named(overlap_names(), name)) out.insert(*kind);
  });
  return out;
}

OverlapDefaults read_overlap(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    OverlapDefaults out;
    out.always = read_traffic(in, "always");
    out.sharded = read_traffic(in, "sharded");
    out.interleaved = read_traffic(in, "interleaved");
    out.ring = read_traffic(in, "ring");
    return out;
  });
}

void read_kinds(ObjectReader& in, SoftwareStack& stack) {
  FigureReader reader{stack.sources};
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    const OperationClass of = class_of(kind);
    if (of == OperationClass::communication || of == OperationClass::copy) continue;
    const auto figures = reader.optional_figure(in, to_string(kind), read_kind);
    if (figures) stack.kinds[i] = *figures;
  }
}

}  // namespace

SoftwareStack read_software_stack(const JsonDocument& document, std::string id) {
  return read_document(document, [&id](ObjectReader& in) {
    SoftwareStack stack;
    stack.id = std::move(id);
    stack.name = in.string("name");
    FigureReader reader{stack.sources};
    stack.attention = reader.figure(in, "attention", read_attention);
    stack.host_time =
        reader.figure(in, "host_time", [](const ValueReader& value) { return value.duration(); });
    if (const auto nccl = reader.optional_figure(
            in, "nccl", [](const ValueReader& value) { return value.string(); }))
      stack.nccl = *nccl;
    stack.bias = reader.figure(in, "bias", read_kind);
    const Casts casts = reader.figure(in, "fp8_casts", read_casts);
    stack.fp8_casts = casts.figures;
    stack.gradient_sum = reader.figure(in, "gradient_sum", read_kind);
    stack.host_waits_for = reader.figure(in, "host_waits_for", read_host_wait);
    stack.form = read_form(in, reader);
    stack.form.fp8_casts = casts.serve;
    stack.gradients = reader.optional_figure(in, "gradients", read_precision);
    const auto flag = [](const ValueReader& value) { return value.boolean(); };
    stack.scatter_gradients = reader.optional_figure(in, "scatter_gradients", flag).value_or(true);
    read_reductions(in, reader, stack);
    stack.overlap = reader.optional_figure(in, "overlap", read_overlap).value_or(OverlapDefaults{});
    in.object("kinds", [&stack](ObjectReader& kinds) { read_kinds(kinds, stack); });
    return stack;
  });
}

SoftwareStack load_software_stack(const std::filesystem::path& path) {
  return read_software_stack(read_json(path), path.stem().string());
}

std::vector<std::string> software_stack_ids(const std::filesystem::path& folder) {
  return device_ids(folder);  // ids are names of .json files there as well
}

SoftwareStack find_software_stack(const std::filesystem::path& folder, const std::string& id) {
  const std::vector<std::string> ids = software_stack_ids(folder);
  if (std::find(ids.begin(), ids.end(), id) != ids.end()) {
    return load_software_stack(folder / (id + ".json"));
  }
  const std::vector<std::string_view> names(ids.begin(), ids.end());
  throw ConfigError{
      Problem{folder.string(), {}, "", complain_of_name("software stack", id, names)}};
}

}  // namespace lockstep
