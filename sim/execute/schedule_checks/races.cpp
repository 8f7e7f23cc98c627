#include "sim/execute/schedule_checks/races.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule/execute.hpp"
#include "sim/execute/schedule/host_memory.hpp"
#include "sim/execute/schedule/no_content.hpp"

namespace lockstep {
namespace {

/// How far every lane of every rank is known to have come: 2 * step + 1 when a step has begun,
/// 2 * step + 2 when it has ended (vector clocks; Fidge 1988, Mattern 1989).
using Clock = std::vector<std::int32_t>;

std::int32_t begin_of(std::int64_t step) {
  return static_cast<std::int32_t>(2 * step + 1);
}
std::int32_t end_of(std::int64_t step) {
  return static_cast<std::int32_t>(2 * step + 2);
}

void join(Clock& into, const Clock& other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

/// A lane, counted over all ranks, and a step of it.
using LaneStep = std::pair<std::size_t, std::int64_t>;

/// What a lane did to a block, last of its kind.
struct Access {
  enum class Kind : std::uint8_t { read, copy, sum };
  Kind kind = Kind::read;
  LaneStep by;
  LaneStep sender;         // of what was written; `by` where no message was
  std::int32_t until = 0;  // how far `by`'s lane has come when it is over
};

/// What a schedule names and how much of it there is.
struct Survey {
  std::map<LaneStep, Clock> named_steps;  // that others wait for
  std::int64_t events = 0;                // steps and messages
  std::int64_t blocks = 0;                // of all messages and local operations
};

Survey survey_of(const Schedule& schedule) {
  Survey out;
  ScheduleStep step;
  const auto lanes = static_cast<std::size_t>(schedule.lanes());
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
        step.clear();
        schedule.step(rank, lane, i, step);
        out.events += 1 + std::ssize(step.receives);
        for (const Receive& receive : step.receives) out.blocks += step.blocks_of(receive);
        for (const LocalOperation& local : step.locals) out.blocks += local.to.count;
        for (const ScheduleStepRef& after : step.after) {
          const std::size_t other =
              static_cast<std::size_t>(rank) * lanes + static_cast<std::size_t>(after.lane);
          out.named_steps.try_emplace({other, after.step});
        }
      }
    }
  }
  return out;
}

/// Whether a step takes two messages, not both to be added, into one block.
bool takes_twice(const ScheduleStep& step, std::vector<std::pair<Chunk, Combine>>& taken) {
  if (step.receives.size() < 2) return false;
  taken.clear();
  for (const Receive& receive : step.receives) {
    taken.emplace_back(receive.chunk, receive.combine);
    for (const Chunk& chunk : step.more(receive.more)) taken.emplace_back(chunk, receive.combine);
  }
  std::erase_if(taken, [](const auto& each) { return each.first.count == 0; });
  std::ranges::sort(taken, {}, [](const auto& each) {
    return std::pair{each.first.buffer, each.first.first};
  });
  std::int64_t end = 0;         // of all in this buffer so far
  std::int64_t copied_end = 0;  // of those that are copied
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const auto& [chunk, combine] = taken[i];
    if (i == 0 || chunk.buffer != taken[i - 1].first.buffer) end = copied_end = 0;
    const bool copies = combine == Combine::copy;
    if (chunk.first < (copies ? end : copied_end)) return true;
    end = std::max(end, chunk.first + chunk.count);
    if (copies) copied_end = end;
  }
  return false;
}

/// Which lanes of one rank use which blocks.
class BlockUsers {
 public:
  BlockUsers(const Schedule& schedule, int rank) : schedule_{schedule}, rank_{rank} {}

  /// Whether two lanes meet in a block, at least one of them to write, with what this step uses.
  bool meet_in(const ScheduleStep& step, int lane) {
    const auto all = [&](const auto& messages, bool writes) {
      return std::ranges::any_of(messages, [&](const auto& message) {
        return meet(message.chunk, lane, writes) ||
               std::ranges::any_of(step.more(message.more),
                                   [&](const Chunk& chunk) { return meet(chunk, lane, writes); });
      });
    };
    return all(step.sends, false) || all(step.receives, true) ||
           std::ranges::any_of(step.locals, [&](const LocalOperation& local) {
             return meet(local.from, lane, false) || meet(local.to, lane, true);
           });
  }

 private:
  struct User {
    int lane = -1;         // the first
    bool several = false;  // there are others, and all read
    bool written = false;
  };

