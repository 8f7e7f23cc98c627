#include "sim/schedule/step_ends.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace lockstep;

namespace {

using Ends = std::vector<std::int64_t>;  // of steps from `first` on

StepEnds one_by_one(std::int64_t first, const Ends& ends) {
  StepEnds out;
  for (const std::int64_t end : ends) out.add(first++, end);
  return out;
}

/// Expanded again.
Ends all_of(const StepEnds& ends) {
  Ends out;
  for (std::size_t i = 0; i < ends.pieces().size(); ++i)
    for (std::int64_t step = ends.pieces()[i].first; step < ends.end_of(i); ++step)
      out.push_back(ends.pieces()[i].end_ps +
                    (step - ends.pieces()[i].first) * ends.pieces()[i].takes_ps);
  return out;
}

/// Runs of equal pace, as a delay that passes makes them.
Ends drawn(std::mt19937_64& random, std::size_t steps) {
  Ends out;
  std::int64_t at = static_cast<std::int64_t>(random() % 20);
  while (out.size() < steps) {
    const auto pace = static_cast<std::int64_t>(random() % 4);
    for (std::size_t i = 1 + random() % 9; i > 0 && out.size() < steps; --i)
      out.push_back(at += pace);
  }
  return out;
}

}  // namespace

TEST_CASE("steps at equal intervals are one piece, and a sum without counting them") {
  // 5, 8, 11, 20, 21, 22.
  StepEnds ends;
  ends.add_run(2, 3, 5, 3);
  ends.add_run(5, 3, 20, 1);
  CHECK(ends.first() == 2);
  CHECK(ends.steps() == 8);
  CHECK(ends.last_ps() == 22);
  CHECK(ends.sum_ps() == 5 + 8 + 11 + 20 + 21 + 22);
  REQUIRE(ends.pieces().size() == 2);
  CHECK(ends.pieces()[1] == StepEnds::Piece{5, 20, 1});
  // A million million steps of 3 ps: 3 + 6 + ... = 3 * n * (n + 1) / 2.
  constexpr std::int64_t kMany = 1'000'000'000'000;
  StepEnds many;
  many.add_run(0, kMany, 3, 3);
  CHECK(many.pieces().size() == 1);
  CHECK(many.last_ps() == 3 * kMany);
  CHECK(many.sum_ps() == UInt128{3} * kMany * (kMany + 1) / 2);
}

TEST_CASE("runs and single steps give the same pieces") {
  std::mt19937_64 random{1};
  for (int turn = 0; turn < 500; ++turn) {
    const Ends wanted = drawn(random, 1 + random() % 60);
    const StepEnds single = one_by_one(3, wanted);
    CHECK(all_of(single) == wanted);
    StepEnds runs;
    for (std::size_t i = 0; i < wanted.size();) {
      std::size_t to = i + 1;
      while (to + 1 < wanted.size() && random() % 8 != 0 &&
             wanted[to + 1] - wanted[to] == wanted[i + 1] - wanted[i])
        ++to;
      if (to > i + 1) ++to;
      to = std::min(to, wanted.size());
      if (to > i + 1 && wanted[to - 1] - wanted[to - 2] != wanted[i + 1] - wanted[i]) --to;
      runs.add_run(3 + static_cast<std::int64_t>(i), static_cast<std::int64_t>(to - i), wanted[i],
                   to > i + 1 ? wanted[i + 1] - wanted[i] : 7);
      i = to;
    }
    CHECK(runs == single);
  }
}

TEST_CASE("the latest of several lanes, which begin and end at different steps") {
  std::mt19937_64 random{2};
  for (int turn = 0; turn < 500; ++turn) {
    std::vector<StepEnds> lanes;
    std::vector<std::pair<std::size_t, Ends>> plain;
    std::size_t first = SIZE_MAX;
    std::size_t last = 0;
    for (std::size_t l = 1 + random() % 4; l > 0; --l) {
      plain.emplace_back(random() % 5, drawn(random, random() % 40));
      const auto& [begins, ends] = plain.back();
      lanes.push_back(one_by_one(static_cast<std::int64_t>(begins), ends));
      if (ends.empty()) continue;
      first = std::min(first, begins);
      last = std::max(last, begins + ends.size());
    }
    Ends wanted;
    for (std::size_t step = first; step < last; ++step) {
      std::int64_t latest = 0;
      for (const auto& [begins, ends] : plain)
        if (!ends.empty() && begins <= step)
          latest = std::max(latest, ends[std::min(step - begins, ends.size() - 1)]);
      wanted.push_back(latest);
    }
    const StepEnds latest = latest_of(lanes);
    CHECK(all_of(latest) == wanted);
    if (wanted.empty()) continue;
    // A step at which no lane has begun cannot be between others: there is none before the first.
    CHECK(latest.first() == static_cast<std::int64_t>(first));
  }
}
