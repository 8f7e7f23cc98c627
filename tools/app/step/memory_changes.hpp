#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "strategies/scenario/scenario.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"

/// Layouts that do not fit into memory: the shortfall, and changes that fit.
namespace lockstep::app {

struct TrainingStepRequest;

/// Overrides applied together, such as parallel.tp=4 and parallel.dp=2.
using LayoutChange = std::vector<std::string>;

/// Changes of a layout that may reduce memory per rank, the least costly first: higher ZeRO stage,
/// sequence parallelism, gradients reduced in every microbatch, 1F1B, selective recomputation,
/// smaller microbatches, more recomputation, less overlap, more tensor and pipeline parallelism,
/// optimizer states on the host.
[[nodiscard]] std::vector<LayoutChange> memory_changes(const Scenario& scenario);

/// Lower bound on the weights and optimizer states of the device with the most: all parameters
/// divided by the ranks that can shard them.
[[nodiscard]] Bytes least_bytes(const ModelConfig& model, const ParallelConfig& parallel);

struct FittingChange {
  LayoutChange change;
  Bytes needed;  // by the rank with the highest need
};

/// The first few changes that fit, individually, else two and then three together; empty if none
/// does. Judged by the memory account in launch order.
[[nodiscard]] std::vector<FittingChange> fitting_changes(const TrainingStepRequest& request,
                                                         const Scenario& scenario, Bytes capacity);

/// Memory shortfall of a layout, and changes that fit.
struct MemoryShortfall {
  RankMemory memory;                     // of the rank with the highest need
  std::string device;                    // id
  std::vector<FittingChange> changes{};  // empty if none was found
  /// Model states of all parameters, stored once, and the GPUs needed to hold only these: a lower
  /// bound for every layout.
  Bytes states;
  std::int64_t least_gpus = 0;
  std::shared_ptr<const Scenario> scenario{};
};

/// Searches the changes. Requires `memory` to have a capacity.
[[nodiscard]] MemoryShortfall memory_shortfall(const TrainingStepRequest& request,
                                               const Scenario& scenario, const RankMemory& memory);

/// A rank needs more memory than its GPU has.
class DoesNotFit : public Error {
 public:
  explicit DoesNotFit(MemoryShortfall shortfall);
  [[nodiscard]] const MemoryShortfall& shortfall() const { return shortfall_; }

 private:
  MemoryShortfall shortfall_;
};

}  // namespace lockstep::app
