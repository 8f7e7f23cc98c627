#include "sim/execute/schedule_checks/verify.hpp"
#include "sim/execute/schedule_checks/round_of.hpp"

#include <doctest/doctest.h>

#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

Chunk data(std::int64_t first, std::int64_t count = 1) {
  return {Buffer::data, first, count};
}
Chunk output(std::int64_t first, std::int64_t count = 1) {
  return {Buffer::output, first, count};
}
ScheduleStep send(int peer, Chunk chunk) {
  return {.sends = {{peer, chunk}}};
}
ScheduleStep receive(int peer, Chunk chunk, Combine combine = Combine::copy) {
  return {.receives = {{peer, chunk, combine}}};
}

/// A schedule for each collective, written down for n ranks: the plainest there is.
TableSchedule plain(Collective collective, int n, int root) {
  std::vector<TableSchedule::Rank> ranks(static_cast<std::size_t>(n), TableSchedule::Rank(1));
  const auto lane = [&](int rank) -> TableSchedule::Lane& {
    return ranks[static_cast<std::size_t>(rank)][0];
  };
  const auto move = [&](int from, Chunk taken, int to, Chunk laid, Combine combine) {
    lane(from).push_back(send(to, taken));
    lane(to).push_back(receive(from, laid, combine));
  };
  Buffer result = Buffer::data;
  switch (collective) {
    case Collective::send_recv:
      for (int rank = 0; rank < n; ++rank)
        lane(rank).push_back({.sends = {{(rank + 1) % n, data(0, n)}},
                              .receives = {{(rank + n - 1) % n, output(0, n)}}});
      result = Buffer::output;
      break;
    case Collective::scatter:
      for (int rank = 0; rank < n; ++rank)
        if (rank != root) move(root, data(rank), rank, data(rank), Combine::copy);
      break;
    case Collective::gather:
      for (int rank = 0; rank < n; ++rank)
        if (rank != root) move(rank, data(rank), root, data(rank), Combine::copy);
      break;
    case Collective::reduce:
      for (int rank = 0; rank < n; ++rank)
        if (rank != root) move(rank, data(0, n), root, data(0, n), Combine::reduce);
      break;
    case Collective::broadcast:
      for (int rank = 0; rank < n; ++rank)
        if (rank != root) move(root, data(0, n), rank, data(0, n), Combine::copy);
      break;
    case Collective::all_gather:
      for (int from = 0; from < n; ++from)
        for (int to = 0; to < n; ++to)
          if (from != to) move(from, data(from), to, data(from), Combine::copy);
      break;
    case Collective::reduce_scatter:
      for (int from = 0; from < n; ++from)
        for (int to = 0; to < n; ++to)
          if (from != to) move(from, data(to), to, data(to), Combine::reduce);
      break;
    case Collective::all_reduce:
      for (int rank = 1; rank < n; ++rank) move(rank, data(0, n), 0, data(0, n), Combine::reduce);
      for (int rank = 1; rank < n; ++rank) move(0, data(0, n), rank, data(0, n), Combine::copy);
      break;
    case Collective::all_to_all:
      for (int from = 0; from < n; ++from)
        for (int to = 0; to < n; ++to) move(from, data(to), to, output(from), Combine::copy);
      result = Buffer::output;
      break;
    case Collective::barrier:
      for (int rank = 1; rank < n; ++rank) move(rank, data(0, 0), 0, data(0, 0), Combine::copy);
      for (int rank = 1; rank < n; ++rank) move(0, data(0, 0), rank, data(0, 0), Combine::copy);
      break;
  }
  // A send to oneself needs a slot.
  return TableSchedule{std::move(ranks), n, 8, 0, result};
}

}  // namespace

TEST_CASE("every collective has a right schedule, for every root and any count") {
  for (std::size_t i = 0; i < kCollectiveNames.size(); ++i) {
    const auto collective = static_cast<Collective>(i);
    for (const int n : {1, 2, 3, 5}) {
      for (int root = 0; root < (has_root(collective) ? n : 1); ++root) {
        const TableSchedule schedule = plain(collective, n, root);
        const Contract contract = contract_of(collective, schedule, n, root);
        for (const std::int64_t count : {0, 1, n, 3 * n - 1, 7 * n + 1}) {
          CAPTURE(kCollectiveNames[i]);
          CAPTURE(n);
          CAPTURE(root);
          CAPTURE(count);
          const CollectiveVerdict verdict = verify(schedule, contract, {.count = count});
          CHECK_MESSAGE(verdict.right(), verdict.problem());
          if (collective != Collective::barrier) CHECK(verdict.numbers.count == count);
          if (!reduces(collective)) CHECK(verdict.numbers.worst == 0);
        }
      }
    }
  }
}

TEST_CASE("a schedule of one collective does not pass for another") {
  const int n = 3;
  for (std::size_t i = 0; i < kCollectiveNames.size(); ++i) {
    for (std::size_t j = 0; j < kCollectiveNames.size(); ++j) {
      const auto is = static_cast<Collective>(i);
      const auto asked = static_cast<Collective>(j);
      // Whoever sees every other's data, or gives to all and gets from all, has met them: most are
      // barriers too. An all-reduce is every reduction, an all-gather every gather, a broadcast
      // from the root a scatter.
      const bool stronger =
          asked == Collective::barrier ||
          (is == Collective::all_reduce &&
           (asked == Collective::reduce || asked == Collective::reduce_scatter)) ||
          (is == Collective::all_gather && asked == Collective::gather) ||
          (is == Collective::broadcast && asked == Collective::scatter);
      if (i == j || stronger) continue;
      CAPTURE(kCollectiveNames[i]);
      CAPTURE(kCollectiveNames[j]);
      const TableSchedule schedule = plain(is, n, 1);
      CHECK_FALSE(verify(schedule, contract_of(asked, schedule, n, 1)).right());
    }
  }
}

