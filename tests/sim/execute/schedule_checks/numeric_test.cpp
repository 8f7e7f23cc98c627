#include "sim/execute/schedule_checks/numeric.hpp"

#include <doctest/doctest.h>

#include "sim/execute/schedule/no_content.hpp"
#include "sim/execute/schedule/paired_blocks.hpp"
#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

ScheduleStep exchange(int peer, Chunk chunk, Combine combine) {
  return {.sends = {{peer, chunk}}, .receives = {{peer, chunk, combine}}, .after = {}};
}

/// Two ranks that exchange both blocks, as two steps; rank 1 combines the second as told.
TableSchedule pair_exchange(Combine second) {
  const Chunk low{Buffer::data, 0, 1};
  const Chunk high{Buffer::data, 1, 1};
  return TableSchedule{{{{exchange(1, low, Combine::reduce), exchange(1, high, Combine::reduce)}},
                        {{exchange(0, low, Combine::reduce), exchange(0, high, second)}}},
                       2};
}

NumericVerdict check_all_reduce(const Schedule& schedule, int ranks, std::int64_t count,
                                const NumericOptions& options = {}) {
  return check_numbers(schedule, contract_of(Collective::all_reduce, schedule, ranks), count,
                       options);
}

}  // namespace

TEST_CASE("a right schedule passes at any count") {
  for (const std::int64_t count : {0, 1, 2, 3, 1000, 1001}) {
    CAPTURE(count);
    const NumericVerdict check = check_all_reduce(pair_exchange(Combine::reduce), 2, count);
    CHECK(check.right());
    CHECK(check.count == count);
    CHECK_FALSE(check.reduced);
    CHECK(check.problem().empty());
  }
}

TEST_CASE("wrong elements are counted and the first one named") {
  // Rank 1 ends with rank 0's number in its second block: count / 2 wrong in either pass, except
  // that a copy may be within the bound by chance, which 50 random numbers are not.
  const NumericVerdict check = check_all_reduce(pair_exchange(Combine::copy), 2, 100);
  CHECK_FALSE(check.right());
  CHECK(check.wrong == 50);
  CHECK(check.out_of_bound == 50);
  REQUIRE(check.first_wrong.has_value());
  CHECK(check.first_wrong->rank == 1);
  CHECK(check.first_wrong->element == 50);
  CHECK(check.problem().find("rank 1, element 50 is ") == 0);
}

TEST_CASE("what does not fit is checked with shorter blocks of the same shape") {
  NumericOptions options;
  options.most_floats =
      600;  // two thirds of it, over 2 ranks of 2 blocks: at most 100 elements a block, so four
  const NumericVerdict whole = check_all_reduce(pair_exchange(Combine::reduce), 2, 1000, options);
  CHECK(whole.right());
  CHECK(whole.reduced);
  CHECK(whole.count == 8);
  // A last block that is not full stays so.
  CHECK(check_all_reduce(pair_exchange(Combine::reduce), 2, 1001, options).count == 7);
  options.most_floats = 5;
  const NumericVerdict none = check_all_reduce(pair_exchange(Combine::reduce), 2, 1000, options);
  CHECK(none.too_large);
  CHECK_FALSE(none.right());
}

TEST_CASE("the same seed gives the same verdict to the bit") {
  const auto worst = [](std::uint64_t seed) {
    NumericOptions options;
    options.seed = seed;
    return check_all_reduce(pair_exchange(Combine::reduce), 2, 1000, options).worst;
  };
  CHECK(worst(7) == worst(7));
  CHECK(worst(7) != worst(8));
}

/// Both kinds of numbers of 2 ranks' 2 blocks of 500 take 4,000 floats, and half as much again on
/// their way: with 6,000 they are moved at once, with 5,999 one after the other.
TEST_CASE("both kinds of numbers moved at once or one after the other: the same verdict") {
  for (const Combine second : {Combine::reduce, Combine::copy}) {
    const auto at = [&](std::int64_t most_floats) {
      return check_all_reduce(pair_exchange(second), 2, 1000, {.most_floats = most_floats});
    };
    const NumericVerdict at_once = at(6000);
    const NumericVerdict apart = at(5999);
    CHECK(at_once.problem() == apart.problem());
    CHECK(at_once.worst == apart.worst);
    CHECK(at_once.wrong == apart.wrong);
    CHECK(at_once.out_of_bound == apart.out_of_bound);
    CHECK(at_once.count == 1000);
    CHECK(apart.count == 1000);
  }
}

TEST_CASE("numbers moved by another's execution: the same verdict, wrong elements and all") {
  for (const Combine second : {Combine::reduce, Combine::copy}) {
    const TableSchedule schedule = pair_exchange(second);
    const Contract contract = contract_of(Collective::all_reduce, schedule, 2);
    NumericRun run{schedule, contract, 1000};
    REQUIRE(run.blocks() != nullptr);
    NoContent nothing;
    PairedBlocks both{nothing, *run.blocks()};
    const ExecuteOutcome outcome = execute(schedule, both);
    const NumericVerdict verdict = run.judge(outcome);
    const NumericVerdict alone = check_all_reduce(schedule, 2, 1000);
    CHECK(verdict.problem() == alone.problem());
    CHECK(verdict.worst == alone.worst);
    CHECK(verdict.wrong == alone.wrong);
    CHECK(verdict.outcome.transfers == alone.outcome.transfers);
    CHECK(verdict.count == 1000);
  }
}

TEST_CASE("numbers of which both kinds do not fit at once, or that a device moves, are not lent") {
  const TableSchedule schedule = pair_exchange(Combine::reduce);
  const Contract contract = contract_of(Collective::all_reduce, schedule, 2);
  NumericRun large{schedule, contract, 1000, {.most_floats = 5999}};  // as above
  CHECK(large.blocks() == nullptr);
  NumericOptions by_device;
  by_device.run = [](const Schedule&, HostMemory&) { return std::nullopt; };
  NumericRun elsewhere{schedule, contract, 1000, by_device};
  CHECK(elsewhere.blocks() == nullptr);
}
