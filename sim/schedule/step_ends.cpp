#include "sim/schedule/step_ends.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

void StepEnds::add(std::int64_t step, std::int64_t end_ps) {
  LOCKSTEP_CHECK(pieces_.empty() || step == steps_);
  steps_ = step + 1;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    const std::int64_t before = step - 1 - last.first;  // of the last end in its piece
    if (before == 0) last.takes_ps = end_ps - last.end_ps;
    if (end_ps == last.end_ps + (before + 1) * last.takes_ps) return;
  }
  pieces_.push_back({step, end_ps, 0});
}

void StepEnds::add_run(std::int64_t step, std::int64_t count, std::int64_t end_ps,
                       std::int64_t takes_ps) {
  // A piece that begins in the run has its pace by the third step of it.
  const std::int64_t one_by_one = std::min<std::int64_t>(count, 3);
  for (std::int64_t i = 0; i < one_by_one; ++i) add(step + i, end_ps + i * takes_ps);
  if (count > one_by_one) steps_ = step + count;
}

std::int64_t StepEnds::last_ps() const {
  if (pieces_.empty()) return 0;
  const Piece& last = pieces_.back();
  return last.end_ps + (steps_ - 1 - last.first) * last.takes_ps;
}

UInt128 StepEnds::sum_ps() const {
  UInt128 out = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto count = static_cast<UInt128>(end_of(i) - pieces_[i].first);
    out += count * static_cast<UInt128>(pieces_[i].end_ps);
    out += count * (count - 1) / 2 * static_cast<UInt128>(pieces_[i].takes_ps);
  }
  return out;
}

namespace {

/// Goes through the ends of several lanes at once.
class Latest {
 public:
  explicit Latest(std::span<const StepEnds> lanes) : lanes_{lanes}, piece_(lanes.size(), 0) {}

  StepEnds run() {
    std::int64_t step = INT64_MAX;
    std::int64_t end = 0;
    for (const StepEnds& lane : lanes_) {
      if (lane.empty()) continue;
      step = std::min(step, lane.first());
      end = std::max(end, lane.steps());
    }
    while (step < end) {
      const std::int64_t to = next_change(step, end);
      add(step, to);
      step = to;
    }
    return std::move(out_);
  }

 private:
  struct Line {
    std::int64_t end_ps = 0;
    std::int64_t takes_ps = 0;
  };

  /// Up to where every lane keeps its pace from `step` on.
  std::int64_t next_change(std::int64_t step, std::int64_t end) {
    std::int64_t out = end;
    lines_.clear();
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const StepEnds& lane = lanes_[l];
      if (lane.empty()) continue;
      if (lane.first() > step) {
        out = std::min(out, lane.first());
      } else if (lane.steps() <= step) {
        lines_.push_back({lane.last_ps(), 0});
      } else {
        while (lane.end_of(piece_[l]) <= step) ++piece_[l];
        const StepEnds::Piece& piece = lane.pieces()[piece_[l]];
        lines_.push_back({piece.end_ps + (step - piece.first) * piece.takes_ps, piece.takes_ps});
        out = std::min(out, lane.end_of(piece_[l]));
      }
    }
    from_ = step;
    return out;
  }

  [[nodiscard]] std::int64_t at(const Line& line, std::int64_t step) const {
    return line.end_ps + (step - from_) * line.takes_ps;
  }
  [[nodiscard]] std::int64_t latest(std::int64_t step) const {
    std::int64_t out = 0;
    for (const Line& line : lines_) out = std::max(out, at(line, step));
    return out;
  }

  /// A line that is the latest at both ends is the latest between them.
  void add(std::int64_t step, std::int64_t to) {
    const std::int64_t first = latest(step);
    const std::int64_t last = latest(to - 1);
    for (const Line& line : lines_) {
      if (at(line, step) != first || at(line, to - 1) != last) continue;
      out_.add_run(step, to - step, first, line.takes_ps);
      return;
    }
    const std::int64_t middle = step + (to - step) / 2;
    add(step, middle);
    add(middle, to);
  }

  std::span<const StepEnds> lanes_;
  std::vector<std::size_t> piece_;  // per lane
  std::vector<Line> lines_;         // of the lanes that have begun
  std::int64_t from_ = 0;           // the step that lines begin with
  StepEnds out_;
};

}  // namespace

StepEnds latest_of(std::span<const StepEnds> lanes) {
  return lanes.size() == 1 ? lanes.front() : Latest{lanes}.run();
}

void StepEndsLog::add_run(std::size_t lane, std::int64_t step, std::int64_t count,
                          std::int64_t end_ps, std::int64_t takes_ps) {
  if (!complete()) return;
  StepEnds& ends = lanes_[lane];
  const std::size_t before = ends.pieces().size();
  ends.add_run(step, count, end_ps, takes_ps);
  pieces_ += ends.pieces().size() - before;
}

}  // namespace lockstep
