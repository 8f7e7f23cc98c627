#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/execute/schedule_checks/verify.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// Backwards in time a broadcast is a reduce, a gather a scatter and an all-gather a
/// reduce-scatter (Chan, Heimlich, Purkayastha and van de Geijn 2007, section 3: duals).
namespace lockstep {

namespace {

std::optional<Collective> dual_of(Collective collective) {
  switch (collective) {
    case Collective::broadcast:
      return Collective::reduce;
    case Collective::gather:
      return Collective::scatter;
    case Collective::scatter:
      return Collective::gather;
    case Collective::all_gather:
      return Collective::reduce_scatter;
    default:
      return std::nullopt;
  }
}

/// The blocks of a rank before a broadcast, scatter, gather or all-gather.
std::set<std::int64_t> own_blocks(const RowCase& of, const Schedule& schedule, int rank) {
  const Collective collective = of.row->collective;
  const bool rooted = collective == Collective::broadcast || collective == Collective::scatter;
  if (rooted && rank != of.input.root) return {};
  const std::int64_t parts = rooted ? 1 : of.input.n;
  const std::int64_t count = schedule.blocks() / parts;
  std::set<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.insert((rooted ? 0 : rank) * count + i);
  return out;
}

/// What reversed() takes: one lane, no local operations or slots, and no block received that the
/// rank has already.
bool is_plain(const RowCase& of, const Schedule& schedule) {
  if (schedule.lanes() != 1 || schedule.slots() != 0 || schedule.result() != Buffer::data)
    return false;
  ScheduleStep step;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    if (schedule.scratch_blocks(rank) > 0) return false;
    std::set<std::int64_t> has = own_blocks(of, schedule, rank);
    for (std::int64_t i = 0; i < schedule.steps(rank, 0); ++i) {
      step.clear();
      schedule.step(rank, 0, i, step);
      if (!step.locals.empty() || !step.after.empty()) return false;
      for (const Receive& each : step.receives) {
        std::vector<Chunk> runs{each.chunk};
        for (const Chunk& chunk : step.more(each.more)) runs.push_back(chunk);
        for (const Chunk& run : runs)
          for (std::int64_t block = run.first; block < run.first + run.count; ++block)
            if (!has.insert(block).second) return false;
      }
    }
  }
  return true;
}

bool same_chunk(const Chunk& a, const Chunk& b) {
  return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
}

}  // namespace

TEST_CASE("the reverse of every plain broadcast, gather, scatter and all-gather is its dual") {
  int reversed_rows = 0;
  for (const RowCase& each : every_row({1, 2, 3, 4, 5, 8, 12, 16})) {
    const auto dual = dual_of(each.row->collective);
    if (!dual) continue;
    const SchedulePtr forward = each.make();
    if (!is_plain(each, *forward)) continue;
    CAPTURE(each.name());
    const bool sums = *dual == Collective::reduce || *dual == Collective::reduce_scatter;
    const SchedulePtr back = reversed(forward, sums ? Combine::reduce : Combine::copy);
    const Contract contract = contract_of(*dual, *back, each.input.n, each.input.root, 1);
    CHECK(verify(*back, contract).problem() == "");
    ++reversed_rows;
  }
  CHECK(reversed_rows > 100);
}

TEST_CASE("twice reversed is the schedule itself") {
  for (const RowCase& each : every_row({4, 5, 8})) {
    if (each.row->collective != Collective::gather) continue;
    const SchedulePtr forward = each.make();
    if (!is_plain(each, *forward)) continue;
    CAPTURE(each.name());
    const SchedulePtr twice = reversed(reversed(forward, Combine::copy), Combine::copy);
    ScheduleStep a;
    ScheduleStep b;
    for (int rank = 0; rank < forward->ranks(); ++rank) {
      REQUIRE(twice->steps(rank, 0) == forward->steps(rank, 0));
      for (std::int64_t i = 0; i < forward->steps(rank, 0); ++i) {
        a.clear();
        b.clear();
        forward->step(rank, 0, i, a);
        twice->step(rank, 0, i, b);
        REQUIRE(a.sends.size() == b.sends.size());
        REQUIRE(a.receives.size() == b.receives.size());
        for (std::size_t k = 0; k < a.sends.size(); ++k) {
          CHECK(a.sends[k].peer == b.sends[k].peer);
          CHECK(same_chunk(a.sends[k].chunk, b.sends[k].chunk));
        }
        for (std::size_t k = 0; k < a.receives.size(); ++k) {
          CHECK(a.receives[k].peer == b.receives[k].peer);
          CHECK(same_chunk(a.receives[k].chunk, b.receives[k].chunk));
        }
      }
    }
  }
}

TEST_CASE("what reduces cannot be reversed") {
  for (const RowCase& each : every_row({4})) {
    if (each.row->name != "binomial" || each.row->collective != Collective::reduce) continue;
    if (each.input.root != 0) continue;
    const SchedulePtr back = reversed(each.make(), Combine::copy);
    ScheduleStep step;  // the root's last: it reduces
    CHECK_THROWS_AS(back->step(0, 0, 0, step), InternalError);
  }
}

}  // namespace lockstep
