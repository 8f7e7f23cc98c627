#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/schedule/schedule.hpp"

/// Whether lanes that run side by side, as MSCCL's thread blocks do, touch the same memory.
namespace lockstep::test {

/// Follows who knows that whose steps are over: vector clocks (Mattern 1989), an entry a lane. A
/// step knows what its lane's last step and the steps it names knew, and, before it writes what it
/// receives, that the sending is over and what the sender knew then; no sender waits for its
/// receiver. For schedules with one transfer a step.
class RaceSearch {
 public:
  explicit RaceSearch(const Schedule& schedule) : schedule_{schedule} {
    const int lanes = schedule.ranks() * schedule.lanes();
    for (int lane = 0; lane < lanes; ++lane) {
      lanes_.emplace_back();
      const int rank = lane / schedule.lanes();
      for (std::int64_t i = 0; i < schedule.steps(rank, lane % schedule.lanes()); ++i) {
        Moment moment;
        schedule.step(rank, lane % schedule.lanes(), i, moment.step);
        lanes_.back().moments.push_back(std::move(moment));
      }
    }
  }

  /// Names two steps of a rank neither of which knows that the other is over, and that touch the
  /// same chunk; or a step that never ends. Empty where there are none.
  std::string find() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) moved = advance(lane) || moved;
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].ended < lanes_[lane].moments.size())
        return fmt::format("{} never ends", name(lane, lanes_[lane].ended));
    }
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      if (std::string race = race_on(rank); !race.empty()) return race;
    }
    return {};
  }

 private:
  using Clock = std::vector<std::size_t>;  // steps over, by lane
  using Connection = std::tuple<int, int, int>;

  struct Moment {
    Step step;
    Clock known_first;  // when it began
    Clock known_last;   // when all had arrived
    std::size_t arrived = 0;
  };
  struct Lane {
    std::vector<Moment> moments;
    Clock clock;  // when the last step ended, or of the present one
    bool begun = false;
    std::size_t ended = 0;
    std::vector<Clock> ends;  // by step
  };
  struct Access {
    std::size_t lane = 0;
    std::size_t step = 0;
    Chunk chunk;
    bool write = false;
    bool sent = false;  // read before anything arrives
  };

  [[nodiscard]] int rank_of(std::size_t lane) const {
    return static_cast<int>(lane) / schedule_.lanes();
  }
  [[nodiscard]] std::size_t lane_of(int rank, int lane) const {
    return static_cast<std::size_t>(rank * schedule_.lanes() + lane);
  }
  [[nodiscard]] std::string name(std::size_t lane, std::size_t step) const {
    return fmt::format("rank {}, lane {}, step {}", rank_of(lane),
                       static_cast<int>(lane) % schedule_.lanes(), step);
  }

  static void join(Clock& into, const Clock& from) {
    for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
  }

  bool advance(std::size_t index) {
    Lane& lane = lanes_[index];
    lane.clock.resize(lanes_.size());
    if (lane.ended == lane.moments.size()) return false;
    Moment& moment = lane.moments[lane.ended];
    if (!lane.begun && !begin(index, moment)) return false;
    lane.begun = true;
    const int rank = rank_of(index);
    for (; moment.arrived < moment.step.receives.size(); ++moment.arrived) {
      const Receive& receive = moment.step.receives[moment.arrived];
      auto& queue = on_the_way_[{receive.peer, rank, receive.channel}];
      if (queue.empty()) return false;
      join(lane.clock, queue.front());
      queue.pop_front();
    }
    moment.known_last = lane.clock;
    lane.clock[index] = ++lane.ended;
    lane.ends.push_back(lane.clock);
    lane.begun = false;
    return true;
  }

  bool begin(std::size_t index, Moment& moment) {
    Lane& lane = lanes_[index];
    const int rank = rank_of(index);
    for (const StepRef& ref : moment.step.after) {
      if (lanes_[lane_of(rank, ref.lane)].ended <= static_cast<std::size_t>(ref.step)) return false;
    }
    for (const StepRef& ref : moment.step.after)
      join(lane.clock, lanes_[lane_of(rank, ref.lane)].ends[static_cast<std::size_t>(ref.step)]);
    moment.known_first = lane.clock;
    for (const Send& send : moment.step.sends) {
      Clock& sent = on_the_way_[{rank, send.peer, send.channel}].emplace_back(lane.clock);
      sent[index] = lane.ended + 1;
    }
    return true;
  }

  std::string race_on(int rank) {
    std::vector<Access> accesses;
    for (int lane = 0; lane < schedule_.lanes(); ++lane)
      add_accesses(lane_of(rank, lane), accesses);
    for (const Access& a : accesses) {
      for (const Access& b : accesses) {
        if (a.lane < b.lane && (a.write || b.write) && overlap(a.chunk, b.chunk) &&
            !ordered(a, b) && !ordered(b, a))
          return fmt::format("{} and {} touch the same chunk", name(a.lane, a.step),
                             name(b.lane, b.step));
      }
    }
    return {};
  }

  void add_accesses(std::size_t lane, std::vector<Access>& out) const {
    const auto& moments = lanes_[lane].moments;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const Step& step = moments[i].step;
      const auto add = [&](Chunk chunk, Pieces more, bool write, bool sent = false) {
        out.push_back({lane, i, chunk, write, sent});
        for (const Chunk& piece : step.more(more)) out.push_back({lane, i, piece, write, sent});
      };
      for (const Send& send : step.sends) add(send.chunk, send.more, false, true);
      for (const Receive& receive : step.receives) add(receive.chunk, receive.more, true);
      for (const LocalOperation& local : step.locals) {
        add(local.from, {}, false);
        add(local.to, {}, true);
      }
    }
  }

  static bool overlap(Chunk a, Chunk b) {
    return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
  }

  [[nodiscard]] bool ordered(const Access& first, const Access& then) const {
    const Moment& moment = lanes_[then.lane].moments[then.step];
    return (then.sent ? moment.known_first : moment.known_last)[first.lane] > first.step;
  }

  const Schedule& schedule_;
  std::vector<Lane> lanes_;
  std::map<Connection, std::deque<Clock>> on_the_way_;
};

}  // namespace lockstep::test
