#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/backlog.hpp"
#include "sim/engine/frontier.hpp"
#include "sim/symmetry/branches/branch_plan.hpp"

namespace lockstep::fold {

/// Replays a branch that has a plan: the same times as Engine's, with state small enough that those
/// of hundreds of branches stay in caches. A connection has one transfer at a time, the next event
/// is looked for among all, and shares are worked out for whatever shares links with what came and
/// went.
class BranchEngine {
 public:
  /// `plan` and `guest` must outlive it.
  BranchEngine(const BranchPlan& plan, ExternalMember& guest);
  /// A copy with a guest of its own.
  BranchEngine(const BranchEngine& other, ExternalMember& guest) : BranchEngine{other} {
    guest_ = &guest;
  }

  /// As Engine's.
  bool advance();
  [[nodiscard]] TimePoint now() const { return at(now_ps_); }
  [[nodiscard]] std::optional<TimePoint> next() const {
    return next_ps_ == kNever ? std::nullopt : std::optional{at(next_ps_)};
  }
  void post_at(TimePoint at, std::uint32_t member, std::uint32_t channel, const Post& post);
  [[nodiscard]] bool has_ended(std::uint32_t member) const { return lanes_left_[member] == 0; }

  /// When the members that have ended did.
  [[nodiscard]] const std::vector<TimePoint>& ends() const { return ends_; }
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
  [[nodiscard]] std::uint64_t solves() const { return solves_; }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr std::uint8_t kSender = 1;
  static constexpr std::uint8_t kReceiver = 2;
  struct Connection {
    Int128 work = 0;  // left at since_ps
    std::int64_t since_ps = 0;
    std::uint64_t rate = 0;
    std::int64_t bytes = 0;
    std::int64_t reduced = 0;
    std::uint32_t posted_place = 0;  // the guest's
    std::uint32_t place = 0;         // of the transfer under way
    std::uint8_t posted = 0;
    bool reduces = false;
  };
  struct Lane {
    std::int64_t left = 0;  // steps of this run to come
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
  struct GuestPost {
    std::int64_t at_ps;
    std::uint32_t place;
    BranchPlan::End end;
  };

  [[nodiscard]] static TimePoint at(std::int64_t ps) {
    return TimePoint{Duration::picoseconds(ps)};
  }
  void take_events();
  void take_work();
  void take_guest_posts();
  void post_guest(const GuestPost& post);
  void post(const BranchPlan::End& end);
  void begin(std::uint32_t connection);
  void finish(std::uint32_t connection);
  void transfer_done(std::uint32_t lane);
  void run_ready();
  void run_lane(std::uint32_t lane);
  void do_pieces();
  void settle();
  void share(std::uint64_t connections);
  void fill(std::uint64_t connections);
  void give(std::uint32_t connection, std::uint64_t rate);
  void find_next();

  const BranchPlan* plan_;
  ExternalMember* guest_;
  std::int64_t now_ps_ = 0;
  std::int64_t next_ps_ = kNever;
  std::vector<std::int64_t> times_;  // per connection: when its first byte or its last arrives
  std::uint64_t pending_ = 0;        // connections, by bits, that have such a time
  std::uint64_t flowing_ = 0;        // likewise, with bytes on their links
  std::uint64_t arrived_ = 0;        // in this instant
  std::uint64_t left_ = 0;           // likewise
  std::vector<Connection> connections_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> lanes_left_;  // per member
  std::vector<TimePoint> ends_;            // per member
  std::vector<Backlog> reductions_;        // per member
  std::vector<Work> work_;
  std::vector<Piece> pieces_;
  std::vector<GuestPost> guest_posts_;
  std::vector<GuestPost> later_;  // whose connection has one of the guest's already
  std::vector<std::uint32_t> ready_;
  std::uint64_t transfers_ = 0;
  std::uint64_t solves_ = 0;
  // The last division worked out.
  Int128 memo_work_ = 0;
  std::uint64_t memo_rate_ = 0;
  std::int64_t memo_ps_ = 0;
};

}  // namespace lockstep::fold
