#include "sim/execute/host/schedule/contributions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check.hpp"

namespace lockstep {
namespace {

using Run = Contributions::Run;
using Runs = Contributions::Runs;

struct Merged {
  Runs runs;
  std::optional<std::int64_t> twice;  // the first member of both
};

/// Adds a run that begins where the last one does, or later.
std::optional<std::int64_t> append(Runs& runs, Run run) {
  if (runs.empty() || runs.back().end < run.first) {
    runs.push_back(run);
    return std::nullopt;
  }
  if (runs.back().end > run.first) return run.first;
  runs.back().end = run.end;
  return std::nullopt;
}

/// `b` moved up by `shift`.
Merged merge(const Runs& a, const Runs& b, std::int64_t shift) {
  Merged out;
  out.runs.reserve(a.size() + b.size());
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    const bool from_left =
        right == b.end() || (left != a.end() && left->first <= right->first + shift);
    const Run run = from_left ? *left++ : Run{right->first + shift, right->end + shift};
    if (!from_left) ++right;
    if ((out.twice = append(out.runs, run))) return out;
  }
  return out;
}

}  // namespace

std::string to_string(const Contribution& contribution) {
  return fmt::format("rank {}'s chunk {}", contribution.rank, contribution.block);
}

ContributionSets::ContributionSets(int ranks)
    : ranks_{ranks},
      zero_{std::make_shared<const Runs>()},
      all_{std::make_shared<const Runs>(Runs{{0, ranks}})} {
  for (int rank = 0; rank < ranks; ++rank)
    ones_.push_back(std::make_shared<const Runs>(Runs{{rank, rank + 1}}));
}

Contributions ContributionSets::one(const Contribution& contribution) const {
  return {ones_.at(static_cast<std::size_t>(contribution.rank)), contribution.block};
}

Contribution ContributionSets::contribution(std::int64_t member, std::int64_t origin) const {
  const std::int64_t id = member + origin * ranks_;
  return {static_cast<int>(id % ranks_), id / ranks_};
}

ContributionSets::Sum ContributionSets::add(const Contributions& a, const Contributions& b) {
  LOCKSTEP_CHECK(a.written() && b.written());
  if (a.runs()->empty()) return {b, {}};
  if (b.runs()->empty()) return {a, {}};
  const std::int64_t shift = shift_of(a, b);
  if (a.runs() != last_a_ || b.runs() != last_b_ || shift != last_shift_) {
    Merged merged = merge(*a.runs(), *b.runs(), shift);
    if (merged.twice) return {{}, contribution(*merged.twice, a.origin())};
    last_a_ = a.runs();
    last_b_ = b.runs();
    last_shift_ = shift;
    last_sum_ = std::make_shared<const Runs>(std::move(merged.runs));
  }
  return {{last_sum_, a.origin()}, {}};
}

std::optional<Contribution> ContributionSets::least(const Contributions& a) const {
  if (!a.written() || a.runs()->empty()) return std::nullopt;
  return contribution(a.runs()->front().first, a.origin());
}

bool ContributionSets::equal(const Contributions& a, const Contributions& b) const {
  if (!a.written() || !b.written()) return a.written() == b.written();
  const std::int64_t shift = shift_of(a, b);
  if (shift == 0 && a.runs() == b.runs()) return true;
  return std::equal(a.runs()->begin(), a.runs()->end(), b.runs()->begin(), b.runs()->end(),
                    [shift](const Run& left, const Run& right) {
                      return left == Run{right.first + shift, right.end + shift};
                    });
}

ContributionSets::Difference ContributionSets::difference(const Contributions& a,
                                                          const Contributions& b,
                                                          std::size_t most) const {
  Difference out;
  if (!a.written()) return out;
  const std::int64_t shift = shift_of(a, b);
  const Runs none;
  const Runs& taken = b.written() ? *b.runs() : none;
  const auto note = [&](std::int64_t first, std::int64_t end) {
    out.count += std::max<std::int64_t>(0, end - first);
    for (; first < end && out.first.size() < most; ++first)
      out.first.push_back(contribution(first, a.origin()));
  };
  auto right = taken.begin();
  for (const Run& run : *a.runs()) {
    std::int64_t first = run.first;
    while (right != taken.end() && right->end + shift <= first) ++right;
    for (; right != taken.end() && right->first + shift < run.end; ++right) {
      note(first, right->first + shift);
      first = right->end + shift;
      if (first >= run.end) break;  // the next run may meet the same one
    }
    note(first, run.end);
  }
  return out;
}

}  // namespace lockstep
