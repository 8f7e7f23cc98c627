#include "tools/app/campaign/checkpoint_cost.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/config/json/config_error.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/step/build_program.hpp"
#include "tools/app/campaign/storage_transfers.hpp"

namespace lockstep::app {

namespace {

/// Bytes of all ranks together, copies included.
struct StateBytes {
  double weights = 0;
  double elements = 0;  // of the weights
  double optimizer = 0;
};

/// Numbers of the weights that a rank holds.
[[nodiscard]] std::int64_t weight_elements(const RoleProgram& role) {
  std::int64_t out = 0;
  for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
    const Tensor& tensor = role.tensor(i);
    if (tensor.resident && tensor.category == Category::weight)
      out += local_elements(role.program->mesh, tensor);
  }
  return out;
}

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
    out.elements += ranks[i] * static_cast<double>(weight_elements(timeline.roles[i]));
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

/// Whether a rank is of the first replica: 0 along dp and cp.
[[nodiscard]] bool is_of_first_replica(const ParallelConfig& parallel, int rank) {
  for (const std::string& axis : parallel.order) {
    const int degree = axis == "tp"   ? parallel.tp
                       : axis == "cp" ? parallel.cp
                       : axis == "dp" ? parallel.dp
                                      : parallel.pp;
    if ((axis == "dp" || axis == "cp") && rank % degree != 0) return false;
    rank /= degree;
  }
  return true;
}

/// Bytes that each rank writes: equal parts, of all or of the first replica's ranks.
[[nodiscard]] std::vector<Bytes> shards(const CheckpointPlan& plan, const ParallelConfig& parallel,
                                        Bytes size) {
  std::vector<Bytes> out(static_cast<std::size_t>(parallel.ranks()));
  std::int64_t writers = 0;
  const auto writes = [&](int rank) { return plan.sharded || is_of_first_replica(parallel, rank); };
  for (int rank = 0; rank < parallel.ranks(); ++rank) writers += writes(rank) ? 1 : 0;
  for (int rank = 0; rank < parallel.ranks(); ++rank)
    if (writes(rank))
      out[static_cast<std::size_t>(rank)] = Bytes{(size.count() + writers - 1) / writers};
  return out;
}

}  // namespace

Bytes checkpoint_size(const TrainingStepResult& step) {
  const ParallelConfig& parallel = step.scenario.parallel;
  const StateBytes all = state_bytes(step);
  const ParameterCount count = count_parameters(step.scenario.model);
  const Dtype kept = is_narrow(parallel.state.weights) ? Dtype::bf16 : parallel.state.weights;
  const double weights = static_cast<double>(weight_bytes(step.scenario.model, parallel).count()) +
                         static_cast<double>(storage(kept, count.fixed).count());
  if (parallel.zero == 0)
    return rounded(
        weights +
        (all.elements > 0 ? static_cast<double>(count.total()) * all.optimizer / all.elements : 0));
  const double replicas = parallel.dp * parallel.cp * parallel.stage_copies();
  const double shards = parallel.shard_ranks > 0 ? parallel.shard_ranks : replicas;
  return rounded(weights + all.optimizer * shards / replicas);
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
  StorageTransfers network{LongTime::seconds(over_nics), LongTime::seconds(over_nics)};
  if (plan.storage_nodes > 0 && !(plan.save && plan.load)) {
    network = storage_transfers(step, plan.storage_nodes, shards(plan, parallel, out.size));
    out.storage_nodes = plan.storage_nodes;
  }
  const auto storage = [&](const std::optional<Rate>& rate) {
    return rate ? seconds_at(size, rate->bytes_per_second()) : 0;
  };
  const double spread =
      seconds_at(static_cast<double>(out.states.count()), nodes > 1 ? node_rate(step) : 0);
  const std::optional<Rate>& read = plan.read ? plan.read : plan.write;
  out.computed = !plan.save || !plan.load;
  out.save = plan.save.value_or(std::max(LongTime::seconds(storage(plan.write)), network.save));
  out.load = plan.load.value_or(std::max(LongTime::seconds(storage(read)), network.load) +
                                LongTime::seconds(spread));
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
