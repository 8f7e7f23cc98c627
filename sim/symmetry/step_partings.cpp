#include "sim/symmetry/step_partings.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/base/hash.hpp"

namespace lockstep {

namespace {

TimePoint instant(std::int64_t ps) {
  return TimePoint{Duration::picoseconds(ps)};
}

/// Walks the steps of two ranks, as long as both keep their pace at once.
class Comparison {
 public:
  std::optional<StepParting> run(const StepEnds& own, const StepEnds& usual) {
    LOCKSTEP_CHECK(own.first() == usual.first() && own.steps() == usual.steps());
    std::size_t of_own = 0;
    std::size_t of_usual = 0;
    for (std::int64_t step = own.first(); step < own.steps();) {
      const std::int64_t to = std::min(own.end_of(of_own), usual.end_of(of_usual));
      compare(step, to, own.pieces()[of_own], usual.pieces()[of_usual]);
      if (own.end_of(of_own) == to) ++of_own;
      if (usual.end_of(of_usual) == to) ++of_usual;
      step = to;
    }
    if (!differs_) return std::nullopt;
    out_.later_ps = later_;
    if (same_step_ + 1 < own.steps() || later_ == 0) {
      out_.same_from = instant(same_ps_);
      out_.same_step = same_step_;
    }
    return out_;
  }

 private:
  static std::int64_t at(const StepEnds::Piece& piece, std::int64_t step) {
    return piece.end_ps + (step - piece.first) * piece.takes_ps;
  }

  void compare(std::int64_t step, std::int64_t to, const StepEnds::Piece& own,
               const StepEnds::Piece& usual) {
    const std::int64_t first = at(own, step) - at(usual, step);
    const bool keeps = own.takes_ps == usual.takes_ps || to - step == 1;
    if (!differs_ && (first != 0 || !keeps)) {
      differs_ = true;
      out_.step = first != 0 ? step : step + 1;
      out_.at = instant(std::min(at(own, out_.step), at(usual, out_.step)));
    }
    if (first != later_) set_same(step, own);
    if (!keeps) set_same(to - 1, own);
    later_ = at(own, to - 1) - at(usual, to - 1);
  }

  void set_same(std::int64_t step, const StepEnds::Piece& own) {
    same_step_ = step;
    same_ps_ = at(own, step);
  }

  bool differs_ = false;
  std::int64_t later_ = 0;
  std::int64_t same_step_ = 0;
  std::int64_t same_ps_ = 0;
  StepParting out_;
};

std::uint64_t hash_of(const StepEnds& ends) {
  std::uint64_t hash = 0;
  for (const StepEnds::Piece& piece : ends.pieces())
    for (const std::int64_t each : {piece.first, piece.end_ps, piece.takes_ps})
      hash = mix64(hash ^ static_cast<std::uint64_t>(each));
  return mix64(hash ^ static_cast<std::uint64_t>(ends.steps()));
}

/// Finds the usual ranks, then what differs from them.
class Partings {
 public:
  explicit Partings(const FoldReport& report) : report_{report} {}

  StepPartings run() {
    each([this](std::size_t c, int rank, const StepEnds& ends) { find_usual(c, rank, ends); });
    out_.classes.resize(report_.classes.size());
    each([this](std::size_t c, int rank, const StepEnds& ends) { compare(c, rank, ends); });
    find_spread();
    std::sort(histories_.begin(), histories_.end());
    out_.distinct = static_cast<std::uint64_t>(std::unique(histories_.begin(), histories_.end()) -
                                               histories_.begin());
    return std::move(out_);
  }

 private:
  /// The call, and the steps that are there.
  using Group = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;
  struct Usual {
    std::int64_t members = 0;  // of its class
    UInt128 sum_ps = 0;
    int rank = 0;
    const StepEnds* ends = nullptr;
  };

  /// Calls take(class, rank, ends): for one rank per class, or for every rank.
  template <typename Take>
  void each(const Take& take) const {
    for (std::size_t i = 0; i < report_.step_ends.size(); ++i) {
      const std::size_t c = report_.by_rank ? report_.class_of.front()[i] : i;
      take(c, report_.by_rank ? static_cast<int>(i) : report_.classes[c].representative,
           report_.step_ends[i]);
    }
  }

  [[nodiscard]] Group group_of(std::size_t c, const StepEnds& ends) const {
    return {report_.classes[c].call, ends.first(), ends.steps()};
  }

  void find_usual(std::size_t c, int rank, const StepEnds& ends) {
    const Usual one{report_.classes[c].members, ends.sum_ps(), rank, &ends};
    const auto [known, is_new] = usual_.try_emplace(group_of(c, ends), one);
    Usual& best = known->second;
    if (is_new || one.members < best.members) return;
    if (one.members > best.members || one.sum_ps < best.sum_ps) best = one;
  }

  void compare(std::size_t c, int rank, const StepEnds& ends) {
    const Usual& usual = usual_.at(group_of(c, ends));
    histories_.emplace_back(report_.classes[c].call, hash_of(ends));
    ClassStepParting& out = out_.classes[c];
    out.usual = usual.rank;
    if (usual.rank == rank) return;
    const auto parting = parting_of(ends, *usual.ends);
    if (!parting) return;
    const std::int64_t members = report_.by_rank ? 1 : report_.classes[c].members;
    out.members += members;
    parted_[parting->step] += members;
    if (!out.first || parting->step < out.first->step) out.first = parting;
    if (!out.last || parting->step > out.last->step) out.last = parting;
  }

  void find_spread() {
    std::int64_t all = 0;
    for (const auto& [step, members] : parted_) {
      all += members;
      if (out_.spread.empty() || all >= 2 * out_.spread.back().second ||
          step == parted_.rbegin()->first)
        out_.spread.emplace_back(step, all);
    }
  }

  const FoldReport& report_;
  std::map<Group, Usual> usual_;
  std::map<std::int64_t, std::int64_t> parted_;  // by step: ranks that part in it
  std::vector<std::pair<std::uint32_t, std::uint64_t>> histories_;
  StepPartings out_;
};

}  // namespace

std::optional<StepParting> parting_of(const StepEnds& own, const StepEnds& usual) {
  return Comparison{}.run(own, usual);
}

std::optional<StepPartings> find_step_partings(const FoldReport& report) {
  if (report.step_ends.empty()) return std::nullopt;
  return Partings{report}.run();
}

}  // namespace lockstep
