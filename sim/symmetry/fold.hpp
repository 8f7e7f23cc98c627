#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"

/// Replays with ranks that cannot differ folded into one: the same times to the last bit, at a cost
/// that follows how many different things happen.
namespace lockstep {

struct FoldOptions {
  bool fold = true;
  bool max_plus = true;  // rounds in which nobody limits anybody advance without the engine
  bool branches = true;  // what hangs on one rank and has met the same is replayed once
  bool blocks = true;    // ranks of one block stand for all where nothing tells blocks apart
  /// Beyond so many pairs that talk and links that they cross, symmetry is not looked for. So many
  /// take some 30 GB.
  std::uint64_t most_relations = std::uint64_t{1} << 27U;
};

/// Consecutive members of a call, both ends included.
struct RankRange {
  std::uint32_t call = 0;
  int first = 0;
  int last = 0;
};

/// Members that do the same at the same time.
struct EquivalenceClass {
  std::uint32_t call = 0;  // the representative's
  int representative = 0;  // its rank there
  std::int64_t members = 0;
  std::string difference;  // from the largest class, in a few words; empty for that one
};

struct FoldReport {
  /// Of more classes than this only the members are reported, not the difference.
  static constexpr std::size_t kMaxDescribed = 4096;

  bool folded = false;
  std::string why_not;                               // where nothing was folded
  std::vector<EquivalenceClass> classes;             // by first member
  std::vector<std::vector<std::uint32_t>> class_of;  // per call and member
  std::uint64_t link_classes = 0;  // of links that are crossed; links crossed by one pair alone
                                   // count with that pair
  std::uint64_t links = 0;         // that are crossed
  std::uint64_t transfers = 0;     // of the workload
  std::uint64_t simulated_transfers = 0;  // of representatives that were worked out one by one
  std::uint64_t branches = 0;             // parts of classes that hang on one class each
  std::uint64_t branch_histories = 0;     // so many of these came to differ
  std::int64_t rounds = 0;                // of the max-plus recursion
  std::int64_t rounds_skipped = 0;        // of these, by multiplication
  /// The members of every class as ranges, in order.
  [[nodiscard]] std::vector<std::vector<RankRange>> ranges() const;
};

struct FoldedReplay {
  ReplayResult result;  // as replay() gives it, but for `solves`
  FoldReport report;
};

/// What replay() returns, however it is come by. Workloads with streams, calls of a given duration
/// and logs of transfers, and the queue model, are never folded.
[[nodiscard]] FoldedReplay replay_folded(const Network& network, const Workload& workload,
                                         NetworkModel model, const FoldOptions& options = {});

}  // namespace lockstep
