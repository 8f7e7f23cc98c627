#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/fold.hpp"
#include "strategies/collectives/placement/chunk_search.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/app/collective/setup/nccl_choice.hpp"
#include "tools/app/collective/setup/rank_settings.hpp"
#include "tools/app/collective/setup/replay_limit.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/progress.hpp"

namespace lockstep::app {

/// One way to execute a collective.
struct Candidate {
  enum class Kind : std::uint8_t {
    algorithm,  // `spec`
    nccl,       // NCCL's choice at a size
    replayed,   // the algorithm that replays fastest at a size
    imported,   // an imported schedule
  };
  Kind kind = Kind::algorithm;
  Collective collective = Collective::all_reduce;
  AlgorithmSpec spec;
  std::shared_ptr<const MscclImport> import;
  AutomaticChoice automatic{};  // of NCCL

  /// In the syntax of the command line: "ring:channels=8", "auto:by=replay", "schedule:NAME".
  [[nodiscard]] std::string text() const;
};

/// A candidate's schedule at one size, ready to replay.
struct CollectiveRun {
  std::string chosen;  // the algorithm of an automatic choice
  SchedulePtr schedule;
  std::vector<EndpointId> members;
  AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;
  MessageLayout layout;
  Duration launch;                                              // before any rank starts
  std::shared_ptr<const Network> network;                       // none: the setup's
  std::optional<Duration> nccl_model;                           // by NCCL's own model
  std::optional<std::pair<NcclCostKey, NcclCostTerms>> cost{};  // what `launch` was computed from
};

/// Result of a replay.
struct CollectiveResult {
  Duration time;
  std::vector<TimePoint> ends;  // per member
  std::string busiest_link;
  double busy = 0;         // fraction of the time in which the busiest link is busy, at most 1
  std::string unfinished;  // the deadlock in words; empty: completed
  std::string fingerprint;
  std::uint64_t messages = 0;
  FoldReport fold{};
};

/// Counts of a schedule; empty if it was too large to count.
struct ScheduleCounts {
  std::optional<std::int64_t> rounds;
  std::optional<std::int64_t> sent_blocks;  // maximum over ranks, switches excluded
};

/// Prepares and replays candidates on a setup. Thread-safe.
class CollectiveRunner {
 public:
  struct Options {
    const ElementType* type = nullptr;
    int root = 0;
    Duration skew;  // ranks start at random times within this
    std::uint64_t seed = 1;
    const NcclRequest* nccl = nullptr;      // for candidates by NCCL's model
    bool fold = true;                       // replay equivalent ranks once
    std::vector<RankSettingRange> ranks{};  // with individual parameters
    Bytes most_memory = kMostMemory;        // larger replays are refused
    bool step_ends = false;                 // FoldReport::step_ends
  };
  /// Throws RequestError for settings that are impossible, see check_ranks().
  CollectiveRunner(const CollectiveSetup& setup, const Options& options);

  [[nodiscard]] const CollectiveSetup& setup() const { return setup_; }
  /// Why a candidate is impossible on this setup; empty if it is possible. Places: "algorithm
  /// ring", "schedule NAME".
  [[nodiscard]] std::vector<RequestProblem> problems(const Candidate& candidate) const;
  /// Why its replay at a size would need too much memory; empty if it would not, and for automatic
  /// choices.
  [[nodiscard]] std::vector<RequestProblem> memory_problems(const Candidate& candidate,
                                                            Bytes size) const;
  [[nodiscard]] CollectiveRun prepare(const Candidate& candidate, Bytes size) const;
  [[nodiscard]] CollectiveResult replay(const Candidate& candidate, const CollectiveRun& prepared,
                                        const OnPhase& on_phase = {}) const;
  /// Every transfer of a prepared candidate, in order of arrival, with all ranks simulated. Throws
  /// RequestError for a replay that needs too much memory.
  [[nodiscard]] std::vector<LoggedTransfer> transfers(const Candidate& candidate,
                                                      const CollectiveRun& prepared,
                                                      const OnPhase& on_phase = {}) const;
  /// The contract of the candidate's schedule.
  [[nodiscard]] Contract contract_of(const Candidate& candidate, const Schedule& schedule) const;
  /// Counted once per equal schedules, over the replay's equivalence classes.
  [[nodiscard]] ScheduleCounts counts_of(const Candidate& candidate, const CollectiveRun& prepared,
                                         const CollectiveResult& replayed) const;
  /// The network of a prepared candidate, with individual rank parameters. Not to be kept
  /// longer than the runner and `prepared`.
  [[nodiscard]] std::shared_ptr<const Network> network_of(const CollectiveRun& prepared) const;

 private:
  [[nodiscard]] Workload workload_of(const Candidate& candidate,
                                     const CollectiveRun& prepared) const;
  [[nodiscard]] CollectiveRun prepare_algorithm(const AlgorithmSpec& spec, Bytes size) const;
  /// For an input with a size.
  [[nodiscard]] CollectiveRun prepared(const AlgorithmSpec& spec, const AlgorithmInput& input,
                                       const PlacedCommunicator& by, ChunkSearch& chunks) const;
  [[nodiscard]] CollectiveRun prepare_nccl(const Candidate& candidate, Bytes size) const;
  [[nodiscard]] CollectiveRun prepare_fastest(const Candidate& candidate, Bytes size) const;
  [[nodiscard]] ScheduleCounts count(const Candidate& candidate, const CollectiveRun& prepared,
                                     const CollectiveResult& replayed) const;
  [[nodiscard]] FoldedReplay replay_on(const Network& network, const Workload& workload,
                                       const OnPhase& on_phase) const;
  [[nodiscard]] std::vector<TimePoint> starts(std::size_t members, Duration launch) const;
  void find_busiest(const ReplayResult& result, const Network& network,
                    CollectiveResult& out) const;

  const CollectiveSetup& setup_;
  Options options_;
  std::vector<RankSetting> ranks_;  // with individual parameters
  std::optional<NcclChooser> nccl_;
  mutable ChunkSearch chunks_;
  mutable ChunkSearch nccl_chunks_;  // on the network of NCCL's choices
  mutable std::mutex mutex_;
  mutable std::map<std::string, ScheduleCounts> counted_;
};

/// Every algorithm of a collective that the setup allows, with default parameters and, for
/// algorithms with channels, with several of them. Excludes algorithms that need parameter servers
/// or reducing fabric switches, which a cluster may lack, and those with more than `most_messages`.
[[nodiscard]] std::vector<AlgorithmSpec> available_algorithms(const CollectiveSetup& setup,
                                                              Collective collective, int root,
                                                              std::int64_t most_messages);

}  // namespace lockstep::app