TEST_CASE("the first wrong thing is named by round, rank, chunk, element and step") {
  // Broadcast from 0 to 1: the second block is sent into the first one's place.
  const TableSchedule schedule{
      {{{send(1, data(0)), send(1, data(1))}}, {{receive(0, data(0)), receive(0, data(0))}}}, 2};
  const CollectiveVerdict verdict =
      verify(schedule, contract_of(Collective::broadcast, schedule, 2), {.count = 20});
  CHECK(verdict.problem() ==
        "round 2: rank 1, chunk 0 of data: lacks rank 0's chunk 0, holds rank 0's chunk 1 "
        "instead; last written by lane 0, step 1; rank 0's chunk 0 was overwritten by rank 1, lane "
        "0, step 1");
  // Both blocks of ten, in both passes: the first holds the second's numbers, the second holds NaN.
  CHECK(verdict.numbers.wrong == 40);
  REQUIRE(verdict.numbers.first_wrong.has_value());
  CHECK(verdict.numbers.first_wrong->element == 0);
  CHECK(verdict.numbers.first_wrong->written == ScheduleStepIndex{1, 0, 1});
  REQUIRE(verdict.first_wrong().has_value());
  CHECK(verdict.first_wrong()->rank == 1);
  CHECK(verdict.first_wrong()->chunk.first == 0);
  CHECK(verdict.first_wrong()->written == ScheduleStepIndex{1, 0, 1});
}

TEST_CASE("rounds are counted over lanes, from 1 on, as messages follow one another") {
  // 0 -> 1 -> 2 -> 3, in lanes that wait for one another; 2 passes on the wrong chunk in its first
  // send, which is the third message to follow: steps count from 0 and say 0.
  const auto pass_on = [](int from, int to, std::int64_t sent) {
    ScheduleStep second = send(to, data(sent));
    second.after = {{0, 0}};
    return std::vector<std::vector<ScheduleStep>>{{receive(from, data(0))}, {second}};
  };
  const TableSchedule schedule{
      {{{send(1, data(0))}, {}}, pass_on(0, 2, 0), pass_on(1, 3, 1), {{receive(2, data(0))}, {}}},
      2};
  Contract contract = contract_of(Collective::broadcast, schedule, 4);
  const CollectiveVerdict verdict = verify(schedule, contract);
  REQUIRE(verdict.symbols.first_wrong.has_value());
  CHECK(round_of(schedule, {1, 0, 0}, data(0)) == 1);
  CHECK(round_of(schedule, {2, 1, 0}, data(1)) == 3);
  CHECK(round_of(schedule, {3, 0, 0}, data(0)) == 3);
  CHECK_FALSE(round_of(schedule, {3, 0, 0}, data(1)).has_value());  // it does not touch that
}

TEST_CASE("what was never received is as it was at the start") {
  const TableSchedule schedule{{{{}}, {{}}}, 2};
  const CollectiveVerdict verdict =
      verify(schedule, contract_of(Collective::all_reduce, schedule, 2));
  CHECK(verdict.problem() ==
        "rank 0, chunks 0 to 1 of data: lacks rank 1's chunk 0; never written; rank 1's "
        "chunk 0 was never passed on");
}

TEST_CASE("what cannot be asked is said, and nothing is run") {
  const TableSchedule schedule{{{{}}, {{}}}, 3};
  const auto problem = [&](const Contract& contract) {
    const CollectiveVerdict verdict = verify(schedule, contract);
    CHECK_FALSE(verdict.right());
    CHECK(verdict.symbols.orders == 0);
    return verdict.problem();
  };
  CHECK(problem(contract_of(Collective::all_gather, schedule, 2)) ==
        "3 chunks are not as many for each of 2 ranks");
  CHECK(problem(contract_of(Collective::broadcast, schedule, 2, 2)) ==
        "root 2, but there are 2 ranks");
  CHECK(problem(contract_of(Collective::all_reduce, schedule, 3)) ==
        "3 ranks with data in a schedule of 2");
  Contract contract = contract_of(Collective::all_reduce, schedule, 2);
  contract.blocks = 4;
  CHECK(problem(contract) == "a message of 4 chunks in a schedule of 3");
}

TEST_CASE("a schedule that cannot end is not run on numbers") {
  const TableSchedule schedule{
      {{{send(1, data(0)), receive(1, data(0))}}, {{send(0, data(0)), receive(0, data(0))}}}};
  const Contract contract = contract_of(Collective::all_reduce, schedule, 2);
  const CollectiveVerdict verdict = verify(schedule, contract);
  CHECK(verdict.symbols.outcome.kind == ExecuteOutcome::Kind::stuck);
  CHECK(verdict.problem() == "round 1: rank 0, lane 0, step 0 waits to send 1 chunk to rank 1");
  CHECK_FALSE(verdict.first_wrong().has_value());
  // With a slot it ends, and does not add up.
  CHECK(verify(schedule, contract, {.slots = 1}).symbols.wrong_blocks == 2);
}

TEST_CASE("too many floats are verified with shorter blocks") {
  const TableSchedule schedule = plain(Collective::all_to_all, 3, 0);
  const Contract contract = contract_of(Collective::all_to_all, schedule, 3);
  // Input and output of three ranks, three blocks each: 18 blocks; two thirds of 500 floats are 18
  // for each, so four.
  const CollectiveVerdict verdict = verify(schedule, contract, {.count = 1000, .most_floats = 500});
  CHECK(verdict.right());
  CHECK(verdict.numbers.reduced);
  CHECK(verdict.numbers.count == 11);
}
