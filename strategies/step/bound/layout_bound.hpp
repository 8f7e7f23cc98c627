#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/step/bound/block_profile.hpp"
#include "strategies/step/bound/stage_passes.hpp"

namespace lockstep {

/// Hasher for keys, which are hashes already.
struct KeyHash {
  [[nodiscard]] std::size_t operator()(const fold::Key& key) const {
    return static_cast<std::size_t>(key.low);
  }
};

/// Lower bounds on the step time and peak memory of a layout.
struct LayoutBound {
  Duration time;
  Bytes memory;  // of the rank with the largest need
};

/// Lower bounds on step time and peak memory of layouts of one model on one cluster; about a
/// microsecond each once the blocks are profiled. Time, per stage: pipeline fill (the first
/// microbatch through earlier stages), the stage's work on all microbatches (kernels, and
/// communication that `overlap` does not name, each alone on its links; of two passes that go in
/// turn the longer one, or all kernels or all all-to-alls of both), pipeline drain; then gradient
/// reduction, optimizer update (on the host if offloaded) and weight gathers. Memory: model states
/// of a stage and the activations that its schedule holds. Never above simulate(), looser than
/// program_bound(). Not thread-safe.
class LayoutBounds {
 public:
  /// The arguments must outlive this object. `cost`: as for simulate(). `cache`: shared by threads
  /// for the same model, costs and cluster.
  LayoutBounds(const ModelConfig& model, const CostModel& cost, OperationBounds& operations,
               std::shared_ptr<ProfileCache> cache = std::make_shared<ProfileCache>());

  /// Requires a layout without layout_problems(). The time is zero if the memory exceeds
  /// `most_memory`.
  [[nodiscard]] LayoutBound of(const ParallelConfig& parallel,
                               std::optional<Bytes> most_memory = std::nullopt);

 private:
  using Passes = std::vector<StagePassCounts>;  // per stage

  template <class Layout>
  [[nodiscard]] Bytes memory(const Layout& layout, const ParallelConfig& parallel);
  [[nodiscard]] const PlacedProfile& profile(const ParallelConfig& parallel);
  [[nodiscard]] const Passes& passes(const ParallelConfig& parallel);

  OperationBounds& operations_;
  BlockProfiles profiles_;
  std::unordered_map<fold::Key, const PlacedProfile*, KeyHash> known_;
  std::unordered_map<fold::Key, Passes, KeyHash> passes_;
};

}  // namespace lockstep
