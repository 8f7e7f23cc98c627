#include "tools/app/campaign/checkpoint_cost.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/config/config_error.hpp"
#include "strategies/models/count/count.hpp"

namespace lockstep::app {

namespace {

/// Bytes of all ranks together, copies included.
struct StateBytes {
  double weights = 0;
  double optimizer = 0;
};

[[nodiscard]] StateBytes state_bytes(const TrainingStepResult& step) {
  const TrainingStepTimeline& timeline = step.step.timeline;
  std::vector<double> ranks(timeline.roles.size());
  for (int rank = 0; rank < step.scenario.parallel.ranks(); ++rank)
    ranks[timeline.program->role_of(rank)] += 1;
  StateBytes out;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == 0) continue;
    for (const bool on_host : {false, true}) {
      const CategoryBytes bytes = resident_bytes(timeline.roles[i], on_host);
      out.weights += ranks[i] * static_cast<double>(bytes[Category::weight].count());
      out.optimizer += ranks[i] * static_cast<double>(bytes[Category::optimizer_state].count());
    }
  }
  return out;
}

[[nodiscard]] Bytes rounded(double bytes) {
  return Bytes{static_cast<std::int64_t>(std::llround(bytes))};
}

[[nodiscard]] double seconds_at(double bytes, double per_second) {
  return per_second > 0 ? bytes / per_second : 0;
}

/// Bandwidth of a node's NICs; 0: without limit.
[[nodiscard]] double node_rate(const TrainingStepResult& step) {
  const ClusterFacts& facts = step.facts;
  return facts.nic_usable ? facts.nic_usable->bytes_per_second() * facts.nics_per_node : 0;
}

[[nodiscard]] double nodes_for(double ranks, const TrainingStepResult& step) {
  return std::ceil(ranks / step.facts.gpus_per_node);
}

}  // namespace

Bytes checkpoint_size(const TrainingStepResult& step) {
  const ParallelConfig& parallel = step.scenario.parallel;
  const StateBytes all = state_bytes(step);
  const auto parameters = static_cast<double>(count_parameters(step.scenario.model).total());
  const double weights =
      parameters * static_cast<double>(bytes_per_element(parallel.state.weights));
  if (parallel.zero == 0)
    return rounded(weights + (all.weights > 0 ? weights * all.optimizer / all.weights : 0));
  const double shards = parallel.shard_ranks > 0 ? parallel.shard_ranks : parallel.dp * parallel.cp;
  return rounded(weights + all.optimizer * shards / (parallel.dp * parallel.cp));
}

CheckpointCost checkpoint_cost(const CheckpointPlan& plan, const std::string& file,
                               const TrainingStepResult& step) {
  const ParallelConfig& parallel = step.scenario.parallel;
  const StateBytes all = state_bytes(step);
  CheckpointCost out;
  out.size = plan.size.value_or(checkpoint_size(step));
  const double size = static_cast<double>(out.size.count());
  const double nodes = nodes_for(parallel.ranks(), step);
  out.states = rounded((all.weights + all.optimizer) / nodes);
  const double writers = plan.sharded ? parallel.ranks() : parallel.tp * parallel.pp;
  const double over_nics = seconds_at(size / nodes_for(writers, step), node_rate(step));
  const auto storage = [&](const std::optional<Rate>& rate) {
    return rate ? seconds_at(size, rate->bytes_per_second()) : 0;
  };
  const double spread =
      seconds_at(static_cast<double>(out.states.count()), nodes > 1 ? node_rate(step) : 0);
  const std::optional<Rate>& read = plan.read ? plan.read : plan.write;
  out.computed = !plan.save || !plan.load;
  out.save = plan.save.value_or(LongTime::seconds(std::max(storage(plan.write), over_nics)));
  out.load = plan.load.value_or(LongTime::seconds(std::max(storage(read), over_nics) + spread));
  out.stall = out.save;
  if (!plan.asynchronous) return out;
  if (!plan.stall && !step.facts.gpu_pcie)
    throw ConfigError{Problem{
        file,
        {},
        "/checkpoint/mode",
        "the cluster of " + step.scenario.name +
            " has no PCIe bandwidth of GPUs, over which an asynchronous save is copied to the "
            "host; expected \"stall_time\": \"2 s\" next to it"}};
  out.stall = plan.stall
                  ? *plan.stall
                  : LongTime::seconds(size / writers / step.facts.gpu_pcie->bytes_per_second());
  return out;
}

}  // namespace lockstep::app
