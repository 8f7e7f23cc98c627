#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/backlog.hpp"
#include "sim/engine/matching/frontier.hpp"
#include "sim/symmetry/branches/branch_plan.hpp"

namespace lockstep::fold {

/// Replays a branch by its plan: the same times as Engine's, with state so small that hundreds of
/// branches fit in caches. A connection has one transfer at a time, the next event is found by a
/// scan, and shares are solved for the connections that share links with a change.
class BranchEngine {
 public:
  /// `plan` and `external` must outlive it.
  BranchEngine(const BranchPlan& plan, ExternalMember& external);
  /// A copy with its own external member.
  BranchEngine(const BranchEngine& other, ExternalMember& external) : BranchEngine{other} {
    external_ = &external;
  }

  /// As Engine::advance() etc.
  bool advance();
  [[nodiscard]] TimePoint now() const { return at(now_ps_); }
  [[nodiscard]] std::optional<TimePoint> next() const {
    return next_ps_ == kNever ? std::nullopt : std::optional{at(next_ps_)};
  }
  void post_at(TimePoint at, std::uint32_t member, std::uint32_t channel, const Post& post);
  [[nodiscard]] bool has_ended(std::uint32_t member) const { return lanes_left_[member] == 0; }

  /// End times of the members that have ended.
  [[nodiscard]] const std::vector<TimePoint>& ends() const { return ends_; }
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
  [[nodiscard]] std::uint64_t solves() const { return solves_; }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr std::uint8_t kSender = 1;
  static constexpr std::uint8_t kReceiver = 2;
  struct Connection {
    Int128 work = 0;  // remaining at since_ps
    std::int64_t since_ps = 0;
    std::uint64_t rate = 0;
    std::int64_t bytes = 0;
    std::int64_t reduced = 0;
    std::uint32_t posted_place = 0;  // place of the external member's post
    std::uint32_t place = 0;         // of the transfer in flight
    std::uint8_t posted = 0;
    bool reduces = false;
  };
  struct Lane {
    std::int64_t left = 0;  // remaining steps of this run
    std::uint32_t run = 0;
    std::uint32_t outstanding = 0;
  };
  struct Work {
    std::int64_t at_ps;
    std::uint32_t lane;
  };
  struct Piece {
    std::uint32_t lane;
    std::int64_t bytes;
  };
  struct ExternalPost {
    std::int64_t at_ps;
    std::uint32_t place;
    BranchPlan::End end;
  };

  [[nodiscard]] static TimePoint at(std::int64_t ps) {
    return TimePoint{Duration::picoseconds(ps)};
  }
  void take_events();
  void take_work();
  void take_external_posts();
  void post_external(const ExternalPost& post);
  void post(const BranchPlan::End& end);
  void begin(std::uint32_t connection);
  void finish(std::uint32_t connection);
  void transfer_done(std::uint32_t lane);
  void run_ready();
  void run_lane(std::uint32_t lane);
  void do_pieces();
  void settle();
  void share(std::uint64_t connections);
  void solve(std::uint64_t connections);
  void give(std::uint32_t connection, std::uint64_t rate);
  void find_next();

  const BranchPlan* plan_;
  ExternalMember* external_;
  std::int64_t now_ps_ = 0;
  std::int64_t next_ps_ = kNever;
  std::vector<std::int64_t> times_;  // per connection: arrival of its first or last byte
  std::uint64_t pending_ = 0;        // bit set of connections with such a time
  std::uint64_t flowing_ = 0;        // bit set of connections with bytes on their links
  std::uint64_t arrived_ = 0;        // in this instant
  std::uint64_t left_ = 0;           // sent in this instant
  std::vector<Connection> connections_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> lanes_left_;  // per member
  std::vector<TimePoint> ends_;            // per member
  std::vector<Backlog> reductions_;        // per member
  std::vector<Work> work_;
  std::vector<Piece> pieces_;
  std::vector<ExternalPost> external_posts_;
  std::vector<ExternalPost> later_;  // whose connection already has an external post
  std::vector<std::uint32_t> ready_;
  std::uint64_t transfers_ = 0;
  std::uint64_t solves_ = 0;
  // The last division.
  Int128 memo_work_ = 0;
  std::uint64_t memo_rate_ = 0;
  std::int64_t memo_ps_ = 0;
};

}  // namespace lockstep::fold
