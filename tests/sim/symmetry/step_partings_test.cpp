#include "sim/symmetry/step_partings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sim/engine/event_loop/replay_steps.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/sim/symmetry/rings.hpp"

using namespace lockstep;

namespace {

TimePoint at(Duration time) {
  return TimePoint{time};
}

StepEnds ends_of(const std::vector<std::int64_t>& ends) {
  StepEnds out;
  for (std::size_t i = 0; i < ends.size(); ++i) out.add(static_cast<std::int64_t>(i), ends[i]);
  return out;
}

TimePoint ps(std::int64_t at) {
  return TimePoint{Duration::picoseconds(at)};
}

/// Step by step, as the header says.
std::optional<StepParting> by_definition(const std::vector<std::int64_t>& own,
                                         const std::vector<std::int64_t>& usual) {
  std::size_t first = 0;
  while (first < own.size() && own[first] == usual[first]) ++first;
  if (first == own.size()) return std::nullopt;
  StepParting out{ps(std::min(own[first], usual[first])), static_cast<std::int64_t>(first),
                  own.back() - usual.back()};
  std::size_t same = own.size() - 1;
  while (same > 0 && own[same - 1] - usual[same - 1] == out.later_ps) --same;
  if (same + 1 < own.size() || out.later_ps == 0) {
    out.same_from = ps(own[same]);
    out.same_step = static_cast<std::int64_t>(same);
  }
  return out;
}

FoldedReplay folded_ring(int ranks, std::int64_t rounds, std::vector<TimePoint> starts,
                         bool by_rank) {
  // A step takes 2 us and 1000 bytes at 1 GB/s: 3 us.
  const Network star = test::star(ranks, 1_GBps, 2_us, {});
  Workload workload = test::ring(ranks, rounds, Bytes{1000});
  workload.calls[0].starts = std::move(starts);
  FoldOptions options;
  options.step_ends = true;
  options.by_rank_from = by_rank ? 0 : SIZE_MAX;
  FoldedReplay out = replay_folded(star, workload, NetworkModel::fluid, options);
  CHECK(out.report.by_rank == by_rank);
  return out;
}

}  // namespace

TEST_CASE(
    "times part at the first step that ends at another time, until differences are constant") {
  // Later by 2 in step 1 only.
  CHECK(parting_of(ends_of({1, 2, 3, 4}), ends_of({1, 2, 3, 4})) == std::nullopt);
  CHECK(parting_of(ends_of({1, 4, 5, 6}), ends_of({1, 2, 5, 6})) ==
        StepParting{ps(2), 1, 0, ps(5), 2});
  // Later by 2 from step 1 on; earlier by 1 at the end alone; the same again at the end alone.
  CHECK(parting_of(ends_of({1, 4, 6, 8}), ends_of({1, 2, 4, 6})) ==
        StepParting{ps(2), 1, 2, ps(4), 1});
  CHECK(parting_of(ends_of({1, 2, 3, 4}), ends_of({1, 2, 3, 5})) == StepParting{ps(4), 3, -1});
  CHECK(parting_of(ends_of({1, 2, 4, 5}), ends_of({1, 2, 3, 5})) ==
        StepParting{ps(3), 2, 0, ps(5), 3});
  std::mt19937_64 random{3};
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<std::int64_t> own;
    std::vector<std::int64_t> usual;
    std::int64_t own_at = 0;
    std::int64_t usual_at = 0;
    for (std::size_t steps = 1 + random() % 12; steps > 0; --steps) {
      const auto takes = static_cast<std::int64_t>(random() % 3);
      own.push_back(own_at += random() % 4 == 0 ? takes + 1 : takes);
      usual.push_back(usual_at += random() % 4 == 0 ? takes + 1 : takes);
    }
    CHECK(parting_of(ends_of(own), ends_of(usual)) == by_definition(own, usual));
  }
}

