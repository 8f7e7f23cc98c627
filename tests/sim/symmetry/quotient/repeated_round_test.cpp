#include "sim/symmetry/quotient/repeated_round.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace lockstep;
using fold::RoundTransfer;

namespace {

/// Round by round, by the definition: a transfer starts when both ends have reached it, a lane goes
/// on when its transfers, and the reduction of what it took, are done.
std::vector<std::int64_t> by_definition(const std::vector<RoundTransfer>& round, std::int64_t times,
                                        std::vector<std::int64_t> reached) {
  for (std::int64_t i = 0; i < times; ++i) {
    std::vector<std::int64_t> next = reached;
    for (const RoundTransfer& each : round) {
      const std::int64_t done = std::max(reached[each.from], reached[each.to]) + each.takes_ps;
      next[each.from] = std::max(next[each.from], done);
      next[each.to] = std::max(next[each.to], done + each.reduces_ps);
    }
    reached = next;
  }
  return reached;
}

/// The log has the end of every round of lanes that send or receive, and of no other.
void check_log(const std::vector<RoundTransfer>& round, std::int64_t times,
               const std::vector<std::int64_t>& reached) {
  std::vector<StepEnds> wanted(reached.size());
  for (std::int64_t i = 1; i <= times; ++i) {
    const std::vector<std::int64_t> next = by_definition(round, i, reached);
    for (std::uint32_t lane = 0; lane < next.size(); ++lane)
      if (std::any_of(round.begin(), round.end(),
                      [lane](const auto& of) { return of.from == lane || of.to == lane; }))
        wanted[lane].add(5 + i - 1, next[lane]);
  }
  StepEndsLog log{reached.size()};
  std::vector<std::int64_t> advanced = reached;
  (void)fold::repeat_round(round, times, advanced, {&log, 5});
  for (std::size_t lane = 0; lane < reached.size(); ++lane)
    CHECK(log.lanes(lane, 1).front() == wanted[lane]);
}

}  // namespace

