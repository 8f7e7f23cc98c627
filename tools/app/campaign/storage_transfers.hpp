#pragma once

#include <cstdint>
#include <vector>

#include "tools/app/campaign/file/long_time.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// Times of all transfers of a checkpoint between ranks and storage nodes, which begin together:
/// every one on the links of the cluster (PCIe, NICs, leaves, spines) with max-min fair shares.
struct StorageTransfers {
  LongTime save{};
  LongTime load{};
};

/// `bytes`: by rank; those with none transfer nothing. The storage nodes are further nodes of the
/// cluster, at its end; a rank's node and the number of its GPU in it say which node and NIC its
/// transfer ends at. Errors: ConfigError if the cluster cannot have that many nodes.
[[nodiscard]] StorageTransfers storage_transfers(const TrainingStepResult& step,
                                                 std::int64_t storage_nodes,
                                                 const std::vector<Bytes>& bytes);

}  // namespace lockstep::app