/// Rank 3 of 8 starts 10 us late. A step has a message to the next rank and one from the rank
/// before, and ends with both: in step 0 ranks 2 and 4 wait for rank 3, in step k those k + 1 ranks
/// away. Step k ends at 3(k+1) us, 10 us later for those who know; all do in step 3.
TEST_CASE("the delay of a late rank spreads by one rank a step in both directions") {
  std::vector<TimePoint> starts(8);
  starts[3] = at(10_us);
  for (const bool by_rank : {false, true}) {
    CAPTURE(by_rank);
    const FoldedReplay folded = folded_ring(8, 14, starts, by_rank);
    const auto found = find_step_partings(folded.report);
    REQUIRE(found);
    CHECK(found->distinct == 4);  // distances 0 and 1, 2, 3, 4
    CHECK(found->spread == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {2, 7}});
    const StepParting at_once{at(3_us), 0, 0, at(22_us), 3};
    const StepParting in_step_2{at(9_us), 2, 0, at(22_us), 3};
    if (by_rank) {
      REQUIRE(found->classes.size() == 2);  // seven ranks, and that one
      CHECK(found->classes[0].members == 6);
      CHECK(found->classes[0].usual == 7);
      CHECK(found->classes[0].first == at_once);
      CHECK(found->classes[0].last == in_step_2);
      CHECK(found->classes[1].first == at_once);
      continue;
    }
    REQUIRE(found->classes.size() == 8);
    for (const std::size_t rank : {2U, 3U, 4U}) CHECK(found->classes[rank].first == at_once);
    for (const std::size_t rank : {1U, 5U})
      CHECK(found->classes[rank].first == StepParting{at(6_us), 1, 0, at(22_us), 3});
    for (const std::size_t rank : {0U, 6U}) CHECK(found->classes[rank].first == in_step_2);
    CHECK_FALSE(found->classes[7].first);
    CHECK(found->classes[3].usual == 7);
  }
}

TEST_CASE("ranks that never differ are found equal, and nothing is kept unless asked for") {
  const FoldedReplay folded = folded_ring(8, 14, {}, false);
  const auto found = find_step_partings(folded.report);
  REQUIRE(found);
  CHECK(found->distinct == 1);
  CHECK(found->spread.empty());
  CHECK_FALSE(found->classes[0].first);
  const Network star = test::star(8, 1_GBps, 2_us, {});
  const FoldedReplay plain =
      replay_folded(star, test::ring(8, 14, Bytes{1000}), NetworkModel::fluid);
  CHECK_FALSE(find_step_partings(plain.report));
}

/// Two rings of four, of 3 us and of 7 us a step, the second with a rank 5 us late: each is
/// compared with ranks of its own.
TEST_CASE("classes of several calls are compared with those of their own") {
  const Network star = test::star(8, 1_GBps, 2_us, {});
  Workload workload = test::ring(4, 10, Bytes{1000});
  workload.calls.push_back(test::ring(4, 10, Bytes{5000}).calls[0]);
  for (EndpointId& member : workload.calls[1].members) member += 4;
  workload.calls[1].starts.resize(4);
  workload.calls[1].starts[2] = at(5_us);
  FoldOptions options;
  options.step_ends = true;
  const FoldedReplay folded = replay_folded(star, workload, NetworkModel::fluid, options);
  const auto found = find_step_partings(folded.report);
  REQUIRE(found);
  REQUIRE(found->classes.size() == 5);
  CHECK_FALSE(found->classes[0].first);
  // Ranks 1 to 3 wait in step 0; rank 0 is opposite, and waits in step 1: 5 + 2 * 7 us.
  for (const std::size_t c : {2U, 3U, 4U}) {
    CHECK(found->classes[c].usual == 0);
    CHECK(found->classes[c].first == StepParting{at(7_us), 0, 0, at(19_us), 1});
  }
  CHECK(found->spread == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}});
}

/// Times of all ranks, from the plain replay.
TEST_CASE("the plain replay logs the end of every step") {
  const Network star = test::star(4, 1_GBps, 2_us, {});
  Workload workload = test::ring(4, 3, Bytes{1000});
  workload.calls[0].starts.resize(4);
  workload.calls[0].starts[1] = at(1_us);
  const ReplayedSteps played = replay_with_steps(star, workload, NetworkModel::fluid);
  CHECK(played.result.call_ends == replay(star, workload, NetworkModel::fluid).call_ends);
  REQUIRE(played.ends.size() == 1);
  REQUIRE(played.ends[0].size() == 4);
  CHECK(played.ends[0][1] == ends_of({4'000'000, 7'000'000, 10'000'000}));
  CHECK(played.ends[0][3] == ends_of({3'000'000, 7'000'000, 10'000'000}));
}
