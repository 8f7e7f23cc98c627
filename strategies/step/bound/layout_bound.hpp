#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/step/bound/block_profile.hpp"

namespace lockstep {

/// For tables of keys: a key is a hash already.
struct KeyHash {
  [[nodiscard]] std::size_t operator()(const fold::Key& key) const {
    return static_cast<std::size_t>(key.low);
  }
};

/// What no step of a layout is below.
struct LayoutBound {
  Duration time;
  Bytes memory;  // of the rank that needs the most
};

/// Lower bounds on step time and peak memory of layouts of one model on one cluster, in about a
/// microsecond each once the blocks of a layout have been profiled. A step takes at least what each
/// stage takes: the passes of the first microbatch through the stages before it, its own work on
/// all microbatches (kernels, and communication that `overlap` does not name, each alone on its
/// links), and the passes of the last microbatch back; then gradients, update (on the host where it
/// is offloaded) and weights. Memory is at least the model states of a stage and the activations
/// that its schedule holds at once. Looser than program_bound(), never above simulate(). For one
/// thread.
class LayoutBounds {
 public:
  /// All must outlive it. `cost`: as simulate() gets it. `cache`: shared by the bounds of several
  /// threads for the same model, costs and cluster.
  LayoutBounds(const ModelConfig& model, const CostModel& cost, OperationBounds& operations,
               std::shared_ptr<ProfileCache> cache = std::make_shared<ProfileCache>());

  /// Of a layout that layout_problems() has nothing against. Its time is zero where its memory
  /// exceeds `most_memory`.
  [[nodiscard]] LayoutBound of(const ParallelConfig& parallel,
                               std::optional<Bytes> most_memory = std::nullopt);

 private:
  struct InFlight {
    int total = 0;
    std::vector<int> of_chunk{};  // microbatches held of each chunk of the stage, when most are
  };

  template <class Layout>
  [[nodiscard]] Bytes memory(const Layout& layout, const ParallelConfig& parallel);
  [[nodiscard]] const PlacedProfile& profile(const ParallelConfig& parallel);
  /// Of each stage.
  [[nodiscard]] const std::vector<InFlight>& in_flight(const ParallelConfig& parallel);

  OperationBounds& operations_;
  BlockProfiles profiles_;
  std::unordered_map<fold::Key, const PlacedProfile*, KeyHash> known_;
  std::unordered_map<fold::Key, std::vector<InFlight>, KeyHash> in_flight_;
};

}  // namespace lockstep
