#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/collectives.hpp"
#include "sim/engine/held_calls.hpp"
#include "sim/engine/local_work.hpp"
#include "sim/engine/matching/frontier.hpp"
#include "sim/engine/periodic_replay.hpp"
#include "sim/engine/recorded_work.hpp"
#include "sim/engine/replay.hpp"
#include "sim/engine/replay_state.hpp"
#include "sim/engine/reused_calls.hpp"
#include "sim/engine/streams.hpp"
#include "sim/engine/tracks.hpp"
#include "sim/engine/transfers.hpp"

namespace lockstep {

/// Replays a workload on a network: passes events to the parts that pushed them, instant by
/// instant. State holds indices only, so an Engine can be copied, and copies continue
/// independently. Memory follows the operations of the streams and the collectives in flight.
class Engine {
 public:
  /// The network and the workload must outlive the engine and all its copies. `reuses`: isolated
  /// calls of equal shape are replayed once (can_reuse()).
  Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses = false);
  /// The same of calls without streams; logs the ends of their steps: lane l of member m of a call
  /// follows the lanes of earlier calls and members. `log` must outlive the engine.
  Engine(const Network& network, const Workload& workload, NetworkModel model, StepEndsLog& log);
  /// From now on endpoints with the same work follow the first of them (engine::RecordedWork).
  /// Requires an engine that reuses calls, at its start; it cannot be copied any more.
  void record_work();
  /// Operations that have been left out as followers of a record.
  [[nodiscard]] std::uint64_t operations_followed() const {
    return recorded_ ? recorded_->operations_followed() : 0;
  }
  /// Replays one call without slots, except for the channels that `external` carries, which must
  /// outlive the engine.
  Engine(const Network& network, const Workload& workload, NetworkModel model,
         ExternalTransport& external);
  /// Replays one call without slots, except for `member`, which never begins here: `external`
  /// replays it and must outlive the engine.
  Engine(const Network& network, const Workload& workload, NetworkModel model,
         ExternalMember& external, std::uint32_t member);
  Engine(const Engine& other);
  /// A copy with its own external member.
  Engine(const Engine& other, ExternalMember& external);
  Engine& operator=(const Engine&) = delete;
  ~Engine() = default;

  /// Handles all events of the next instant. False if none is left.
  bool advance();
  void advance_to_end(const OnReplay& report);
  /// Until two instants a period apart are in the same state: the time between them. None if a
  /// stream leaves its repeating part before.
  [[nodiscard]] std::optional<Duration> advance_to_period(const std::vector<RepeatingPart>& parts);
  /// As Streams::launch_earlier().
  void launch_earlier(const std::vector<RepeatingPart>& parts, Duration period,
                      std::int64_t periods);
  /// Without streams, of `transfers`, as transfers_of_calls() counts them.
  [[nodiscard]] ReplayProgress progress(std::uint64_t transfers) const;
  /// Walks the schedules, repeated steps once.
  [[nodiscard]] std::uint64_t transfers_of_calls() const;
  [[nodiscard]] TimePoint now() const { return state_.now(); }
  /// Time of the next event; empty if none is left.
  [[nodiscard]] std::optional<TimePoint> next() const { return state_.queue.next(); }
  /// The external member reaches, at `at` >= now(), one end of a transfer over `channel` with
  /// `member`. Post::track is ignored; Post::place is passed to ExternalMember::begun() and done().
  void post_at(TimePoint at, std::uint32_t member, std::uint32_t channel, const Post& post);
  /// The transfer that was passed to ExternalTransport::take() as `post` ends at `at` >= now().
  void finish_at(TimePoint at, const Post& post);
  /// Whether the member of the first call has completed all its steps.
  [[nodiscard]] bool has_ended(std::uint32_t member) const {
    return collectives_.has_ended(0, member);
  }
  /// Bytes times weight per link so far, without reused calls.
  [[nodiscard]] std::vector<UInt128> carried() const { return transfers_.carried(); }
  /// The result so far; complete once advance() has returned false.
  [[nodiscard]] ReplayResult result() const;
  /// The same, moved out; the engine must not be used afterwards.
  [[nodiscard]] ReplayResult take_result();

 private:
  Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses,
         const engine::FrontierEnds& frontier, StepEndsLog* log = nullptr);
  void join();
  void handle(const Event& event);
  void run_ready();
  void finish_instant();
  void begin_offered();
  void replay_met();
  void fetch(std::span<const Event> soon) const;
  [[nodiscard]] bool is_in(const std::vector<RepeatingPart>& parts) const;
  struct Snapshot;
  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] ReplayResult totals() const;

  engine::ReplayState state_;
  engine::Tracks tracks_;
  engine::LocalWork work_;
  engine::Transfers transfers_;
  engine::Collectives collectives_;
  engine::Streams streams_;
  std::optional<engine::ReusedCalls> reused_;
  std::optional<engine::HeldCalls> held_;
  std::optional<engine::RecordedWork> recorded_;
};

}  // namespace lockstep
