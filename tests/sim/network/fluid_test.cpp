#include <doctest/doctest.h>

#include "sim/network/share_error.hpp"
#include "tests/sim/engine/bed.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {
std::vector<std::int64_t> microseconds(std::initializer_list<std::int64_t> values) {
  std::vector<std::int64_t> out;
  for (const std::int64_t value : values) out.push_back(value * kMicrosecond);
  return out;
}
}  // namespace

TEST_CASE("a flow alone runs at the smallest bandwidth on its route") {
  // 12 kB over links of 6, 2 and 3 GB/s: 12/2 = 6 us.
  Bed bed;
  const std::vector<LinkId> path = {bed.link(6_GBps), bed.link(2_GBps), bed.link(3_GBps)};
  bed.flow(kilobytes(12), path);
  CHECK(bed.ends() == microseconds({6}));
}

TEST_CASE("n flows on one link get a fair share each, and what one leaves the others take over") {
  // 6 GB/s, three flows of 4, 8 and 12 kB. At 2 GB/s each the first ends at 2 us; 4 and 8 kB are
  // left, at 3 GB/s each the second ends at 2 + 4/3 us; 4 kB left at 6 GB/s: 10/3 + 2/3 = 4 us.
  Bed bed;
  const LinkId link = bed.link(6_GBps);
  bed.flow(kilobytes(4), {link});
  bed.flow(kilobytes(8), {link});
  bed.flow(kilobytes(12), {link});
  const auto ends = bed.ends();
  CHECK(ends[0] == 2 * kMicrosecond);
  CHECK(ends[1] == 3'333'333);
  CHECK(std::abs(ends[2] - 4 * kMicrosecond) <= 1);
}

TEST_CASE("a flow limited elsewhere leaves its share to the others") {
  // Link A 10 GB/s carries x and y, link B 2 GB/s carries y alone: level 2 freezes y on B, then x
  // gets 10 - 2 = 8 on A. x: 16 kB / 8 = 2 us. y: 4 kB / 2 = 2 us.
  Bed bed;
  const LinkId a = bed.link(10_GBps);
  const LinkId b = bed.link(2_GBps);
  bed.flow(kilobytes(16), {a});
  bed.flow(kilobytes(4), {a, b});
  CHECK(bed.ends() == microseconds({2, 2}));
}

TEST_CASE("the parking lot: one long flow against one short flow on every link") {
  // Links of 6 GB/s; the long flow crosses all three, one short flow each. Every link has two
  // flows, level 3 freezes all: 12 kB each end at 4 us.
  Bed bed;
  const std::vector<LinkId> links = {bed.link(6_GBps), bed.link(6_GBps), bed.link(6_GBps)};
  bed.flow(kilobytes(12), links);
  for (const LinkId link : links) bed.flow(kilobytes(12), {link});
  CHECK(bed.ends() == microseconds({4, 4, 4, 4}));
}

TEST_CASE("three levels, each set by another link") {
  // A 3 GB/s: f1 f2 f3 -> level 1 for all three. B 5 GB/s: f1 f4 f5 -> (5-1)/2 = 2 for f4 f5.
  // C 10 GB/s: f2 f4 f6 -> 10 - 1 - 2 = 7 for f6.
  // Sizes 4 us at those rates: f1..f3 4 kB, f4 f5 8 kB, f6 28 kB; all end at 4 us.
  Bed bed;
  const LinkId a = bed.link(3_GBps);
  const LinkId b = bed.link(5_GBps);
  const LinkId c = bed.link(10_GBps);
  bed.flow(kilobytes(4), {a, b});
  bed.flow(kilobytes(4), {a, c});
  bed.flow(kilobytes(4), {a});
  bed.flow(kilobytes(8), {b, c});
  bed.flow(kilobytes(8), {b});
  bed.flow(kilobytes(28), {c});
  CHECK(bed.ends() == microseconds({4, 4, 4, 4, 4, 4}));
}

TEST_CASE("a flow that joins slows the others from then on, and only those it meets") {
  // A 4 GB/s: x (16 kB) alone for 2 us (8 kB done), then shares with y: 2 GB/s each.
  // x has 8 kB left: ends at 2 + 4 = 6 us. y (4 kB) ends at 2 + 2 = 4 us; from 4 us x is alone
  // again with 4 kB left: ends at 4 + 1 = 5 us. z on B is not touched: 12 kB / 4 = 3 us.
  Bed bed;
  const LinkId a = bed.link(4_GBps);
  const LinkId b = bed.link(4_GBps);
  bed.flow(kilobytes(16), {a});
  bed.flow(kilobytes(4), {a}, at_us(2));
  bed.flow(kilobytes(12), {b});
  CHECK(bed.ends() == microseconds({5, 4, 3}));
}

