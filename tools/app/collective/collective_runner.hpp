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

namespace lockstep::app {

/// One way to do a collective.
struct Candidate {
  enum class Kind : std::uint8_t {
    algorithm,  // `spec`
    nccl,       // what NCCL's tuning model picks at a size
    replayed,   // whichever algorithm the replay finds fastest at a size
    imported,   // a schedule that somebody else wrote
  };
  Kind kind = Kind::algorithm;
  Collective collective = Collective::all_reduce;
  AlgorithmSpec spec;
  std::shared_ptr<const MscclImport> import;

  /// As the user would ask for it: "ring:channels=8", "auto:by=replay", "schedule:NAME".
  [[nodiscard]] std::string text() const;
};

/// A candidate's schedule at one size, with all that a replay needs.
struct CollectiveRun {
  std::string chosen;  // what an automatic choice came to
  SchedulePtr schedule;
  std::vector<EndpointId> members;
  AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;
  MessageLayout layout;
  Duration launch;                                              // before anybody begins
  std::shared_ptr<const Network> network;                       // none: the setup's
  std::optional<Duration> nccl_model;                           // what NCCL itself would expect
  std::optional<std::pair<NcclCostKey, NcclCostTerms>> cost{};  // what `launch` comes of
};

/// What a replay showed.
struct CollectiveResult {
  Duration time;
  std::vector<TimePoint> ends;  // per member
  std::string busiest_link;
  double busy = 0;         // share of the time that it would take the busiest link alone, 1 at most
  std::string unfinished;  // in words; empty where everybody ended
  std::string fingerprint;
  std::uint64_t messages = 0;
  FoldReport fold{};
};

/// What a schedule does at most; empty where it was too large to be counted.
struct ScheduleCounts {
  std::optional<std::int64_t> rounds;
  std::optional<std::int64_t> sent_blocks;  // by one rank, switches not counted
};

/// Prepares and plays candidates on a setup. Thread-safe.
class CollectiveRunner {
 public:
  struct Options {
    const ElementType* type = nullptr;
    int root = 0;
    Duration skew;  // ranks start at random within this time
    std::uint64_t seed = 1;
    const NcclRequest* nccl = nullptr;  // for candidates that ask NCCL's model
    bool fold = true;                   // ranks that cannot differ are replayed once
    std::vector<RankSetting> ranks{};   // that have figures of their own
    Bytes most_memory = kMostMemory;    // replays that would take more are refused
  };
  /// Throws RequestError where a rank with figures of its own is not there.
  CollectiveRunner(const CollectiveSetup& setup, const Options& options);

  [[nodiscard]] const CollectiveSetup& setup() const { return setup_; }
  /// What is wrong with the candidate on this setup; empty where nothing is.
  [[nodiscard]] std::vector<std::string> problems(const Candidate& candidate) const;
  [[nodiscard]] CollectiveRun prepare(const Candidate& candidate, Bytes size) const;
  [[nodiscard]] CollectiveResult play(const Candidate& candidate,
                                      const CollectiveRun& prepared) const;
  /// Every transfer of a prepared candidate, in order of arrival, with all ranks simulated. Throws
  /// RequestError for a replay that needs too much memory.
  [[nodiscard]] std::vector<LoggedTransfer> transfers(const Candidate& candidate,
                                                      const CollectiveRun& prepared) const;
  /// What the candidate's schedule has to keep.
  [[nodiscard]] Contract contract_of(const Candidate& candidate, const Schedule& schedule) const;
  /// Walked once for schedules of the same make, by the classes that the replay found.
  [[nodiscard]] ScheduleCounts counts_of(const Candidate& candidate, const CollectiveRun& prepared,
                                         const CollectiveResult& played) const;
  /// The network that a prepared candidate is played on, with the ranks' own figures.
  [[nodiscard]] Network network_of(const CollectiveRun& prepared) const;

 private:
  [[nodiscard]] Workload workload_of(const Candidate& candidate,
                                     const CollectiveRun& prepared) const;
  [[nodiscard]] CollectiveRun prepare_algorithm(const AlgorithmSpec& spec, Bytes size) const;
  /// Of an input that knows its size.
  [[nodiscard]] CollectiveRun prepared(const AlgorithmSpec& spec, const AlgorithmInput& input,
                                       const PlacedCommunicator& by, ChunkSearch& chunks) const;
  [[nodiscard]] CollectiveRun prepare_nccl(Collective collective, Bytes size) const;
  [[nodiscard]] CollectiveRun prepare_fastest(const Candidate& candidate, Bytes size) const;
  [[nodiscard]] ScheduleCounts count(const Candidate& candidate, const CollectiveRun& prepared,
                                     const CollectiveResult& played) const;
  [[nodiscard]] FoldedReplay replay_on(const Network& network, const Workload& workload) const;
  [[nodiscard]] std::vector<TimePoint> starts(std::size_t members, Duration launch) const;
  void find_busiest(const ReplayResult& result, const Network& network,
                    CollectiveResult& out) const;

  const CollectiveSetup& setup_;
  Options options_;
  std::optional<NcclChooser> nccl_;
  mutable ChunkSearch chunks_;
  mutable ChunkSearch nccl_chunks_;  // on the network of NCCL's picks
  mutable std::mutex mutex_;
  mutable std::map<std::string, ScheduleCounts> counted_;
};

/// Every algorithm of a collective that the setup allows, with the fallbacks of its parameters and,
/// where it has channels, several of them. Left out: what needs more than the cluster has for sure
/// (parameter servers, switches of the network that reduce), and algorithms with more than
/// `most_messages` are left out.
[[nodiscard]] std::vector<AlgorithmSpec> available_algorithms(const CollectiveSetup& setup,
                                                              Collective collective, int root,
                                                              std::int64_t most_messages);

}  // namespace lockstep::app
