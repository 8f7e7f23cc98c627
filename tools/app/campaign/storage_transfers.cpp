#include "tools/app/campaign/storage_transfers.hpp"

#include "sim/base/math.hpp"
#include "sim/engine/replay.hpp"
#include "strategies/step/simulated_cluster.hpp"
#include "tools/app/jobs/resized_cluster.hpp"

namespace lockstep::app {

namespace {

/// A stream of one message end.
[[nodiscard]] Stream end_of_message(Activity::Kind kind, EndpointId at, EndpointId peer,
                                    std::uint32_t tag, Bytes size) {
  Activity message;
  message.kind = kind;
  message.peer = peer;
  message.tag = tag;
  message.size = size;
  Stream out;
  out.endpoint = at;
  out.name = "checkpoint";
  out.operations.push_back(std::move(message));
  return out;
}

class Transfers {
 public:
  /// `cluster`: of the ranks and the storage nodes.
  Transfers(const TrainingStepResult& step, const ScenarioCluster& cluster,
            std::int64_t storage_nodes, const std::vector<Bytes>& bytes)
      : step_{step},
        nodes_{storage_nodes},
        bytes_{bytes},
        on_{cluster.cluster, cluster.device, step.options} {}

  [[nodiscard]] LongTime time(bool to_storage) const {
    Workload work;
    work.slots = Workload::kNoLimit;
    for (std::size_t rank = 0; rank < bytes_.size(); ++rank) {
      if (bytes_[rank] == Bytes{}) continue;
      const auto gpu = static_cast<EndpointId>(rank);
      const EndpointId from = to_storage ? gpu : storage_of(rank);
      const EndpointId to = to_storage ? storage_of(rank) : gpu;
      const auto tag = static_cast<std::uint32_t>(rank);
      work.streams.push_back(end_of_message(Activity::Kind::send, from, to, tag, bytes_[rank]));
      work.streams.push_back(end_of_message(Activity::Kind::receive, to, from, tag, bytes_[rank]));
    }
    const ReplayResult result = replay(on_.network(false, false), work, on_.model());
    return LongTime::seconds(result.end.since_start().seconds());
  }

 private:
  [[nodiscard]] EndpointId storage_of(std::size_t rank) const {
    const auto per_node = static_cast<std::size_t>(step_.facts.gpus_per_node);
    const std::size_t first = bytes_.size() / per_node + (bytes_.size() % per_node > 0 ? 1 : 0);
    const std::size_t node = first + rank / per_node % static_cast<std::size_t>(nodes_);
    return static_cast<EndpointId>(node * per_node + rank % per_node);
  }

  const TrainingStepResult& step_;
  std::int64_t nodes_;
  const std::vector<Bytes>& bytes_;
  SimulatedCluster on_;
};

}  // namespace

StorageTransfers storage_transfers(const TrainingStepResult& step, std::int64_t storage_nodes,
                                   const std::vector<Bytes>& bytes) {
  const int per_node = step.facts.gpus_per_node;
  const int nodes = ceil_div(step.scenario.parallel.ranks(), per_node);
  const ScenarioCluster cluster =
      resized_cluster(step.scenario, (nodes + static_cast<int>(storage_nodes)) * per_node);
  const Transfers transfers{step, cluster, storage_nodes, bytes};
  return {transfers.time(true), transfers.time(false)};
}

}  // namespace lockstep::app