TEST_CASE("components that a joining flow connects are solved as one and fall apart again") {
  // x on A, y on B (4 GB/s each), 20 kB each. At 1 us z (4 kB) crosses both: everyone 2 GB/s.
  // z ends at 3 us; x and y then have 20 - 4 - 4 = 12 kB left at 4 GB/s: 6 us.
  Bed bed;
  const LinkId a = bed.link(4_GBps);
  const LinkId b = bed.link(4_GBps);
  bed.flow(kilobytes(20), {a});
  bed.flow(kilobytes(20), {b});
  bed.flow(kilobytes(4), {a, b}, at_us(1));
  CHECK(bed.ends() == microseconds({6, 6, 3}));
}

TEST_CASE("links at the lowest level freeze together, so the order of links does not matter") {
  // Shares are floored: on 1 GB/s three flows get floor(65536e9/3) steps each. Two such links that
  // share a flow freeze at that level both; with the links the other way round nothing changes.
  for (const bool swapped : {false, true}) {
    Bed bed;
    const LinkId first = bed.link(1_GBps);
    const LinkId second = bed.link(1_GBps);
    const LinkId a = swapped ? second : first;
    const LinkId b = swapped ? first : second;
    bed.flow(kilobytes(3), {a, b});
    bed.flow(kilobytes(3), {a});
    bed.flow(kilobytes(3), {a});
    bed.flow(kilobytes(3), {b});
    bed.flow(kilobytes(3), {b});
    CHECK(bed.ends() == microseconds({9, 9, 9, 9, 9}));
  }
}

TEST_CASE("a transfer split over k paths uses 1/k of each") {
  // Two paths of 1 GB/s behind a port of 4 GB/s: the flow gets 2 GB/s, 8 kB end at 4 us.
  // A rival of 3 kB on the first path: fair shares r of both with r/2 + r = 1 -> r = 2/3 GB/s.
  // The rival ends at 3/(2/3) = 4.5 us, by when the split flow has moved 3 kB; the other 5 kB at
  // 2 GB/s: 4.5 + 2.5 = 7 us.
  const auto run = [](bool rival) {
    Bed bed;
    const LinkId port = bed.link(4_GBps);
    const LinkId up = bed.link(1_GBps);
    const LinkId down = bed.link(1_GBps);
    Route route;
    route.paths = 2;
    route.hops = {{port, kWeightUnit}, {up, kWeightUnit / 2}, {down, kWeightUnit / 2}};
    bed.flow_on(kilobytes(8), route);
    if (rival) bed.flow(kilobytes(3), {up});
    return bed.ends();
  };
  CHECK(run(false) == microseconds({4}));
  const auto ends = run(true);
  CHECK(std::abs(ends[0] - 7 * kMicrosecond) <= 1);
  CHECK(std::abs(ends[1] - 4'500'000) <= 1);
}

TEST_CASE("a representative of m flows counts m times on a link") {
  // DEFINITIONS of folding: shares added up one by one equal a share times its multiplicity.
  Bed folded;
  const LinkId link = folded.link(7_GBps);
  Route three;
  three.hops = {{link, 3 * kWeightUnit}};
  folded.flow_on(kilobytes(5), three);
  folded.flow(kilobytes(9), {link});
  Bed full;
  const LinkId same = full.link(7_GBps);
  for (int i = 0; i < 3; ++i) full.flow(kilobytes(5), {same});
  full.flow(kilobytes(9), {same});
  const auto expected = full.ends();
  CHECK(folded.ends() == std::vector<std::int64_t>{expected[0], expected[3]});
}

TEST_CASE("latency is paid once and overlaps with other transfers") {
  // 2 us + 3 us of latency, then 10 kB at 5 GB/s: 7 us. A second flow of the same kind does not
  // wait for the first one's latency: both flow from 5 us at 2.5 GB/s: 9 us.
  Bed bed;
  const std::vector<LinkId> path = {bed.link(5_GBps, 2_us), bed.link(5_GBps, 3_us)};
  bed.flow(kilobytes(10), path);
  CHECK(bed.ends() == microseconds({7}));
  bed.flow(kilobytes(10), path);
  CHECK(bed.ends() == microseconds({9, 9}));
}

TEST_CASE("nothing to carry costs the latency alone") {
  Bed bed;
  const std::vector<LinkId> path = {bed.link(5_GBps, 2_us), bed.link(5_GBps, 3_us)};
  bed.flow(Bytes{0}, path);
  for (const NetworkModel model :
       {NetworkModel::fluid, NetworkModel::alpha_beta, NetworkModel::queue})
    CHECK(bed.ends(model) == microseconds({5}));
}

