#include "strategies/measure/validation/run_kind.hpp"

#include <algorithm>

#include "sim/base/math.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/count.hpp"

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
    if (has_documents(*transformer)) out.model += " on packed documents";
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
  out.tp = parallel.tp;
  out.pp = parallel.pp;
  out.cp = parallel.cp;
  out.ep = parallel.ep;
  out.dp = parallel.dp;
  out.zero = parallel.zero;
  out.tp_across_nodes = crosses_nodes(parallel, per_node);
  return out;
}

}  // namespace lockstep
