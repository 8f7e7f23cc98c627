#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "sim/network/maxmin/sparse_shares.hpp"
#include "tests/sim/engine/bed.hpp"

// The fluid engine against the plainest possible form of the same definition: at every event all
// shares from scratch, every flow's remaining work settled one by one. No groups, no components, no
// checkpoints; the same integers. Times must be equal, not close.

using namespace lockstep;
using namespace lockstep::test;

namespace {

struct PlainFlow {
  Int128 left = 0;
  std::int64_t start = 0;
  std::int64_t end = -1;
  std::vector<Hop> hops;
  std::uint64_t rate = 0;
};

class PlainFluid {
 public:
  PlainFluid(std::vector<std::uint64_t> capacities, std::vector<PlainFlow> flows)
      : capacities_(std::move(capacities)), flows_(std::move(flows)) {}

  std::vector<std::int64_t> run() {
    std::int64_t now = 0;
    for (;;) {
      const std::int64_t next = next_event(now);
      if (next == INT64_MAX) break;
      move_to(now, next);
      now = next;
      share(now);
    }
    std::vector<std::int64_t> ends;
    for (const PlainFlow& flow : flows_) ends.push_back(flow.end);
    return ends;
  }

 private:
  [[nodiscard]] static bool active(const PlainFlow& flow, std::int64_t now) {
    return flow.start <= now && flow.end < 0;
  }

  [[nodiscard]] std::int64_t next_event(std::int64_t now) const {
    std::int64_t next = INT64_MAX;
    for (const PlainFlow& flow : flows_) {
      if (flow.end >= 0) continue;
      if (flow.rate == 0) {
        next = std::min(next, std::max(flow.start, now));
      } else {
        next = std::min(next, now + time_for(flow.left, flow.rate).ps());
      }
    }
    return next;
  }

  void move_to(std::int64_t now, std::int64_t next) {
    for (PlainFlow& flow : flows_) {
      if (flow.end >= 0 || flow.rate == 0) continue;
      if (now + time_for(flow.left, flow.rate).ps() == next) {
        flow.end = next;
        continue;
      }
      flow.left -= static_cast<Int128>(flow.rate) * (next - now);
    }
  }

  void share(std::int64_t now) {
    std::vector<UInt128> capacity;
    for (const std::uint64_t c : capacities_)
      capacity.push_back(static_cast<UInt128>(c) * kWeightUnit);
    std::vector<PlainFlow*> open;
    for (PlainFlow& flow : flows_)
      if (active(flow, now)) open.push_back(&flow);
    while (!open.empty()) {
      std::map<LinkId, UInt128> weight;
      for (const PlainFlow* flow : open)
        for (const Hop& hop : flow->hops) weight[hop.link] += hop.weight;
      UInt128 level = ~UInt128{0};
      for (const auto& [link, w] : weight) level = std::min(level, capacity[link] / w);
      std::vector<PlainFlow*> still_open;
      std::vector<PlainFlow*> frozen;
      for (PlainFlow* flow : open) {
        const bool full = std::any_of(flow->hops.begin(), flow->hops.end(), [&](const Hop& hop) {
          return capacity[hop.link] / weight[hop.link] == level;
        });
        (full ? frozen : still_open).push_back(flow);
      }
      for (PlainFlow* flow : frozen) {
        flow->rate = static_cast<std::uint64_t>(level);
        for (const Hop& hop : flow->hops) capacity[hop.link] -= level * hop.weight;
      }
      open = still_open;
    }
  }

