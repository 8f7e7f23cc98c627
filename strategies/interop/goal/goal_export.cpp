#include "strategies/interop/goal/goal_export.hpp"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// Which operations a step consists of. Their labels follow from lane, step and place: s sends, r
/// receives, c reductions (of the receive of the same place), m work on the rank's own memory, j
/// what joins many ends of a step into one.
class ScheduleStepLabels {
 public:
  ScheduleStepLabels(int lane, std::int64_t index, const ScheduleStep& step)
      : name_{fmt::format("{}_{}", lane, index)}, sends_{step.sends.size()} {
    for (const Receive& receive : step.receives)
      reduces_.push_back(receive.combine == Combine::reduce);
    locals_ = step.locals.size();
  }

  [[nodiscard]] std::string label(char kind, std::size_t place) const {
    return fmt::format("{}{}_{}", kind, name_, place);
  }
  [[nodiscard]] std::string join() const { return "j" + name_; }
  /// Two ends are named one by one; an empty step needs something that can be waited for.
  [[nodiscard]] bool joined() const {
    const std::size_t ends = ends_before_join().size();
    return ends == 0 || ends > 2;
  }

  /// What has to be done for the step to be done.
  [[nodiscard]] std::vector<std::string> ends() const {
    return joined() ? std::vector{join()} : ends_before_join();
  }
  [[nodiscard]] std::vector<std::string> ends_before_join() const {
    return locals_ > 0 ? std::vector{label('m', locals_ - 1)} : transfers();
  }
  /// Ends of the transfers, and of the reductions of what they brought.
  [[nodiscard]] std::vector<std::string> transfers() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < sends_; ++i) out.push_back(label('s', i));
    for (std::size_t i = 0; i < reduces_.size(); ++i)
      out.push_back(label(reduces_[i] ? 'c' : 'r', i));
    return out;
  }

 private:
  std::string name_;
  std::size_t sends_;
  std::vector<bool> reduces_;
  std::size_t locals_ = 0;
};

class Writer {
 public:
  Writer(const Schedule& schedule, const GoalExport& options)
      : schedule_{schedule}, options_{options} {}

  std::string write() {
    add("// {} rank{}, blocks of {} bytes\n", schedule_.ranks(), schedule_.ranks() == 1 ? "" : "s",
        options_.block.count());
    add("num_ranks {}\n", schedule_.ranks());
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      add("\nrank {} {{\n", rank);
      for (int lane = 0; lane < schedule_.lanes(); ++lane)
        for (std::int64_t i = 0; i < schedule_.steps(rank, lane); ++i) write_step(rank, lane, i);
      add("}}\n");
    }
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void write_step(int rank, int lane, std::int64_t index) {
    ScheduleStep step;
    schedule_.step(rank, lane, index, step);
    const ScheduleStepLabels labels(lane, index, step);
    const std::vector<std::string> before = ends_before(rank, lane, index, step);
    write_transfers(step, labels, before);
    write_locals(step, labels,
                 step.sends.empty() && step.receives.empty() ? before : labels.transfers());
    if (!labels.joined()) return;
    add("{}: calc 0 cpu {}\n", labels.join(), 1 + lane);
    const auto ends = labels.ends_before_join();
    require(labels.join(), ends.empty() ? before : ends);
  }

  /// Ends of the lane's step before and of the steps that this one names.
  [[nodiscard]] std::vector<std::string> ends_before(int rank, int lane, std::int64_t index,
                                                     const ScheduleStep& step) const {
    std::vector<ScheduleStepRef> refs = step.after;
    if (index > 0) refs.push_back({lane, index - 1});
    std::vector<std::string> out;
    for (const ScheduleStepRef& ref : refs) {
      ScheduleStep done;
      schedule_.step(rank, ref.lane, ref.step, done);
      for (std::string& end : ScheduleStepLabels(ref.lane, ref.step, done).ends())
        out.push_back(std::move(end));
    }
    return out;
  }

  void write_transfers(const ScheduleStep& step, const ScheduleStepLabels& labels,
                       const std::vector<std::string>& before) {
    for (std::size_t i = 0; i < step.receives.size(); ++i) {
      const Receive& receive = step.receives[i];
      const Bytes size = options_.block * step.blocks_of(receive);
      add("{}: recv {}b from {} tag {}\n", labels.label('r', i), size.count(), receive.peer,
          receive.channel);
      require(labels.label('r', i), before);
      if (receive.combine != Combine::reduce) continue;
      write_calc(labels.label('c', i), size, options_.reduce_rate);
      require(labels.label('c', i), {labels.label('r', i)});
    }
    for (std::size_t i = 0; i < step.sends.size(); ++i) {
      const Send& send = step.sends[i];
      const Bytes size = options_.block * step.blocks_of(send);
      add("{}: send {}b to {} tag {}\n", labels.label('s', i), size.count(), send.peer,
          send.channel);
      require(labels.label('s', i), before);
    }
  }

  /// One after the other, the first after `before`.
  void write_locals(const ScheduleStep& step, const ScheduleStepLabels& labels,
                    std::vector<std::string> before) {
    for (std::size_t i = 0; i < step.locals.size(); ++i) {
      const LocalOperation& local = step.locals[i];
      const bool reduces = local.combine == Combine::reduce;
      const std::string label = labels.label('m', i);
      write_calc(label, options_.block * local.from.count,
                 reduces ? options_.reduce_rate : options_.copy_rate);
      require(label, before);
      before = {label};
    }
  }

  /// Halves of a nanosecond go up.
  void write_calc(const std::string& label, Bytes size, const std::optional<Rate>& rate) {
    const std::int64_t ps = rate ? (size / *rate).ps() : 0;
    add("{}: calc {}\n", label, (ps + 500) / 1000);
  }

  void require(const std::string& label, const std::vector<std::string>& done) {
    for (const std::string& each : done) add("{} requires {}\n", label, each);
  }

  const Schedule& schedule_;
  const GoalExport& options_;
  std::string text_;
};

}  // namespace

std::string write_goal(const Schedule& schedule, const GoalExport& options) {
  return Writer(schedule, options).write();
}

}  // namespace lockstep
