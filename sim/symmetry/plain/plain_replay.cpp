#include "sim/symmetry/plain/plain_replay.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/base/check.hpp"
#include "sim/engine/backlog.hpp"
#include "sim/network/event_queue.hpp"
#include "sim/symmetry/plain/plain_shares.hpp"

namespace lockstep::fold {
namespace {

enum class Kind : std::uint8_t {
  arrives,  // [connection] the first byte, or the last one where no link limits it
  ends,     // [connection] the last byte
  worked,   // [lane] a reduction, or the start of its member
};

class Replay {
 public:
  explicit Replay(const PlainPlan& plan)
      : plan_{plan},
        shares_{plan},
        states_(plan.connections.size()),
        lanes_left_(plan.reduce_rates.size(), plan.lanes_each),
        reductions_(plan.reduce_rates.size()) {
    out_.ends.resize(plan.reduce_rates.size());
    for (std::size_t c = 0; c < states_.size(); ++c) {
      const PlainPlan::Connection& of = plan.connections[c];
      states_[c].sender = of.sender;
      states_[c].receiver = of.receiver;
      states_[c].latency_ps = of.latency_ps;
      states_[c].limited = of.hops > 0 && of.bytes > 0;
      states_[c].reduces = of.reduced > 0;
    }
    for (const PlainPlan::Lane& lane : plan.lanes)
      lanes_.push_back({lane.first_run < lane.last_run ? plan.runs[lane.first_run].steps : 0,
                        lane.first_run, 1});
    for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      const TimePoint start = plan.starts[plan.lanes[lane].member];
      if (start == TimePoint{}) {
        part_done(lane);
      } else {
        queue_.push(make_event(Kind::worked, lane, start));
      }
    }
    run_ready();
    do_pieces();
  }

  std::optional<PlainReplay> run(const OnReplay& report) {
    constexpr std::uint64_t kBetweenReports = 1 << 16;
    std::uint64_t next_report = kBetweenReports;
    while (!queue_.empty()) {
      queue_.advance();
      now_ps_ = queue_.now().ps();
      Event event;
      do {
        while (queue_.pop_now(event)) handle(event);
        run_ready();
        do_pieces();
      } while (queue_.has_now());
      if (!settle()) return std::nullopt;
      if (report && out_.transfers >= next_report) {
        next_report = out_.transfers + kBetweenReports;
        report({queue_.now(),
                static_cast<double>(out_.transfers) /
                    static_cast<double>(std::max<std::uint64_t>(plan_.transfers, 1)),
                nullptr});
      }
    }
    if (std::any_of(lanes_left_.begin(), lanes_left_.end(),
                    [](std::uint32_t left) { return left > 0; }))
      return std::nullopt;
    return std::move(out_);
  }

 private:
  static constexpr std::uint8_t kSender = 1;
  static constexpr std::uint8_t kReceiver = 2;
  /// One cache line.
  struct alignas(64) State {
    Int128 work = 0;  // remaining at since_ps
    std::int64_t since_ps = 0;
    std::uint64_t rate = 0;     // 0: no bytes on its links
    std::int64_t event_ps = 0;  // of its queued end, at most its end
    std::int64_t latency_ps = 0;
    std::uint32_t sender = 0;  // lanes
    std::uint32_t receiver = 0;
    std::uint32_t version = 0;
    std::uint8_t posted = 0;
    bool ends_later = false;  // than at event_ps
    bool limited = false;     // by links
    bool reduces = false;
  };
  struct Lane {
    std::int64_t left = 0;  // remaining steps of this run
    std::uint32_t run = 0;
    std::uint32_t outstanding = 0;
  };

  void handle(const Event& event) {
    if (event.kind == static_cast<std::uint32_t>(Kind::worked)) {
      part_done(event.id);
      return;
    }
    State& state = states_[event.id];
    if (event.kind == static_cast<std::uint32_t>(Kind::arrives)) {
      state.limited ? joining_.push_back(event.id) : finish(event.id, state);
      return;
    }
    if (event.version != state.version) return;
    if (state.ends_later) {
      queue_end(event.id, state, ends_after(state.since_ps, time_of(state.work, state.rate)));
      return;
    }
    shares_.detach(event.id);
    state.rate = 0;
    finish(event.id, state);
  }

  void finish(std::uint32_t c, const State& state) {
    part_done(state.sender);
    if (state.reduces) {
      pieces_.push_back({state.receiver, plan_.connections[c].reduced});
    } else {
      part_done(state.receiver);
    }
  }

  void part_done(std::uint32_t lane) {
    if (--lanes_[lane].outstanding == 0) ready_.push_back(lane);
  }

  void run_ready() {
    for (const std::uint32_t lane : ready_) run_lane(lane);
    ready_.clear();
  }

