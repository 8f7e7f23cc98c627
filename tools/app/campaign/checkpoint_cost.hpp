#pragma once

#include "sim/base/units.hpp"
#include "tools/app/campaign/file/campaign_file.hpp"
#include "tools/app/campaign/file/long_time.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// Bytes of a checkpoint and the times of saves and restores.
struct CheckpointCost {
  Bytes size{};                    // weights and optimizer states, each once
  Bytes states{};                  // of all ranks of a node, copies included
  LongTime save{};                 // until it is durable, from the start of the write
  LongTime stall{};                // of training, per save
  LongTime load{};                 // of a restore
  bool computed = false;           // from bytes and bandwidths; else as the campaign says
  std::int64_t storage_nodes = 0;  // to which every transfer was replayed; 0: none was
};

/// Weights and optimizer states of a simulated step, each once, from the memory of its ranks:
/// copies of weights along dp and cp, and without ZeRO those of optimizer states, count once.
[[nodiscard]] Bytes checkpoint_size(const TrainingStepResult& step);

/// A save writes all bytes to the storage, at its bandwidth or that of the network if that is less:
/// with storage nodes, of all transfers replayed on the cluster's links, else of the NICs of the
/// writing nodes; asynchronous ones stall training while they are copied to the host over
/// PCIe. A restore reads all bytes once, then each node gets the states of its ranks over its NICs.
/// Throws ConfigError at `file` if an asynchronous save needs a PCIe bandwidth that the cluster
/// lacks.
[[nodiscard]] CheckpointCost checkpoint_cost(const CheckpointPlan& plan, const std::string& file,
                                             const TrainingStepResult& step);

}  // namespace lockstep::app