  std::vector<std::uint64_t> capacities_;
  std::vector<PlainFlow> flows_;
};

/// So many flows on a link of their own that all flows share in components from the start, where
/// else that depends on how many come to cross a link.
void crowd(Bed& bed, std::vector<std::uint64_t>& capacities, std::vector<PlainFlow>& plain) {
  const LinkId link = bed.link(1_GBps);
  capacities.push_back((1_GBps).steps());
  for (std::size_t i = 0; i <= maxmin::SparseShares::kMost; ++i) {
    bed.flow(1_B, {link});
    plain.push_back({work_of(1_B), 0, -1, {{link}}, 0});
  }
}

/// A random system: `links` links, `flows` flows over 1 to 4 of them, some split, starts at random.
void compare_one(std::uint64_t seed, std::size_t links, std::size_t flows, bool splits,
                 bool crowded) {
  CAPTURE(seed);
  CAPTURE(crowded);
  std::mt19937_64 draw(seed);
  Bed bed;
  std::vector<std::uint64_t> capacities;
  for (std::size_t i = 0; i < links; ++i) {
    const Rate rate = Rate::bytes_per_second(1'000'000'000 * (1 + draw() % 7));
    bed.link(rate);
    capacities.push_back(rate.steps());
  }
  std::vector<PlainFlow> plain;
  if (crowded) crowd(bed, capacities, plain);
  for (std::size_t i = 0; i < flows; ++i) {
    std::vector<LinkId> own;
    const std::size_t hops = 1 + draw() % 4;
    while (own.size() < std::min(hops, links)) {
      const auto link = static_cast<LinkId>(draw() % links);
      if (std::find(own.begin(), own.end(), link) == own.end()) own.push_back(link);
    }
    Route route;
    const bool split = splits && draw() % 3 == 0;
    const Weight parts = split ? 1 + draw() % 5 : 1;
    for (const LinkId link : own) route.hops.push_back({link, kWeightUnit / parts});
    const auto start = static_cast<std::int64_t>(draw() % 4 == 0 ? 0 : draw() % 20'000'000);
    const Bytes size{static_cast<std::int64_t>(1 + draw() % 40'000)};
    bed.flow_on(size, route, TimePoint{Duration::picoseconds(start)});
    plain.push_back({work_of(size), start, -1, route.hops, 0});
  }
  CHECK(bed.ends() == PlainFluid(capacities, plain).run());
}

void compare(std::uint64_t seed, std::size_t links, std::size_t flows, bool splits) {
  for (const bool crowded : {false, true}) compare_one(seed, links, flows, splits, crowded);
}

}  // namespace

TEST_CASE("the engine's shares equal those worked out from scratch at every event, to the bit") {
  for (std::uint64_t seed = 0; seed < 150; ++seed)
    compare(seed, 2 + seed % 12, 3 + seed % 40, true);
}

TEST_CASE("the same where links are twins until some flow distinguishes them") {
  // Trunks of 4 links of one width. Most flows are split over the whole of one or two trunks, so
  // that its links cannot differ; from 10 us on some cross a single link, or take unequal parts,
  // while others are under way, waiting, alone or done.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 draw(seed);
    Bed bed;
    const std::size_t trunks = 3 + seed / 2 % 4;
    for (std::size_t i = 0; i < 4 * trunks; ++i) bed.link(2_GBps);
    std::vector<std::uint64_t> capacities(4 * trunks, (2_GBps).steps());
    std::vector<PlainFlow> plain;
    if (seed % 2 == 1) crowd(bed, capacities, plain);
    for (std::size_t i = 0; i < 10 + seed % 30; ++i) {
      const bool late = draw() % 3 == 0;
      Route route;
      const auto first = static_cast<LinkId>(draw() % trunks);
      for (LinkId k = 0; k < 4; ++k) {
        if (late && draw() % 2 == 0 && !route.hops.empty()) continue;
        const Weight part = late ? 1 + draw() % 4 : 4;
        route.hops.push_back({4 * first + k, kWeightUnit / part});
      }
      if (draw() % 2 == 0)
        for (LinkId k = 0; k < 4; ++k)
          route.hops.push_back(
              {4 * ((first + 1) % static_cast<LinkId>(trunks)) + k, kWeightUnit / 4});
      const auto start = static_cast<std::int64_t>(draw() % 10'000'000 + (late ? 10'000'000 : 0));
      const Bytes size{static_cast<std::int64_t>(1 + draw() % 60'000)};
      bed.flow_on(size, route, TimePoint{Duration::picoseconds(start)});
      plain.push_back({work_of(size), start, -1, route.hops, 0});
    }
    CHECK(bed.ends() == PlainFluid(capacities, plain).run());
  }
}

TEST_CASE("the same for components large enough to resume a filling") {
  for (std::uint64_t seed = 1000; seed < 1012; ++seed)
    compare(seed, 40 + seed % 20, 150, seed % 2 == 0);
}

namespace {

/// Flows between links close to each other on a ring of links, over a long time: components grow
/// together and fall apart.
void compare_on_ring(std::uint64_t seed, std::mt19937_64& draw, std::size_t links,
                     std::size_t flows, bool crowded) {
  Bed bed;
  std::vector<std::uint64_t> capacities;
  for (std::size_t i = 0; i < links; ++i) {
    const Rate rate = Rate::from_steps(40 + draw() % (seed % 2 == 0 ? 4 : 60));
    bed.link(rate);
    capacities.push_back(rate.steps());
  }
  std::vector<PlainFlow> plain;
  if (crowded) crowd(bed, capacities, plain);
  for (std::size_t i = 0; i < flows; ++i) {
    const auto first = static_cast<LinkId>(draw() % links);
    const auto near = static_cast<LinkId>((first + 1 + draw() % 5) % links);
    Route route;
    route.hops = {{first}, {near, kWeightUnit / (seed % 3 == 0 ? 1 + draw() % 3 : 1)}};
    const auto start = static_cast<std::int64_t>(draw() % 10'000'000'000'000'000);
    const Bytes size{static_cast<std::int64_t>(1 + draw() % 3)};
    bed.flow_on(size, route, TimePoint{Duration::picoseconds(start)});
    plain.push_back({work_of(size), start, -1, route.hops, 0});
  }
  CHECK(bed.ends() == PlainFluid(capacities, plain).run());
}

}  // namespace

TEST_CASE("the same where a change reaches only part of a component, with shares of few steps") {
  // Rounded down, a share of a few steps is often equal to another or a step beside it: whoever
  // freezes what matters then.
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 draw(seed / 2);
    const std::size_t links = 30 + draw() % 60;
    compare_on_ring(seed / 2, draw, links, 2 * links, seed % 2 == 1);
  }
}

TEST_CASE("the same where large components merge") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 draw(seed / 2);
    compare_on_ring(seed / 2, draw, 200, 400 + draw() % 200, seed % 2 == 1);
  }
}

TEST_CASE("the same for an all-to-all through one switch, where every flow crosses two ports") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::mt19937_64 draw(seed);
    const std::size_t hosts = 18;
    Bed bed;
    for (std::size_t i = 0; i < 2 * hosts; ++i) bed.link(50_GBps);
    std::vector<PlainFlow> plain;
    for (LinkId from = 0; from < hosts; ++from)
      for (LinkId to = 0; to < hosts; ++to) {
        if (from == to) continue;
        const Bytes size{static_cast<std::int64_t>(500'000 + draw() % 1'000'000)};
        bed.flow(size, {2 * from, 2 * to + 1});
        plain.push_back({work_of(size), 0, -1, {{2 * from}, {2 * to + 1}}, 0});
      }
    const auto expected =
        PlainFluid(std::vector<std::uint64_t>(2 * hosts, (50_GBps).steps()), plain).run();
    CHECK(bed.ends() == expected);
    CHECK(bed.result().solves > hosts * hosts / 2);  // ends really fall apart
  }
}

TEST_CASE("links told apart in the instant in which a flow leaves both") {
  // Two flows over links 0 and 1 have 1 GB/s each until the first, of 1000 B, ends at 1 us. One
  // over link 0 and a link of 0.5 GB/s follows it and takes 1 us for 500 B; meanwhile the other, of
  // 3000 B, has 1.5 GB/s, and 2 GB/s for its last 500 B.
  Network network;
  for (const Rate rate : {2_GBps, 2_GBps, Rate::bytes_per_second(500'000'000)})
    network.links.push_back({rate, {}, true});
  const Route both{{{0}, {1}}, {}, 1};
  const Route follower{{{0}, {2}}, {}, 1};
  const auto transport = make_fluid_transport(network);
  EventQueue queue;
  transport->start({.transfer = 0, .size = 1000_B}, both, queue);
  transport->start({.transfer = 1, .size = 3000_B}, both, queue);
  std::map<TransferId, std::int64_t> ends;
  while (!queue.empty()) {
    queue.advance();
    std::vector<TransferId> arrived;
    for (Event event; queue.pop_now(event);) transport->handle(event, queue, arrived);
    for (const TransferId id : arrived) {
      ends[id] = queue.now().ps();
      if (id == 0)
        transport->start({.transfer = 2, .size = 500_B, .at = queue.now()}, follower, queue);
    }
    for (Event event; queue.pop_now(event);) transport->handle(event, queue, arrived);
    transport->settle(queue);
  }
  CHECK(ends == std::map<TransferId, std::int64_t>{{0, 1'000'000}, {1, 2'250'000}, {2, 2'000'000}});
}
