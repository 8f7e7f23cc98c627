#include "strategies/measure/validation/run_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/math.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/scenario/without_effect/without_effect.hpp"
#include "topologies/graph/cluster_data.hpp"
#include "topologies/graph/fabric_ports.hpp"

namespace lockstep {

namespace {

/// GPUs that the axes in front of tensor parallelism, and it itself, spread a group over.
bool crosses_nodes(const ParallelConfig& parallel, int gpus_per_node) {
  int span = parallel.tp;
  for (const std::string& axis : parallel.order) {
    if (axis == "tp") break;
    span *= axis == "dp" ? parallel.dp : axis == "cp" ? parallel.cp : parallel.pp;
  }
  return parallel.tp > 1 && span > gpus_per_node;
}

using Features = std::set<std::pair<std::string, std::string>>;

void add_attention(const TransformerConfig& model, Features& out) {
  const auto add = [&out](bool has, const char* value) {
    if (has) out.emplace("attention", value);
  };
  const bool windowed = model.window && model.window->size < model.sequence;
  add(windowed && !model.window->chunked, "through windows");
  add(windowed && model.window->chunked, "in chunks");
  add(has_documents(model), "over packed documents");
  add(model.latent.has_value(), "with latent keys and values");
  add(model.sinks, "with sinks");
  if (model.mtp) out.emplace("prediction", "of several tokens");
}

/// What GPUs of a node exchange data over, unless it is a switch of NVLink.
void add_node(const Cluster& cluster, Features& out) {
  const ClusterData& data = cluster.data();
  bool switched = false;
  bool nvlink = false;
  for (std::size_t id = 0; id < data.node_links(); ++id) {
    const ClusterLink& link = data.links[id];
    switched = switched || cluster.vertex(link.to).kind == VertexKind::nvswitch;
    nvlink = nvlink || link.kind == LinkKind::nvlink;
  }
  if (switched) return;
  out.emplace("GPUs of a node", nvlink ? "linked without switches" : "without NVLink");
}

/// The transport of the NICs, and whether they are under switches of several places.
void add_fabric(const Cluster& cluster, Features& out) {
  // Within a hall cables take less than a microsecond; 20 us are 4 km of fiber.
  constexpr Duration kDistant = Duration::picoseconds(20'000'000);
  const ClusterData& data = cluster.data();
  if (data.planes > 0) out.emplace("fabric", data.transport);
  for (std::size_t id = 0; id < data.switch_links.size(); ++id)
    if (data.switch_links[id].figures.latency > kDistant) out.emplace("fabric", "of several sites");
}

/// Gb/s of the NICs of a node, in their present state, by its GPUs.
double nic_gbps_per_gpu(const Cluster& cluster, int gpus) {
  constexpr double kGigabit = 125e6;  // bytes
  const ClusterData& data = cluster.data();
  const int per_node = std::max(1, cluster.gpus_per_node());
  if (data.planes == 0 || gpus <= per_node) return 0;
  const FabricPorts ports{data};
  double sum = 0;
  for (std::size_t nic = 0; nic < data.terminals.size(); ++nic)
    sum += cluster.link(ports.up(0, nic)).figures.bandwidth.bytes_per_second();
  return sum / kGigabit / per_node;
}

void add_cluster(const Cluster& cluster, int gpus, Features& out) {
  if (gpus < 2) return;
  if (!cluster.dimensions().empty()) {
    out.emplace("cluster", "ring or torus");
    return;
  }
  const int per_node = std::max(1, cluster.gpus_per_node());
  if (per_node > 1) add_node(cluster, out);
  if (gpus > per_node && per_node == 1) out.emplace("cluster", "of single GPUs");
  if (gpus > per_node) add_fabric(cluster, out);
}

void add_layout(const ParallelConfig& parallel, Features& out) {
  const auto add = [&out](bool has, const char* property, std::string_view value) {
    if (has) out.emplace(property, value);
  };
  add(parallel.pp > 1, "pipeline schedule", name_of(pipeline_names(), parallel.schedule));
  add(parallel.cp > 1, "context parallelism by", name_of(context_names(), parallel.cp_kind));
  add(parallel.ep > 1, "expert dispatcher", name_of(dispatcher_names(), parallel.dispatcher));
  add(parallel.ep > 1 && parallel.overlaps(Overlap::ep_pairs), "overlap", "ep_pairs");
  add(parallel.capacity_factor > 0, "experts", "with a capacity");
  add(parallel.expert_skew.has_value(), "experts", "with unequal load");
  add(parallel.exchange != GradientExchange::all_reduce, "gradients exchanged by",
      name_of(exchange_names(), parallel.exchange));
  add(!parallel.algorithms.empty(), "collective algorithms", "of parallel.algorithms");
  add(parallel.zero > 0, "ZeRO stage", std::to_string(parallel.zero));
  add(parallel.zero == 3 && !parallel.reshard_after_forward, "ZeRO-3",
      "that keeps gathered weights for backward");
  add(parallel.etp > 0 && parallel.etp != parallel.tp, "experts",
      "with tensor parallelism of their own");
  add(parallel.ep > 1 && parallel.overlaps(Overlap::ep), "overlap", "ep");
  add(parallel.updates_by_bucket(), "weights updated", "by bucket");
  add(parallel.delay_wgrad_compute, "gradients of weights", "after the next all-to-all");
  const bool modules = parallel.recompute == Recompute::selective &&
                       parallel.recompute_modules != std::set{RecomputeModule::core_attn};
  add(modules, "recomputation", "of other modules than the core of attention");
  add(parallel.precision == Dtype::fp8, "recipe of fp8", parallel.recipe.id);
}

void add_states(const StateConfig& state, Features& out) {
  if (state.optimizer != Optimizer::adam)
    out.emplace("optimizer", name_of(optimizer_names(), state.optimizer));
  if (state.moments != Dtype::fp32)
    out.emplace("optimizer moments in", name_of(stored_names(), state.moments));
  if (state.offload) out.emplace("optimizer states", "on the host");
  if (is_narrow(state.weights)) out.emplace("weights in", name_of(stored_names(), state.weights));
  if (!state.master && state.weights != Dtype::fp32)
    out.emplace("weights", "without a copy in fp32");
}

/// Sides of a rank's GEMMs in linear layers of a transformer, with their names.
std::vector<std::pair<std::string_view, std::int64_t>> widths_of(const ModelConfig& model,
                                                                 const ParallelConfig& parallel) {
  const TransformerConfig& of = *model.transformer();
  std::vector<std::pair<std::string_view, std::int64_t>> out{{"hidden", of.hidden}};
  if (of.latent) {
    out.emplace_back("latent.kv_rank", of.latent->kv_rank);
    out.emplace_back("latent.query_rank", of.latent->query_rank);
  } else {
    out.emplace_back("heads * head_size / tp", of.heads * of.head_size / parallel.tp);
    if (of.kv_heads % parallel.tp == 0)
      out.emplace_back("kv_heads * head_size / tp", of.kv_heads * of.head_size / parallel.tp);
  }
  if (has_plain_mlp(model)) out.emplace_back("ffn / tp", of.ffn / parallel.tp);
  if (of.experts) out.emplace_back("experts.ffn / etp", of.experts->ffn / parallel.expert_tp());
  return out;
}

/// Transformer Engine and torch._scaled_mm take rows of whole 16 elements below 16 bits, MXFP8
/// whole blocks of 32 (TransformerEngine pytorch/utils.py, assert_dim_for_fp8_exec;
/// tensor/mxfp8_tensor.py), and refuse others.
void add_widths(const ModelConfig& model, const ParallelConfig& parallel, Features& out) {
  if (model.transformer() == nullptr || !is_narrow(parallel.precision)) return;
  const bool mx = parallel.precision == Dtype::fp8_block && !parallel.recipe.requires_peak.empty();
  const std::int64_t unit = mx ? 32 : 16;
  for (const auto& [name, width] : widths_of(model, parallel)) {
    if (width % unit == 0) continue;
    out.emplace("GEMMs", fmt::format("in {} with {} = {}, no multiple of {}: software "
                                     "refuses them",
                                     to_string(parallel.precision), name, width, unit));
    return;
  }
}

Features features_of(const Scenario& scenario) {
  Features out;
  if (const auto* model = scenario.model.transformer()) add_attention(*model, out);
  add_widths(scenario.model, scenario.parallel, out);
  add_layout(scenario.parallel, out);
  add_states(scenario.parallel.state, out);
  add_cluster(scenario.cluster.cluster, scenario.parallel.ranks(), out);
  return out;
}

}  // namespace

RunKind run_kind_of(const Scenario& scenario) {
  const ParallelConfig& parallel = scenario.parallel;
  const int per_node = std::max(1, scenario.cluster.cluster.gpus_per_node());
  RunKind out;
  out.stack = scenario.stack;
  if (scenario.sustained) out.stack = "sustained rate";
  out.gpu = scenario.cluster.device.id;
  out.model = "other than a transformer";
  if (const auto* transformer = scenario.model.transformer()) {
    out.model = transformer->experts ? "mixture of experts" : "transformer";
    if (transformer->encoder) out.model = "encoder and decoder";
    if (transformer->image) out.model = "vision transformer";
    if (transformer->diffusion) out.model = "diffusion transformer";
    out.sequence = transformer->sequence;
  }
  const bool other = is_narrow(parallel.precision) && parallel.precision != Dtype::fp8;
  out.precision = other ? precision_text(parallel) : std::string{to_string(parallel.precision)};
  out.recompute = std::string{name_of(recompute_names(), parallel.recompute)};
  out.parameters =
      std::max<double>(1, static_cast<double>(count_parameters(scenario.model).total()));
  out.micro_batch = parallel.micro_batch;
  out.gpus = parallel.ranks();
  out.nodes = ceil_div(out.gpus, per_node);
  out.gpus_per_node = std::min(out.gpus, per_node);
  out.nic_gbps_per_gpu = nic_gbps_per_gpu(scenario.cluster.cluster, out.gpus);
  out.tp = parallel.tp;
  out.pp = parallel.pp;
  out.cp = parallel.cp;
  out.ep = parallel.ep;
  out.dp = parallel.dp;
  out.zero = parallel.zero;
  out.tp_across_nodes = crosses_nodes(parallel, per_node);
  out.features = features_of(scenario);
  return out;
}

}  // namespace lockstep