TEST_CASE("cycles and paths of lanes advance by the definition") {
  std::mt19937_64 random{7};
  for (int turn = 0; turn < 300; ++turn) {
    const auto lanes = static_cast<std::uint32_t>(1 + random() % 12);
    std::vector<std::uint32_t> order(lanes);
    for (std::uint32_t i = 0; i < lanes; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<RoundTransfer> round;
    for (std::uint32_t i = 0; i < lanes; ++i) {
      if (random() % 6 == 0) continue;  // cuts the cycle
      round.push_back({i, order[i], static_cast<std::int64_t>(random() % 1000),
                       static_cast<std::int64_t>(random() % 3 == 0 ? random() % 50 : 0)});
    }
    std::vector<std::int64_t> reached(lanes);
    for (std::int64_t& at : reached) at = static_cast<std::int64_t>(random() % 3000);
    for (const std::int64_t times : {1, 2, 5, 40, 300}) {
      CAPTURE(times);
      std::vector<std::int64_t> advanced = reached;
      const std::int64_t skipped = fold::repeat_round(round, times, advanced).skipped;
      CHECK(advanced == by_definition(round, times, reached));
      CHECK(skipped >= 0);
    }
    check_log(round, 40, reached);
  }
}

/// Few lanes change in most rounds: some start late, some transfers take longer, all others alike.
TEST_CASE("long rows advance by the definition while few lanes change") {
  std::mt19937_64 random{8};
  std::int64_t skipped = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const auto lanes = static_cast<std::uint32_t>(32 + random() % 150);
    const bool cycle = random() % 2 == 0;
    const bool reduces = random() % 2 == 0;
    std::vector<RoundTransfer> round;
    for (std::uint32_t i = 0; i + (cycle ? 0 : 1) < lanes; ++i)
      round.push_back({i, (i + 1) % lanes, 1000, reduces ? 30 : 0});
    for (std::uint64_t odd = random() % 4; odd > 0; --odd)
      round[random() % round.size()].takes_ps = static_cast<std::int64_t>(random() % 3000);
    std::vector<std::int64_t> reached(lanes, 0);
    for (std::uint64_t late = random() % 4; late > 0; --late)
      reached[random() % lanes] = static_cast<std::int64_t>(random() % 100'000);
    const auto times = static_cast<std::int64_t>(1 + random() % 500);
    std::vector<std::int64_t> advanced = reached;
    const fold::RepeatedRounds played = fold::repeat_round(round, times, advanced);
    CHECK(advanced == by_definition(round, times, reached));
    CHECK(played.advanced <= static_cast<std::uint64_t>(times) * round.size() + lanes);
    skipped += played.skipped;
  }
  CHECK(skipped > 0);
}

/// Rows beyond what is advanced at once, all of whose lanes change for many rounds: by the
/// definition, so that nothing is lost where one part of a row ends.
TEST_CASE("rows of many parts advance by the definition") {
  std::mt19937_64 random{9};
  for (const std::uint32_t lanes : {2049U, 4097U, 5000U}) {
    for (const bool cycle : {false, true}) {
      CAPTURE(lanes);
      CAPTURE(cycle);
      std::vector<RoundTransfer> round;
      for (std::uint32_t i = 0; i + (cycle ? 0 : 1) < lanes; ++i)
        round.push_back({i, (i + 1) % lanes, static_cast<std::int64_t>(random() % 1000),
                         static_cast<std::int64_t>(random() % 50)});
      std::vector<std::int64_t> reached(lanes);
      for (std::int64_t& at : reached) at = static_cast<std::int64_t>(random() % 30'000);
      std::vector<std::int64_t> advanced = reached;
      (void)fold::repeat_round(round, 100, advanced);
      CHECK(advanced == by_definition(round, 100, reached));
    }
  }
}

/// A delay reaches one lane more a round on either side; a lane changes its pace when it is reached
/// and once more in the round after, each time with two neighbors.
TEST_CASE("a delay costs what its two fronts do") {
  const std::uint32_t lanes = 10'000;
  std::vector<RoundTransfer> round;
  for (std::uint32_t i = 0; i < lanes; ++i) round.push_back({i, (i + 1) % lanes, 1000, 0});
  std::vector<std::int64_t> reached(lanes, 0);
  reached[7] = 123'456'789;
  const fold::RepeatedRounds played = fold::repeat_round(round, lanes, reached);
  CHECK(reached == std::vector<std::int64_t>(lanes, 123'456'789 + std::int64_t{lanes} * 1000));
  CHECK(played.advanced < 10 * lanes);
}

TEST_CASE("the rest of a cycle's rounds is one multiplication once its slowest transfer leads") {
  // Lane 0's transfer is slowest; both its ends wait for it from the first round on, the others as
  // soon as it has reached them, one lane a round from either end.
  const std::vector<RoundTransfer> round{{0, 1, 10, 0}, {1, 2, 1, 0}, {2, 3, 1, 0}, {3, 0, 1, 0}};
  std::vector<std::int64_t> reached(4, 0);
  const std::int64_t skipped = fold::repeat_round(round, 1'000'000, reached).skipped;
  CHECK(skipped > 999'900);
  // After 1 round 10, 10, 1, 1; from the second on everybody gains 10 a round: lanes 2 and 3 wait
  // for lanes 1 and 0, 10 + 1 at the second.
  CHECK(reached == std::vector<std::int64_t>{10'000'000, 10'000'000, 9'999'991, 9'999'991});
}

TEST_CASE("instants beyond what a double holds are advanced in whole numbers") {
  const std::int64_t late = (std::int64_t{1} << 53) + 1;
  const std::vector<RoundTransfer> round{{0, 1, 3, 0}};
  std::vector<std::int64_t> reached{late, 0};
  CHECK(fold::repeat_round(round, 2, reached).skipped == 0);
  CHECK(reached == std::vector<std::int64_t>{late + 6, late + 6});
}