  bool meet(const Chunk& run, int lane, bool writes) {
    std::vector<User>& users = buffers_[static_cast<std::size_t>(run.buffer)];
    if (users.empty())
      users.resize(static_cast<std::size_t>(held_blocks(schedule_, rank_, run.buffer)));
    for (std::int64_t block = run.first; block < run.first + run.count; ++block) {
      User& user = users[static_cast<std::size_t>(block)];
      if (user.lane < 0) user.lane = lane;
      const bool is_alone = user.lane == lane && !user.several;
      if (!is_alone && (writes || user.written)) return true;
      user.several = !is_alone;
      user.written = user.written || writes;
    }
    return false;
  }

  const Schedule& schedule_;
  int rank_;
  std::array<std::vector<User>, 3> buffers_;
};

/// Lanes that use blocks of their own are in order, but for what one step receives.
bool may_race(const Schedule& schedule) {
  ScheduleStep step;
  std::vector<std::pair<Chunk, Combine>> taken;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    BlockUsers users{schedule, rank};
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
        step.clear();
        schedule.step(rank, lane, i, step);
        if (takes_twice(step, taken)) return true;
        if (schedule.lanes() > 1 && users.meet_in(step, lane)) return true;
      }
    }
  }
  return false;
}

class RaceFinder final : public ExecuteObserver {
 public:
  RaceFinder(const Schedule& schedule, bool rendezvous, Survey survey)
      : schedule_{schedule},
        rendezvous_{rendezvous},
        lanes_{static_cast<std::size_t>(schedule.lanes())},
        named_{std::move(survey.named_steps)},
        buffers_{static_cast<std::size_t>(schedule.ranks()) * kBuffers} {
    const std::size_t all = static_cast<std::size_t>(schedule.ranks()) * lanes_;
    // One lane alone is in order with itself.
    const std::size_t length = lanes_ == 1 ? 0 : all;
    clocks_.assign(all, Clock(length));
    arriving_.assign(all, Clock(length));
  }

  void begun(const ScheduleStepIndex& place, const ScheduleStep& step) override {
    const std::size_t lane = index(place);
    Clock& clock = clocks_[lane];
    for (const ScheduleStepRef& after : step.after)
      join(clock, named_.at({index({place.rank, after.lane, 0}), after.step}));
    reach(clock, lane, begin_of(place.step));
    arriving_[lane] = clock;
    if (!step.sends.empty()) sent_[{lane, place.step}] = {clock, step.sends.size()};
    const LaneStep by{lane, place.step};
    for (const Send& send : step.sends) {
      const Access access{Access::Kind::read, by, by, begin_of(place.step)};
      touch(access, send.chunk, clock);
      for (const Chunk& chunk : step.more(send.more)) touch(access, chunk, clock);
    }
  }

  void taken(const ScheduleStepIndex& sender, const ScheduleStepIndex& receiver,
             std::span<const Chunk> runs, Combine combine) override {
    const std::size_t from = index(sender);
    const std::size_t to = index(receiver);
    const auto message = sent_.find({from, sender.step});
    Clock known = clocks_[to];
    join(known, message->second.clock);
    if (--message->second.messages == 0) sent_.erase(message);
    join(arriving_[to], known);
    if (rendezvous_) join(arriving_[from], clocks_[to]);
    const Access access{
        kind_of(combine), {to, receiver.step}, {from, sender.step}, end_of(receiver.step)};
    for (const Chunk& run : runs) touch(access, run, known);
  }

  void worked(const ScheduleStepIndex& place, const LocalOperation& local) override {
    const LaneStep by{index(place), place.step};
    const std::int32_t until = end_of(place.step);
    touch({Access::Kind::read, by, by, until}, local.from, arriving_[by.first]);
    touch({kind_of(local.combine), by, by, until}, local.to, arriving_[by.first]);
  }

  void finished(const ScheduleStepIndex& place) override {
    const std::size_t lane = index(place);
    reach(arriving_[lane], lane, end_of(place.step));
    clocks_[lane] = arriving_[lane];
    const auto named = named_.find({lane, place.step});
    if (named != named_.end()) named->second = clocks_[lane];
  }

  [[nodiscard]] const RaceVerdict& verdict() const { return verdict_; }

 private:
  static constexpr std::size_t kBuffers = 3;
  /// What a step knew when it read what it sends, for as long as a message of it is in flight.
  struct Sent {
    Clock clock;
    std::size_t messages = 0;
  };
  using Accesses = std::vector<Access>;  // to one block, at most one of each kind and lane

  static Access::Kind kind_of(Combine combine) {
    return combine == Combine::copy ? Access::Kind::copy : Access::Kind::sum;
  }
  [[nodiscard]] std::size_t index(const ScheduleStepIndex& place) const {
    return static_cast<std::size_t>(place.rank) * lanes_ + static_cast<std::size_t>(place.lane);
  }
  [[nodiscard]] ScheduleStepIndex place_of(const LaneStep& by) const {
    return {static_cast<int>(by.first / lanes_), static_cast<int>(by.first % lanes_), by.second};
  }
  static void reach(Clock& clock, std::size_t lane, std::int32_t until) {
    if (!clock.empty()) clock[lane] = until;
  }

