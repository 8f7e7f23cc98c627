#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "strategies/scenario/scenario.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"

/// A layout that does not fit: why, and what would.
namespace lockstep::app {

struct TrainingStepRequest;

/// Overrides that go together, such as parallel.tp=4 and parallel.dp=2.
using Change = std::vector<std::string>;

/// Changes of a layout that take memory off a rank, those that cost the least time first: more of
/// ZeRO, sequence parallelism, selective recomputation, smaller microbatches, full recomputation,
/// more tensor and pipeline parallelism, optimizer states on the host.
[[nodiscard]] std::vector<Change> memory_changes(const Scenario& scenario);

/// Weights and optimizer states alone on the device that holds the most of them, at the least: all
/// parameters over all ranks that they can be cut over.
[[nodiscard]] Bytes least_bytes(const ModelConfig& model, const ParallelConfig& parallel);

struct FittingChange {
  Change change;
  Bytes needed;  // by the rank that then needs the most
};

/// The first few changes that fit, one by one, else two and then three together; empty where none
/// does. Judged by the memory account in the order of issue.
[[nodiscard]] std::vector<FittingChange> fitting_changes(const TrainingStepRequest& request,
                                                         const Scenario& scenario, Bytes capacity);

/// By how much a layout does not fit, and what would.
struct MemoryShortfall {
  RankMemory memory;                     // of the rank that needs the most
  std::string device;                    // id
  std::vector<FittingChange> changes{};  // empty if none was found
  /// Model states of all parameters once, and the GPUs that hold no more than these need: no layout
  /// needs fewer.
  Bytes states;
  std::int64_t least_gpus = 0;
  std::shared_ptr<const Scenario> scenario{};
};

/// Searches the changes; `memory` has a capacity.
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
