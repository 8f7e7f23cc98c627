#include "sim/execute/schedule_checks/resources.hpp"

#include <doctest/doctest.h>

#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

Chunk data(std::int64_t first, std::int64_t count = 1) {
  return {Buffer::data, first, count};
}
ScheduleStep send(int peer, Chunk chunk) {
  return {.sends = {{peer, chunk}}};
}
ScheduleStep receive(int peer, Chunk chunk, Combine combine = Combine::copy) {
  return {.receives = {{peer, chunk, combine}}};
}

/// Everyone sends `ahead` messages to the next rank, then receives as many from the one before.
TableSchedule eager_ring(int n, int ahead) {
  std::vector<TableSchedule::Rank> ranks;
  for (int rank = 0; rank < n; ++rank) {
    TableSchedule::Lane lane;
    for (int i = 0; i < ahead; ++i) lane.push_back(send((rank + 1) % n, data(i)));
    for (int i = 0; i < ahead; ++i) lane.push_back(receive((rank + n - 1) % n, data(i)));
    ranks.push_back({lane});
  }
  return TableSchedule{ranks, ahead};
}

}  // namespace

TEST_CASE("a ring that sends three ahead needs three slots, and names the wait cycle") {
  const TableSchedule schedule = eager_ring(3, 3);
  const Contract contract = contract_of(Collective::send_recv, schedule, 3);
  const ResourceVerdict none = check_resources(schedule, contract);
  CHECK_FALSE(none.ends());
  CHECK(none.enough_slots == 3);
  CHECK(none.problem() ==
        "deadlock where every send waits for its receive (3 would be enough): rank 0 step 0 "
        "waits to send to rank 1 <- rank 1 step 0 waits to send to rank 2 <- rank 2 step 0 waits "
        "to send to rank 0 <- rank 0 step 0");
  // With two slots the third send of each is stuck.
  const ResourceVerdict two = check_resources(schedule, contract, 2);
  CHECK_FALSE(two.ends());
  CHECK(two.problem().find("with 2 slots (3 would be enough): rank 0 step 2 waits to send") !=
        std::string::npos);
  const ResourceVerdict three = check_resources(schedule, contract, 3);
  CHECK(three.ends());
  CHECK(three.problem().empty());
  CHECK(three.deepest_queue == 3);
  // Every rank sends and receives the message once, which is the least.
  CHECK(three.sent == 1);
  CHECK(three.received == 1);
  CHECK(three.least.sent == 1);
}

TEST_CASE("a chain of forwarded messages of any length gives its slots back") {
  // Rank 0 sends to rank 1, that on to 2, and so on; the last takes nothing before rank 0, having
  // sent all its messages, tells it to. One slot each: every rank keeps a message in it, which
  // fills it, and waits to send on; so rank 0 can send as many messages as there are connections
  // before it speaks to the last. With one message more nobody ever moves.
  const auto chain = [](int n, int messages) {
    std::vector<TableSchedule::Rank> ranks(static_cast<std::size_t>(n));
    for (int rank = 0; rank < n; ++rank) {
      TableSchedule::Lane lane;
      if (rank == n - 1) lane.push_back(receive(0, data(0)));
      for (int i = 0; i < messages; ++i) {
        if (rank > 0) lane.push_back(receive(rank - 1, data(0)));
        if (rank > 0 && rank < n - 1) lane.back().receives.back().forwarded = true;
        if (rank < n - 1) lane.push_back(send(rank + 1, data(0)));
      }
      if (rank == 0) lane.push_back(send(n - 1, data(0)));
      ranks[static_cast<std::size_t>(rank)] = {lane};
    }
    return TableSchedule{ranks, 1, 1};
  };
  for (const int n : {4, 5, 300}) {
    CAPTURE(n);
    // Connections 0-1 to (n-2)-(n-1): each holds one message.
    CHECK(check_resources(chain(n, n - 1), {}).ends());
    const ResourceVerdict stuck = check_resources(chain(n, n), {});
    CHECK_FALSE(stuck.ends());
    CHECK(stuck.enough_slots == 2);
  }
}

