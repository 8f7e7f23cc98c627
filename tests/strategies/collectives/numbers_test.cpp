#include <doctest/doctest.h>

#include "sim/execute/schedule_checks/verify.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// Every schedule of the table keeps its contract: on symbols, and on real numbers of any count.
using namespace lockstep;

namespace {

/// Less than the fallback, so that other orders of execution are tried at few ranks only.
constexpr std::int64_t kWork = std::int64_t{1} << 15;

}  // namespace

TEST_CASE("every schedule leaves every contribution where it belongs, exactly once") {
  for (const RowCase& row : every_row(kRankCounts)) {
    CAPTURE(row.name());
    const SchedulePtr schedule = row.make();
    const CollectiveVerdict verdict =
        verify(*schedule, row.contract(*schedule), {.most_work = kWork});
    CHECK_MESSAGE(verdict.right(), verdict.problem());
    CHECK(verdict.numbers.worst <= 1);
  }
}

TEST_CASE("every schedule computes the right numbers for any count of elements") {
  for (const RowCase& row : every_row({1, 2, 3, 4, 5, 7, 8, 16, 33})) {
    if (row.row->collective == Collective::barrier) continue;  // moves no elements
    const SchedulePtr schedule = row.make();
    const Contract contract = row.contract(*schedule);
    const std::int64_t blocks = schedule->blocks();
    // Nothing; one element; one block not full; blocks full; blocks of several elements, not full.
    for (const std::int64_t count :
         {std::int64_t{0}, std::int64_t{1}, blocks - 1, blocks, 3 * blocks, 5 * blocks + 1}) {
      CAPTURE(row.name());
      CAPTURE(count);
      const NumericVerdict verdict = check_numbers(*schedule, contract, count);
      CHECK_MESSAGE(verdict.right(), verdict.problem());
    }
  }
}