  /// Goes on with the next step that has transfers.
  void run_lane(std::uint32_t id) {
    Lane& lane = lanes_[id];
    const PlainPlan::Lane& plan = plan_.lanes[id];
    while (lane.run < plan.last_run) {
      const PlainPlan::Run& run = plan_.runs[lane.run];
      if (lane.left == 0 || run.first_end == run.last_end) {
        if (++lane.run < plan.last_run) lane.left = plan_.runs[lane.run].steps;
        continue;
      }
      --lane.left;
      lane.outstanding = run.last_end - run.first_end;
      for (std::uint32_t i = run.first_end; i < run.last_end; ++i) post(plan_.ends[i]);
      return;
    }
    if (--lanes_left_[plan.member] == 0) out_.ends[plan.member] = now();
  }

  void post(const PlainPlan::End& end) {
    State& state = states_[end.connection];
    state.posted |= end.sends ? kSender : kReceiver;
    if (state.posted != (kSender | kReceiver)) return;
    state.posted = 0;
    ++out_.transfers;
    queue_.push(
        make_event(Kind::arrives, end.connection, now() + Duration::picoseconds(state.latency_ps)));
  }

  /// Those of one endpoint in the order of its lanes.
  void do_pieces() {
    if (pieces_.empty()) return;
    if (pieces_.size() > 1)
      std::stable_sort(pieces_.begin(), pieces_.end(),
                       [](const Piece& a, const Piece& b) { return a.lane < b.lane; });
    for (const Piece& piece : pieces_) {
      const std::uint32_t member = plan_.lanes[piece.lane].member;
      const TimePoint done =
          reductions_[member].add(Bytes{piece.bytes}, *plan_.reduce_rates[member], now());
      queue_.push(make_event(Kind::worked, piece.lane, done));
    }
    pieces_.clear();
  }

  /// Shares change for what came, and for what shares links with what came or went.
  bool settle() {
    for (const std::uint32_t c : joining_) {
      states_[c].work = work_of(Bytes{plan_.connections[c].bytes});
      shares_.attach(c);
    }
    bool all_alone = true;
    for (const std::uint32_t c : joining_) {
      if (const std::uint64_t rate = shares_.rate_alone(c); rate != 0) {
        give(c, rate);
      } else {
        all_alone = false;
      }
    }
    if (shares_.has_changes()) {
      ++out_.solves;
      if (!shares_.solve()) return false;
      if (!all_alone)
        for (const std::uint32_t c : joining_)
          if (states_[c].rate == 0) give(c, shares_.rate(c));
      for (const std::uint32_t c : shares_.touched())
        if (const std::uint64_t rate = shares_.rate(c); states_[c].rate != rate) give(c, rate);
    }
    joining_.clear();
    return true;
  }

  /// Of a transfer that becomes slower the queued event stays, and finds out when it does end.
  void give(std::uint32_t c, std::uint64_t rate) {
    State& state = states_[c];
    const bool queued = state.rate != 0;
    if (queued) state.work -= static_cast<Int128>(state.rate) * (now_ps_ - state.since_ps);
    state.since_ps = now_ps_;
    state.rate = rate;
    const std::int64_t end = ends_after(now_ps_, time_of(state.work, rate));
    if (queued && end >= state.event_ps) {
      state.ends_later = end > state.event_ps;
      return;
    }
    if (queued) state.version = (state.version + 1) & kVersionMask;
    queue_end(c, state, end);
  }

  void queue_end(std::uint32_t c, State& state, std::int64_t end_ps) {
    state.event_ps = end_ps;
    state.ends_later = false;
    queue_.push(make_event(Kind::ends, c, TimePoint{Duration::picoseconds(end_ps)}, state.version));
  }

  [[nodiscard]] std::int64_t time_of(Int128 work, std::uint64_t rate) {
    if (work != last_work_ || rate != last_rate_) {
      last_work_ = work;
      last_rate_ = rate;
      last_ps_ = time_for(work, rate).ps();
    }
    return last_ps_;
  }

  /// Throws OutOfRange where that is too late.
  [[nodiscard]] static std::int64_t ends_after(std::int64_t since_ps, std::int64_t time_ps) {
    return (Duration::picoseconds(since_ps) + Duration::picoseconds(time_ps)).ps();
  }
  [[nodiscard]] TimePoint now() const { return TimePoint{Duration::picoseconds(now_ps_)}; }

  struct Piece {
    std::uint32_t lane = 0;
    std::int64_t bytes = 0;
  };

  const PlainPlan& plan_;
  PlainShares shares_;
  EventQueue queue_;
  std::int64_t now_ps_ = 0;
  std::vector<State> states_;  // per connection
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> lanes_left_;  // per member
  std::vector<Backlog> reductions_;        // per member
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> joining_;  // whose first bytes arrived in this instant
  std::vector<Piece> pieces_;
  // The last division.
  Int128 last_work_ = 0;
  std::uint64_t last_rate_ = 0;
  std::int64_t last_ps_ = 0;
  PlainReplay out_;
};

}  // namespace

std::optional<PlainReplay> replay_plain(const PlainPlan& plan, const OnReplay& report) {
  return Replay{plan}.run(report);
}

}  // namespace lockstep::fold
