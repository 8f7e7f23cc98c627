#include "strategies/collectives/bounds/collective_demand.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "sim/execute/schedule_checks/resources.hpp"
#include "strategies/collectives/bounds/partition.hpp"

using namespace lockstep;

namespace {

constexpr Bytes kMessage{840'000};  // divides by all counts below

bool is(MessageFraction share, std::int64_t parts, std::int64_t of) {
  return share.parts * of == parts * share.of;
}

}  // namespace

TEST_CASE("what has to pass the edge of three of eight members") {
  struct Case {
    Collective collective;
    std::int64_t leaves;  // eighths of the message, without and with the root inside
    std::int64_t enters;
    std::int64_t leaves_with_root;
    std::int64_t enters_with_root;
  };
  for (const Case& each : std::initializer_list<Case>{
           {Collective::all_reduce, 8, 8, 8, 8},
           {Collective::reduce_scatter, 5, 3, 5, 3},
           {Collective::all_gather, 3, 5, 3, 5},
           {Collective::broadcast, 0, 8, 8, 0},
           {Collective::reduce, 8, 0, 0, 8},
           {Collective::scatter, 0, 3, 5, 0},
           {Collective::gather, 3, 0, 0, 5},
           {Collective::all_to_all, 15, 15, 15, 15},
           {Collective::send_recv, 16, 16, 16, 16},  // distance 2: the last two of three
           {Collective::barrier, 0, 0, 0, 0},
       }) {
    CAPTURE(to_string(each.collective));
    const CollectiveDemand demand{each.collective, 8, 0, 2};
    CHECK(is(demand.leaving(3, false), each.leaves, 8));
    CHECK(is(demand.entering(3, false), each.enters, 8));
    CHECK(is(demand.leaving(3, true), each.leaves_with_root, 8));
    CHECK(is(demand.entering(3, true), each.enters_with_root, 8));
    CHECK(demand.leaving(8, true).parts == 0);  // all of them need nobody
  }
}

TEST_CASE("a shift takes out of a run what counting one by one finds") {
  for (std::int64_t n = 1; n <= 9; ++n) {
    for (std::int64_t distance = 0; distance <= n; ++distance) {
      const CollectiveDemand demand{Collective::send_recv, n, 0, distance};
      for (std::int64_t run = 1; run <= n; ++run) {
        std::int64_t out = 0;
        for (std::int64_t member = 0; member < run; ++member)
          if ((member + distance) % n >= run) ++out;
        CAPTURE(n);
        CAPTURE(distance);
        CAPTURE(run);
        CHECK(demand.leaving(run, false).parts == out);
      }
    }
  }
}

TEST_CASE("equal ports are bound by the least that the busiest rank must move") {
  // The multiples of Chan et al. 2007 that the executor compares schedules with.
  for (std::size_t kind = 0; kind < kCollectiveNames.size(); ++kind) {
    const auto collective = static_cast<Collective>(kind);
    CAPTURE(to_string(collective));
    for (const int n : {2, 3, 4, 5, 7, 8}) {
      CAPTURE(n);
      Partition ports{"ports"};
      ports.add(Rate::bytes_per_second(1'000'000'000'000),
                Rate::bytes_per_second(1'000'000'000'000), n);
      const LeastTraffic least = least_traffic({.collective = collective, .ranks = n});
      const Duration bound = ports.least_times({collective, n, n / 2, 1}, kMessage).longest();
      const double expected = std::max(least.sent, least.received) * 840'000;  // 1 byte a ps
      CHECK(static_cast<double>(bound.ps()) == doctest::Approx(expected));
    }
  }
}

TEST_CASE("who has to hear from whom") {
  const auto reaches = [](Collective collective, std::int64_t i, std::int64_t j) {
    return CollectiveDemand{collective, 8, 3, 2}.reaches(i, j);
  };
  CHECK(reaches(Collective::broadcast, 3, 7));
  CHECK_FALSE(reaches(Collective::broadcast, 7, 3));
  CHECK(reaches(Collective::gather, 7, 3));
  CHECK_FALSE(reaches(Collective::gather, 3, 7));
  CHECK(reaches(Collective::send_recv, 7, 1));
  CHECK_FALSE(reaches(Collective::send_recv, 1, 7));
  CHECK(reaches(Collective::barrier, 1, 7));
  CHECK_FALSE(reaches(Collective::all_to_all, 7, 7));
}

TEST_CASE("a partition knows where the root lies among groups alike") {
  // 4 nodes of 2; broadcast from member 5: node 2 sends, the others receive. Entering is slow.
  Partition nodes{"nodes"};
  nodes.add(40_GBps, 10_GBps, 4, 2);
  CHECK(nodes.members() == 8);
  const CollectiveDemand broadcast{Collective::broadcast, 8, 5, 1};
  CHECK(nodes.least_times(broadcast, 8_MiB).each == 8_MiB / 10_GBps);
  // 3 crossings over 4 * 10 GB/s entering are less.
  CHECK(nodes.least_times(broadcast, 8_MiB).together == 6_MiB / 10_GBps);
  // A scatter's root node sends 6/8; the others receive 2/8 each at a quarter of the rate.
  CHECK(nodes.least_times({Collective::scatter, 8, 5, 1}, 8_MiB).each == 2_MiB / 10_GBps);
  // The root in a node of its own kind, with nothing slow about it.
  Partition uneven{"uneven"};
  uneven.add(10_GBps, 40_GBps, 1, 4);
  uneven.add(40_GBps, 40_GBps, 2, 2);
  CHECK(uneven.least_times({Collective::scatter, 8, 0, 1}, 8_MiB).each == 4_MiB / 10_GBps);
  CHECK(uneven.least_times({Collective::scatter, 8, 4, 1}, 8_MiB).each == 6_MiB / 40_GBps);
}

TEST_CASE("groups added one by one or many at once are the same") {
  Partition many{"many"};
  many.add(10_GBps, 20_GBps, 6, 2);
  Partition single{"single"};
  for (int i = 0; i < 6; ++i) single.add(10_GBps, 20_GBps, 1, 2);
  for (std::size_t kind = 0; kind < kCollectiveNames.size(); ++kind) {
    const CollectiveDemand demand{static_cast<Collective>(kind), 12, 7, 3};
    CHECK(many.least_times(demand, kMessage).each == single.least_times(demand, kMessage).each);
    CHECK(many.least_times(demand, kMessage).together ==
          single.least_times(demand, kMessage).together);
  }
}

TEST_CASE("members outside of the known groups leave only what single groups say") {
  Partition some{"some"};
  some.skip(2);
  some.add(10_GBps, 10_GBps, 2, 3);
  CHECK(some.members() == 8);
  const EdgeTimes least = some.least_times({Collective::all_gather, 8, 0, 1}, 8_MiB);
  CHECK(least.each == 5_MiB / 10_GBps);  // what a group of 3 of 8 must receive
  CHECK(least.together == Duration{});
}

TEST_CASE("one group that holds all needs no edge") {
  Partition one{"one"};
  one.add(1_GBps, 1_GBps, 1, 8);
  for (std::size_t kind = 0; kind < kCollectiveNames.size(); ++kind)
    CHECK(one.least_times({static_cast<Collective>(kind), 8, 0, 1}, 8_MiB).longest() == Duration{});
}

TEST_CASE("many members and long messages stay within the numbers") {
  // 1 TiB from each of a million to everyone, in halves: N/4 TiB over 100 TB/s.
  Partition halves{"halves"};
  const Rate rate = Rate::bytes_per_second(100'000'000'000'000);
  halves.add(rate, rate, 2, 524'288);
  const Duration least =
      halves.least_times({Collective::all_to_all, 1'048'576, 0, 1}, 4_GiB).longest();
  CHECK(least == 1_GiB * 1'048'576 / rate);
}
