#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

/// Shrinks a layout of any size to one that executes quickly on real numbers with the same
/// strategy.
namespace lockstep {

struct ShrinkLimits {
  int ranks = 32;  // maximum; may be exceeded if `degrees` is false
  /// Keys in the syntax of --set that must not change; a section stands for all of its keys:
  /// "parallel.tp", "model.layers", "model.experts". Other keys are ignored, including "model",
  /// which only names the model.
  std::set<std::string> kept{};
  bool model = true;    // false: keep all sizes of the model and the bucket
  bool degrees = true;  // false: keep the numbers of ranks, servers and chunks
};

/// One changed key: "parallel.dp", "128", "4".
struct Change {
  std::string key{};
  std::string from{};
  std::string to{};

  friend bool operator==(const Change&, const Change&) = default;
};

struct ShrunkLayout {
  ModelConfig model{};
  ParallelConfig parallel{};
  int gpus_per_node = 1;
  std::vector<Change> changes{};  // of the model, then of the strategy; without gpus_per_node
};

/// No small layout has the same form: what() names the obstacle.
class NotShrinkable : public Error {
 public:
  explicit NotShrinkable(const std::string& message) : Error{ErrorCode::invalid_input, message} {}
};

/// Reduces ranks, layers, heads and tokens. Keeps what determines a program's operations: degrees
/// above 1 (also both factors of a two-level cp), proper parts of the replicas (ep, shard_ranks),
/// grouped KV heads shared by ranks, more experts than ep and top_k, several microbatches and their
/// relation to pp, uneven stages, several buckets. Small numbers are unchanged; a vocabulary of one
/// word is enlarged, since its loss is constant.
/// Requires a layout without layout_problems() and returns another one. Batches shrink unless both
/// model and degrees are fixed. Throws NotShrinkable.
[[nodiscard]] ShrunkLayout shrink(const ModelConfig& model, const ParallelConfig& parallel,
                                  int gpus_per_node, const ShrinkLimits& limits = {});

}  // namespace lockstep