  void touch(const Access& access, const Chunk& run, const Clock& known) {
    const ScheduleStepIndex place = place_of(access.by);
    auto& buffer = buffers_[static_cast<std::size_t>(place.rank) * kBuffers +
                            static_cast<std::size_t>(run.buffer)];
    if (buffer.empty())
      buffer.resize(static_cast<std::size_t>(held_blocks(schedule_, place.rank, run.buffer)));
    for (std::int64_t block = run.first; block < run.first + run.count; ++block)
      touch_block(access, {run.buffer, block, 1}, known, buffer[static_cast<std::size_t>(block)]);
  }

  void touch_block(const Access& access, const Chunk& block, const Clock& known,
                   Accesses& accesses) {
    Access* same = nullptr;
    for (Access& before : accesses) {
      if (before.by.first == access.by.first && before.kind == access.kind) same = &before;
      if (conflict(before, access) && !ordered(before, access, known)) note(before, access, block);
    }
    if (same != nullptr) {
      *same = access;
    } else {
      accesses.push_back(access);
    }
  }

  static bool conflict(const Access& a, const Access& b) {
    return a.kind != Access::Kind::read || b.kind != Access::Kind::read;
  }

  [[nodiscard]] bool ordered(const Access& before, const Access& after, const Clock& known) const {
    if (before.by.first == after.by.first) {
      const bool are_messages = before.sender != before.by && after.sender != after.by;
      const bool are_sums = before.kind == Access::Kind::sum && after.kind == Access::Kind::sum;
      return before.by.second < after.by.second || !are_messages || are_sums ||
             before.sender.first == after.sender.first;
    }
    if (known[before.by.first] >= before.until) return true;
    // Who sees its send end, where sends wait for their receives, knows that it was written.
    return rendezvous_ && before.sender != before.by &&
           known[before.sender.first] >= end_of(before.sender.second);
  }

  void note(const Access& before, const Access& after, const Chunk& block) {
    ++verdict_.count;
    if (verdict_.first) return;
    const ScheduleStepIndex first = place_of(before.by);
    const ScheduleStepIndex second = place_of(after.by);
    verdict_.first = {first, second, block, say(before, after, block)};
  }

  [[nodiscard]] std::string say(const Access& before, const Access& after,
                                const Chunk& block) const {
    const ScheduleStepIndex first = place_of(before.by);
    const ScheduleStepIndex second = place_of(after.by);
    if (first == second)
      return fmt::format("{} takes two messages into {}, and nothing says which comes first",
                         to_text(first), to_text(block));
    return fmt::format("{} {} {}, lane {}, step {} {} it, and nothing says which comes first",
                       to_text(first), verb(before.kind), to_text(block), second.lane, second.step,
                       verb(after.kind));
  }

  static std::string_view verb(Access::Kind kind) {
    switch (kind) {
      case Access::Kind::read:
        return "reads";
      case Access::Kind::copy:
        return "overwrites";
      case Access::Kind::sum:
        break;
    }
    return "adds to";
  }

  const Schedule& schedule_;
  bool rendezvous_;
  std::size_t lanes_;
  std::map<LaneStep, Clock> named_;  // what was known when they ended
  std::vector<Clock> clocks_;        // per lane, when its step began
  std::vector<Clock> arriving_;      // and what it learns in the step
  std::map<LaneStep, Sent> sent_;
  std::vector<std::vector<Accesses>> buffers_;  // rank * kBuffers + buffer, then block
  RaceVerdict verdict_;
};

}  // namespace

RaceVerdict check_races(const Schedule& schedule, std::optional<int> slots,
                        std::int64_t most_work) {
  if (!may_race(schedule)) return {};
  Survey survey = survey_of(schedule);
  // One lane alone needs no clocks.
  const std::int64_t clock =
      schedule.lanes() > 1 ? schedule.ranks() * std::int64_t{schedule.lanes()} : 1;
  if (survey.blocks > most_work || survey.events > most_work / clock) return {.complete = false};
  const bool rendezvous = slots.value_or(schedule.slots()) == 0;
  RaceFinder finder{schedule, rendezvous, std::move(survey)};
  NoContent memory;
  const ExecuteOutcome outcome = execute(schedule, memory, {.slots = slots, .observer = &finder});
  LOCKSTEP_CHECK(outcome.finished());
  return finder.verdict();
}

}  // namespace lockstep
