#include "tools/app/explain/traffic_count.hpp"

#include <algorithm>

#include "sim/schedule/message_depth.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep::app {

namespace {

class Counter {
 public:
  Counter(const Schedule& schedule, int senders, std::int64_t most_visits)
      : schedule_{schedule},
        senders_{senders},
        phases_{schedule.phases()},
        visits_left_{most_visits} {}

  std::optional<TrafficCount> run() {
    const auto moves = moves_of(schedule_);
    const int ranks = moves ? moves->block : schedule_.ranks();
    for (int rank = 0; rank < ranks && visits_left_ >= 0; ++rank) {
      sent_ = received_ = 0;
      for (int lane = 0; lane < schedule_.lanes(); ++lane) walk(rank, lane);
      count_.total_blocks += sent_;
      if (rank < senders_) {
        count_.sent_blocks = std::max(count_.sent_blocks, sent_);
        count_.busiest_sender_blocks = std::max(count_.busiest_sender_blocks, sent_ + received_);
      }
      count_.busiest_blocks = std::max(count_.busiest_blocks, sent_ + received_);
    }
    if (visits_left_ < 0) return std::nullopt;
    if (moves) {
      count_.total_blocks *= moves->blocks;
      count_.messages *= moves->blocks;
    }
    count_.rounds = schedule_.lanes() > 1 ? message_depth(schedule_) : most_steps_;
    return count_;
  }

 private:
  void walk(int rank, int lane) {
    const std::int64_t steps = schedule_.steps(rank, lane);
    most_steps_ = std::max(most_steps_, steps);
    auto phase = phases_.begin();
    for (std::int64_t index = first_step(schedule_, rank, lane);
         index < steps && visits_left_ >= 0;) {
      while (phase != phases_.end() && phase->first + phase->count <= index) ++phase;
      const bool repeats = phase != phases_.end() && phase->first == index;
      const std::int64_t times = repeats ? std::min(phase->count, steps - index) : 1;
      visit(rank, lane, index, times);
      index += times;
    }
  }

  void visit(int rank, int lane, std::int64_t index, std::int64_t times) {
    step_.clear();
    schedule_.step(rank, lane, index, step_);
    for (const Send& send : step_.sends) sent_ += times * step_.blocks_of(send);
    for (const Receive& receive : step_.receives) received_ += times * step_.blocks_of(receive);
    count_.messages += times * std::ssize(step_.sends);
    visits_left_ -= 1 + std::ssize(step_.sends) + std::ssize(step_.receives);
  }

  const Schedule& schedule_;
  int senders_;
  std::vector<lockstep::Phase> phases_;
  std::int64_t visits_left_;
  std::int64_t most_steps_ = 0;
  std::int64_t sent_ = 0;
  std::int64_t received_ = 0;
  TrafficCount count_;
  ScheduleStep step_;
};

}  // namespace

std::optional<TrafficCount> count_traffic(const Schedule& schedule, int senders,
                                          std::int64_t most_visits) {
  return Counter{schedule, senders, most_visits}.run();
}

}  // namespace lockstep::app
