#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/schedule/step_ends.hpp"

/// Replays in which equivalent ranks are simulated once: equal times to the last bit, at a cost
/// that follows the number of different behaviors.
namespace lockstep {

/// What a folded replay is doing: looking for equivalent ranks, then replaying.
enum class FoldPhase : std::uint8_t { equivalence, replay };
using OnFoldedReplay = std::function<void(FoldPhase, const ReplayProgress&)>;

struct ReplayMemory;

struct FoldOptions {
  bool fold = true;
  bool max_plus = true;  // rounds without contention advance without the engine
  bool branches = true;  // branches with equal histories are replayed once
  bool plain = true;     // steps over known connections need no engine
  bool blocks = true;    // ranks of one block represent all, if blocks are equivalent
  bool by_rank = true;   // without contention, rounds advance for every rank with its own start
  /// With fewer members, classes are looked for and `by_rank` is not used.
  std::size_t by_rank_from = 1024;
  /// Limit on communicating pairs plus their link crossings (about 30 GB); beyond it nothing is
  /// folded.
  std::uint64_t most_relations = std::uint64_t{1} << 27U;
  bool step_ends = false;  // FoldReport::step_ends; takes a second replay where branches fold
  /// Called with an estimate before what is large is allocated; may throw.
  std::function<void(const ReplayMemory&)> on_memory{};
  OnFoldedReplay report{};  // called at the start of each phase, and during a long replay
};

/// Consecutive members of a call, both ends included.
struct RankRange {
  std::uint32_t call = 0;
  int first = 0;
  int last = 0;
};

/// The nearest rank that differs from the usual one and whose messages reach a class.
struct ClassCause {
  std::int64_t messages = 0;  // one after the other; 0: none reach it
  std::uint32_t call = 0;
  int rank = 0;  // in that call
  std::string difference;
};

/// Members that do the same at the same time; where FoldReport::by_rank, that do the same steps
/// over links as fast as each other's, with equal starts and endpoints.
struct EquivalenceClass {
  std::uint32_t call = 0;  // the representative's
  int representative = 0;  // its rank there
  std::int64_t members = 0;
  std::string difference;  // from the usual class of its call; empty for that one
  ClassCause cause{};
};

struct FoldReport {
  /// With more classes, differences are not described.
  static constexpr std::size_t kMaxDescribed = 4096;

  bool folded = false;
  bool by_rank = false;  // every member was advanced by itself: times of a class may differ
  std::string why_not;   // reason why nothing was folded
  std::vector<EquivalenceClass> classes;             // by first member
  std::vector<std::vector<std::uint32_t>> class_of;  // per call and member
  std::uint64_t link_classes = 0;  // of links that are crossed; links crossed by one pair alone
                                   // count with that pair
  std::uint64_t links = 0;         // that are crossed
  std::uint64_t transfers = 0;     // of the workload
  std::uint64_t simulated_transfers = 0;  // replayed one by one, of representatives
  std::uint64_t branches = 0;             // parts of the quotient attached to a single class
  std::uint64_t branch_histories = 0;     // different histories among these
  std::int64_t rounds = 0;                // of the max-plus recursion
  std::int64_t rounds_skipped = 0;        // of these, skipped by multiplication
  /// If asked for: the ends of the steps of each class, or of each rank of the only call if
  /// `by_rank`. Empty if nothing was folded, or with more changes of pace than
  /// StepEndsLog::kMostPieces.
  std::vector<StepEnds> step_ends;
  /// The members of every class as ranges, in order.
  [[nodiscard]] std::vector<std::vector<RankRange>> ranges() const;
};

struct FoldedReplay {
  ReplayResult result;  // as replay() returns it, except `solves`
  FoldReport report;
};

/// Returns what replay() returns. Not folded: workloads with streams, calls of fixed duration or
/// logs of transfers, and the queue model.
[[nodiscard]] FoldedReplay replay_folded(const Network& network, const Workload& workload,
                                         NetworkModel model, const FoldOptions& options = {});

}  // namespace lockstep