TEST_CASE("what nobody answers cannot end with any number of slots") {
  const TableSchedule schedule{{{{receive(1, data(0))}}, {{}}}};
  const ResourceVerdict verdict =
      check_resources(schedule, contract_of(Collective::broadcast, schedule, 2, 1));
  CHECK_FALSE(verdict.enough_slots.has_value());
  CHECK(verdict.problem() ==
        "deadlock where every send waits for its receive (nor with any number): rank 0 step 0 "
        "waits to receive from rank 1 <- rank 1 never sends to rank 0 after that");
}

TEST_CASE("traffic is counted for the rank that moves most") {
  // A star of three ranks that add up at rank 0 and get the sum back: 0 receives two messages and
  // sends two, where 2(n-1)/n = 4/3 of one would do.
  const TableSchedule schedule{
      {{{receive(1, data(0, 3), Combine::reduce), receive(2, data(0, 3), Combine::reduce),
         send(1, data(0, 3)), send(2, data(0, 3))}},
       {{send(0, data(0, 3)), receive(0, data(0, 3))}},
       {{send(0, data(0, 3)), receive(0, data(0, 3))}}},
      3};
  const ResourceVerdict verdict =
      check_resources(schedule, contract_of(Collective::all_reduce, schedule, 3));
  CHECK(verdict.ends());
  CHECK_FALSE(verdict.auxiliary_ranks);
  CHECK(verdict.sent == 2);
  CHECK(verdict.received == 2);
  CHECK(verdict.least.sent == doctest::Approx(4.0 / 3));
}

TEST_CASE("a helper's traffic is counted apart, and takes the least away") {
  // The same star with rank 2, a helper, in the middle.
  const TableSchedule schedule{
      {{{send(2, data(0, 3)), receive(2, data(0, 3))}},
       {{send(2, data(0, 3)), receive(2, data(0, 3))}},
       {{receive(0, data(0, 3), Combine::reduce), receive(1, data(0, 3), Combine::reduce),
         send(0, data(0, 3)), send(1, data(0, 3))}}},
      3};
  const ResourceVerdict verdict =
      check_resources(schedule, contract_of(Collective::all_reduce, schedule, 2));
  CHECK(verdict.auxiliary_ranks);
  CHECK(verdict.sent == 1);
  CHECK(verdict.sent_by_auxiliary == 2);
  CHECK(verdict.received_by_auxiliary == 2);
}

TEST_CASE("the least that must move is the textbook's") {
  const auto least = [](Collective collective, int n) {
    Contract contract;
    contract.collective = collective;
    contract.ranks = n;
    return least_traffic(contract);
  };
  const int n = 4;
  CHECK(least(Collective::all_reduce, n).sent == 1.5);  // 2(n-1)/n
  CHECK(least(Collective::all_reduce, n).received == 1.5);
  for (const Collective collective :
       {Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all}) {
    CHECK(least(collective, n).sent == 0.75);  // (n-1)/n
    CHECK(least(collective, n).received == 0.75);
  }
  CHECK(least(Collective::scatter, n).sent == 0.75);  // by the root
  CHECK(least(Collective::scatter, n).received == 0.25);
  CHECK(least(Collective::gather, n).sent == 0.25);
  CHECK(least(Collective::gather, n).received == 0.75);  // by the root
  CHECK(least(Collective::broadcast, n).sent == 1);
  CHECK(least(Collective::reduce, n).received == 1);
  CHECK(least(Collective::barrier, n).sent == 0);
  CHECK(least(Collective::all_reduce, 1).sent == 0);
}

TEST_CASE("what is known of an execution at these slots need not be found again") {
  const TableSchedule schedule = eager_ring(3, 3);
  const Contract contract = contract_of(Collective::send_recv, schedule, 3);
  ExecuteOutcome known = check_resources(schedule, contract, 3).outcome;
  REQUIRE(known.finished());
  known.transfers = 77;  // shows that it was taken
  const ResourceVerdict verdict = check_resources(schedule, contract, 3, &known);
  CHECK(verdict.outcome.transfers == 77);
  CHECK(verdict.deepest_queue == 3);
  CHECK(verdict.sent == 1);
}
