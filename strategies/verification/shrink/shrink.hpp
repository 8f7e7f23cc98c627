#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

/// A layout of any size cut down to one that runs on real numbers in no time, by the same strategy.
namespace lockstep {

struct ShrinkLimits {
  int ranks = 32;  // at most; where `degrees` is false, there may be more
  /// Keys as in --set that stay as they are, a section standing for all in it: "parallel.tp",
  /// "model.layers", "model.experts". Others are ignored, "model" as well: it says which model.
  std::set<std::string> kept{};
  bool model = true;    // false: no size of the model is changed, nor the bucket
  bool degrees = true;  // false: no number of ranks, servers or chunks is changed
};

/// One key, as it would be given to --set: "parallel.dp", "128", "4".
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
  std::vector<Change> changes{};  // of the model, then of the strategy; gpus_per_node is not told
};

/// Nothing small enough keeps the form of the layout: what() names what stays and what stands in
/// the way.
class NotShrinkable : public Error {
 public:
  explicit NotShrinkable(const std::string& message) : Error{ErrorCode::invalid_input, message} {}
};

/// The layout with fewer ranks, layers, heads and tokens. What decides which operations a program
/// is made of stays: a degree above 1 stays above 1 (both factors of a two-level cp as well), a
/// part of the replicas (ep, shard_ranks) stays a part, heads of keys and values stay grouped and
/// shared by ranks, experts stay more than ep and top_k, microbatches stay several and as many,
/// compared with pp, as they were, uneven stages stay uneven, several buckets stay several. Numbers
/// that are small already stay. A vocabulary of one word becomes larger: there is nothing to learn
/// from it. In: a layout that layout_problems() has nothing against; out: another one. Batches are
/// made smaller unless neither model nor degrees may be. Errors: NotShrinkable.
[[nodiscard]] ShrunkLayout shrink(const ModelConfig& model, const ParallelConfig& parallel,
                                  int gpus_per_node, const ShrinkLimits& limits = {});

}  // namespace lockstep