TEST_CASE("alpha-beta: only ports limit, and a transfer is capped by its route's smallest link") {
  // Ports 4 GB/s, a shared middle of 3 GB/s. Fluid: both flows get 1.5 GB/s in the middle:
  // 6 kB end at 4 us. Alpha-beta: the middle takes no shares, but caps each at 3 GB/s: 2 us.
  Bed bed;
  const LinkId middle = bed.link(3_GBps, {}, false);
  const LinkId in1 = bed.link(4_GBps);
  const LinkId in2 = bed.link(4_GBps);
  bed.flow(kilobytes(6), {in1, middle});
  bed.flow(kilobytes(6), {in2, middle});
  CHECK(bed.ends(NetworkModel::fluid) == microseconds({4, 4}));
  CHECK(bed.ends(NetworkModel::alpha_beta) == microseconds({2, 2}));
  // A port shared by two flows limits in both models: 4 GB/s for two of 4 kB each is 2 us.
  Bed port;
  const LinkId shared = port.link(4_GBps);
  port.flow(kilobytes(4), {shared});
  port.flow(kilobytes(4), {shared});
  CHECK(port.ends(NetworkModel::alpha_beta) == microseconds({2, 2}));
}

TEST_CASE("alpha-beta caps come and go without disturbing each other") {
  // Caps of 1 and 2 GB/s behind a port of 4 GB/s with a third, uncapped flow: 1, 2 and 1... the
  // port's fair share is 4/3; the first is capped at 1, the rest share 3: 1.5 each.
  // 3 kB at 1: 3 us. The second, 3 kB at 1.5: 2 us; the third, 6 kB: 3 kB by 2 us, then
  // 4 - 1 = 3 GB/s: 3 us.
  Bed bed;
  const LinkId port = bed.link(4_GBps);
  const LinkId slow = bed.link(1_GBps, {}, false);
  const LinkId middling = bed.link(2_GBps, {}, false);
  bed.flow(kilobytes(3), {port, slow});
  bed.flow(kilobytes(3), {port, middling});
  bed.flow(kilobytes(6), {port});
  CHECK(bed.ends(NetworkModel::alpha_beta) == microseconds({3, 2, 3}));
}

TEST_CASE("what each link carried is counted by weight") {
  Bed bed;
  const LinkId a = bed.link(4_GBps);
  const LinkId b = bed.link(4_GBps);
  bed.flow(kilobytes(4), {a, b});
  Route split;
  split.paths = 2;
  split.hops = {{a, kWeightUnit / 2}, {b, kWeightUnit / 2}};
  bed.flow_on(kilobytes(2), split);
  (void)bed.ends();
  CHECK(bed.result().link_bytes == std::vector<Bytes>{kilobytes(5), kilobytes(5)});
}

TEST_CASE("a flow that ends in a wide component, and another that has its link to itself at once") {
  // Links in a chain of long flows; one flow joins the last link to them until 2 us. What is there
  // then has that link to itself, and so has its successor from 4 us on.
  constexpr std::size_t kChain = 60;
  Network network;
  network.links.assign(kChain + 1, Link{1_GBps, {}, true});
  const auto routes = std::make_shared<ListedRoutes>();
  Workload workload;
  const auto talk = [&](const std::vector<Hop>& hops, std::vector<Bytes> sizes, Duration start) {
    const auto from = static_cast<EndpointId>(network.endpoints.size());
    network.endpoints.resize(network.endpoints.size() + 2);
    routes->routes[{from, from + 1}] = {hops, {}, 1};
    Activity wait;
    wait.duration = start;
    Stream sender{from, "sender", {wait}};
    Stream receiver{from + 1, "receiver", {wait}};
    for (const Bytes size : sizes) {
      Activity message;
      message.size = size;
      message.kind = Activity::Kind::send;
      message.peer = from + 1;
      sender.operations.push_back(message);
      message.kind = Activity::Kind::receive;
      message.peer = from;
      receiver.operations.push_back(message);
    }
    workload.streams.push_back(std::move(sender));
    workload.streams.push_back(std::move(receiver));
    return workload.streams.size() - 1;
  };
  for (LinkId link = 0; link + 1 < kChain; ++link) talk({{link}, {link + 1}}, {1_MiB}, Duration{});
  talk({{0}, {kChain}}, {1000_B}, Duration{});
  const std::size_t pair = talk({{kChain}}, {3000_B, 5000_B}, Duration{});
  const std::size_t late = talk({{kChain}}, {8000_B}, 5_us);
  network.router = routes;
  const ReplayResult result = replay(network, workload, NetworkModel::fluid);
  // 1000 bytes at a half, 2000 alone; then 1000 alone, and 4000 at a half beside the late flow,
  // which has 4000 left for itself.
  CHECK(result.stream_ends[pair][1].since_start() == 4_us);
  CHECK(result.stream_ends[pair][2].since_start() == 13_us);
  CHECK(result.stream_ends[late][1].since_start() == 17_us);
}

TEST_CASE("shares of less than a step are refused, near a change too") {
  // The first change of a wide component after which two flows share what is one step.
  Bed bed;
  for (LinkId link = 0; link < 60; ++link) bed.link(1_GBps);
  for (LinkId link = 0; link + 1 < 60; ++link) bed.flow(1_MiB, {link, link + 1});
  const LinkId narrow = bed.link(Rate::from_steps(1));
  bed.flow(1_B, {0, narrow});
  bed.flow(1_B, {1, narrow}, TimePoint{1_us});
  CHECK_THROWS_AS(static_cast<void>(bed.ends()), ShareError);
}
