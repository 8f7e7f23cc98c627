#include "topologies/failures/link_changes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/engine/replay.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/failures/reachability.hpp"
#include "topologies/failures/rerouted.hpp"
#include "topologies/in_network/switch_forest.hpp"
#include "topologies/routing/lower.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {
namespace {

LinkChange failed(const std::string& links) {
  LinkChange change;
  change.links = links;
  change.failed = true;
  return change;
}

Cluster without(const Cluster& cluster, const std::string& links) {
  return change_links(cluster, std::array{failed(links)}).cluster;
}

ChangedCluster set(const Cluster& cluster, const std::string& links, const std::string& settings) {
  return change_links(cluster, std::array{parse_link_settings(links, settings)});
}

template <class Make>
std::string error_of(Make&& make) {
  try {
    (void)make();
  } catch (const LinkChangeError& error) {
    return error.what();
  }
  return "accepted";
}

std::map<LinkId, Weight> shares(const Route& route) {
  std::map<LinkId, Weight> found;
  for (const Hop& hop : route.hops) found[hop.link] += hop.weight;
  return found;
}

/// How long one message takes that has the network to itself.
Duration time_of(const Cluster& cluster, EndpointId from, EndpointId to, Bytes size) {
  Activity send;
  send.kind = Activity::Kind::send;
  send.peer = to;
  send.size = size;
  Activity receive = send;
  receive.kind = Activity::Kind::receive;
  receive.peer = from;
  Workload workload;
  workload.streams.push_back({from, "sender", {send}});
  workload.streams.push_back({to, "receiver", {receive}});
  return replay(lower(cluster), workload, NetworkModel::fluid).end.since_start();
}

Cluster star(int hosts) {
  return build_cluster(call("star", {{"link", link_of(400_Gbps, 1_us)}}), std::nullopt,
                       ranks(hosts));
}

/// Leaves of four hosts, four spines.
Cluster fat_tree(int hosts) {
  return build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{8}}}),
                       std::nullopt, ranks(hosts));
}

Cluster dgx(int count) {
  return build_cluster(hgx("dgx_h100"), rails(), nodes(count));
}

// --- reading

TEST_CASE("settings of a link are read, and refused with what is allowed") {
  const LinkChange half = parse_link_settings("x", "bandwidth=50%, latency=5 us");
  CHECK(half.bandwidth_factor == 0.5);
  CHECK(half.latency == 5_us);
  CHECK(parse_link_settings("x", "bandwidth=25 GB/s").bandwidth == 25_GBps);
  CHECK(parse_link_settings("x", "bandwidth=12.5%").bandwidth_factor == 0.125);
  const auto refusal = [](const std::string& settings) {
    return error_of([&] { return parse_link_settings("x", settings); });
  };
  CHECK(refusal("bandwith=50%") ==
        "expected bandwidth=... or latency=..., got \"bandwith=50%\"; did you mean \"bandwidth\"?");
  CHECK(refusal("bandwidth=50") ==
        "bandwidth: expected a share such as 50% or a rate such as \"25 GB/s\", got \"50\"");
  CHECK(refusal("bandwidth=0%") ==
        "bandwidth: expected 0.001% to 10000%, got \"0%\"; --fail takes a link away");
  CHECK(refusal("bandwidth=5.0.1%").find("expected a share") != std::string::npos);
  CHECK(refusal("bandwidth=.%").find("expected a share") != std::string::npos);
  CHECK(refusal("latency=2 s").find("at most 1 s") != std::string::npos);
  CHECK(refusal("latency=1 us,latency=2 us") == "latency is given twice");
  CHECK(refusal("").find("expected bandwidth=... or latency=...") == 0);
  CHECK(refusal("bandwidth=50%,").find("expected bandwidth=... or latency=...") == 0);
}

TEST_CASE("links are named by their ends, by a vertex or by a node") {
  const Cluster cluster = dgx(2);
  const auto note = [&](const std::string& links) {
    return describe(change_links(cluster, std::array{failed(links)}).effects.at(0));
  };
  CHECK(note("node0/gpu3 -> node0/nvswitch0") == "node0/gpu3 -> node0/nvswitch0 failed");
  CHECK(note("node0/gpu3->node0/nvswitch0") == "node0/gpu3 -> node0/nvswitch0 failed");
  CHECK(note(" node0/gpu3--node0/nvswitch0 ") == "node0/gpu3 -- node0/nvswitch0 failed: 2 links");
  CHECK(note("rail0/leaf0") == "rail0/leaf0 failed: 4 links");  // two nodes, both ways
  CHECK(note("rail0") == "rail0 failed: 4 links");              // of all its switches
  CHECK(note("node1/nic2") == "node1/nic2 failed: 4 links");    // PCIe and the cable
  // 8 NVLinks, 8 + 8 + 8 PCIe links, one between the sockets, 8 cables; both ways.
  CHECK(note("node1") == "node1 failed: 82 links");
  CHECK(change_links(cluster, std::array{failed("rail0/leaf0")}).cluster.overlay().all().size() ==
        4);
}

TEST_CASE("a name that nothing has is refused with the one that was meant") {
  const Cluster cluster = dgx(2);
  const auto refusal = [&](const std::string& links) {
    return error_of([&] { return without(cluster, links); });
  };
  CHECK(refusal("rial0") == "nothing is named \"rial0\"; did you mean \"rail0\"?");
  CHECK(refusal("node0/gpu33") == "nothing is named \"node0/gpu33\"; did you mean \"node0/gpu3\"?");
  CHECK(refusal("node0/gpu3 -> node0/nvswitch1") ==
        "nothing is named \"node0/nvswitch1\"; did you mean \"node0/nvswitch0\"?");
  CHECK(refusal("node0/gpu3 -> node0/gpu4") ==
        "no link joins \"node0/gpu3\" to \"node0/gpu4\"; from \"node0/gpu3\" links lead to "
        "node0/nvswitch0, node0/pcie_switch3");
  CHECK(refusal("?") ==
        "nothing is named \"?\"; there are node0/gpu0, node0/nvswitch0, node0/pcie_switch0, "
        "node0/cpu0, node0/nic0, rail0/leaf0 and so on");
}

// --- slower, later

TEST_CASE("a slower link takes its time, and says what it was") {
  const Cluster before = star(4);
  // 1 MB at 50 GB/s and two links of 1 us.
  CHECK(time_of(before, 0, 1, 1'000'000_B) == 22_us);
  const auto [half, effects] = set(before, "gpu0 -> leaf0", "bandwidth=50%");
  CHECK(describe(effects.at(0)) == "gpu0 -> leaf0: 50 GB/s -> 25 GB/s");
  CHECK(time_of(half, 0, 1, 1'000'000_B) == 42_us);
  CHECK(time_of(half, 1, 0, 1'000'000_B) == 22_us);  // the other direction is as it was
  CHECK(time_of(half, 2, 3, 1'000'000_B) == 22_us);
  CHECK(half.link(0).figures.carried() == 25_GBps);
  CHECK(half.built_link(0).figures.carried() == 50_GBps);

  const auto [both, more] =
      set(before, "gpu0--leaf0", "bandwidth=10 GB/s,latency=" + to_string(5_us));
  CHECK(describe(more.at(0)) == "gpu0 -- leaf0: 2 links, 50 GB/s -> 10 GB/s, latency 1 us -> 5 us");
  CHECK(time_of(both, 0, 1, 1'000'000_B) == 106_us);  // 100 us, 5 us, 1 us
  CHECK(time_of(both, 1, 0, 1'000'000_B) == 106_us);
}

TEST_CASE("bandwidth is what is carried, changes act on what the ones before left") {
  LinkFigures pcie = link_of(64_GBps, 1_us);
  pcie.efficiency = 0.75;
  const Cluster before = build_cluster(call("ring", {{"link", pcie}}), std::nullopt, ranks(4));
  const std::array changes{parse_link_settings("gpu0", "bandwidth=50%"),
                           parse_link_settings("gpu0 -> gpu1", "bandwidth=50%"),
                           parse_link_settings("gpu0 -> gpu1", "latency=2 us"), failed("gpu2")};
  const auto [after, effects] = change_links(before, changes);
  std::vector<std::string> notes;
  for (const LinkEffect& effect : effects) notes.push_back(describe(effect));
  CHECK(notes == std::vector<std::string>{
                     "gpu0: 4 links, 48 GB/s -> 24 GB/s", "gpu0 -> gpu1: 24 GB/s -> 12 GB/s",
                     "gpu0 -> gpu1: latency 1 us -> 2 us", "gpu2 failed: 4 links"});
  CHECK(after.link(0).figures.carried() == 12_GBps);
  CHECK(after.link(0).figures.latency == 2_us);
  const auto mixed = set(dgx(1), "node0/gpu0", "bandwidth=50%,latency=1 us").effects;
  CHECK(describe(mixed.at(0)) == "node0/gpu0: 4 links, bandwidth to 50%, latency to 1 us");
  CHECK(error_of([&] { return set(before, "gpu0", "bandwidth=1 B/s"); }) == "accepted");
  const Cluster slow = set(before, "gpu0", "bandwidth=8 b/s").cluster;
  CHECK(error_of([&] {
          return set(slow, "gpu0", "bandwidth=0.001%");
        }).find("beyond what a link can have") != std::string::npos);
}

TEST_CASE("another latency moves no route, of a split one the slowest path counts") {
  const Cluster before = fat_tree(32);
  const Cluster after = set(before, "leaf0 -> spine2", "latency=9 us").cluster;
  const Route usual = route_of(*make_router(before), 0, 31);
  const Route late = route_of(*make_router(after), 0, 31);
  CHECK(shares(late) == shares(usual));
  CHECK(usual.latency == 4_us);
  CHECK(late.latency == 12_us);  // 1 + 9 + 1 + 1
  const auto shortest = make_router(after, RoutePolicy::shortest);
  CHECK(route_of(*shortest, 0, 31).latency == 4_us);  // over spine 0
  CHECK(route_of(*make_router(after), 8, 31).latency == 4_us);
}

// --- failed

TEST_CASE("a failed link is avoided: the paths that are left share evenly") {
  const Cluster before = fat_tree(32);
  const Cluster after = without(before, "leaf0 -> spine2");
  const auto router = make_router(after);
  const Route left = route_of(*router, 0, 31);
  CHECK(left.paths == 3);
  CHECK(left.hops[1].weight == kWeightUnit / 3);
  CHECK(left.latency == 4_us);
  CHECK(walk(after, left).find("spine2") == std::string::npos);
  CHECK(route_of(*router, 31, 0).paths == 4);  // the other direction works
  CHECK(shares(route_of(*router, 8, 31)) == shares(route_of(*make_router(before), 8, 31)));
  CHECK_FALSE(first_cut_off(after));
  // The host link limits, 25 GB/s, before and after: 1 MB in 40 us.
  CHECK(time_of(after, 0, 31, 1'000'000_B) == 44_us);
  // All four uplinks but one: one path of 25 GB/s.
  Cluster last = after;
  for (const char* spine : {"spine0", "spine1"}) last = without(last, spine);
  CHECK(route_of(*make_router(last), 0, 31).paths == 1);
}

TEST_CASE("a ring goes the other way round, and breaks with the second failure") {
  const Cluster ring = direct("ring", 8);
  const Cluster once = without(ring, "gpu1--gpu2");
  CHECK(walk(once, route_of(*make_router(once), 1, 2)) ==
        "gpu1 gpu0 gpu7 gpu6 gpu5 gpu4 gpu3 gpu2");
  CHECK_FALSE(first_cut_off(once));
  const Cluster twice = without(once, "gpu4 -> gpu5");
  // From 2 on clockwise the way ends at 4.
  CHECK(first_cut_off(twice) == std::pair<EndpointId, EndpointId>{2, 0});
  const auto [left, effects] = change_links(
      ring, std::array{parse_link_settings("gpu1 -> gpu2", "bandwidth=50%"), failed("gpu1--gpu2")});
  CHECK(walk(left, route_of(*make_router(left), 1, 2)).size() > 20);
}

TEST_CASE("a GPU without NVLink goes over PCIe") {
  const Cluster after = without(dgx(2), "node0/gpu3--node0/nvswitch0");
  const auto router = make_router(after);
  CHECK(walk(after, route_of(*router, 3, 0)) ==
        "node0/gpu3 node0/pcie_switch3 node0/cpu0 node0/pcie_switch0 node0/gpu0");
  CHECK(walk(after, route_of(*router, 2, 0)) == "node0/gpu2 node0/nvswitch0 node0/gpu0");
  // On another rail than its own it cannot go over that rail's GPU any longer.
  CHECK(walk(after, route_of(*router, 3, 8)) ==
        "node0/gpu3 node0/pcie_switch3 node0/cpu0 node0/pcie_switch0 node0/nic0 rail0/leaf0 "
        "node1/nic0 node1/pcie_switch0 node1/gpu0");
  CHECK_FALSE(switch_forest(after, SwitchTier::nvswitch));
  CHECK(switch_forest(after, SwitchTier::fabric));
  CHECK_FALSE(first_cut_off(after));
}

TEST_CASE("a NIC gone: other rails, over the shortest of the remaining routes") {
  const Cluster before = dgx(2);
  const Cluster after = without(before, "node1/nic3");
  const auto router = make_router(after);
  // On its own rail GPU 0 needs no NVLink: 8 links, where over rails 1 and 2 it takes 10.
  const Route route = route_of(*router, 0, 8 + 3);
  CHECK(walk(after, route) ==
        "node0/gpu0 node0/pcie_switch0 node0/nic0 rail0/leaf0 node1/nic0 node1/pcie_switch0 "
        "node1/cpu0 node1/pcie_switch3 node1/gpu3");
  // GPU 3 has no rail of its own left: over those of its peer's socket alike, by NVLink.
  const Route split = route_of(*router, 3, 8 + 3);
  CHECK(split.paths == 3);
  CHECK(path_length(split) == 10);
  CHECK(split.latency == 3 * 2 * 500_ns + 2 * 300_ns + 2 * 1_us);
  const Weight third = kWeightUnit / 3;
  for (const auto& [link, weight] : shares(split)) {
    const bool shared = weight == kWeightUnit;  // the first link, and the last two
    CHECK((shared || weight == third));
  }
  CHECK(bottleneck(after, split)->rate == 64_GBps);
  // 64 MB at 64 GB/s, then 5.6 us; before, 4 us over the own rail at 50 GB/s.
  CHECK(time_of(after, 3, 11, 64'000'000_B) == 1'000_us + 5'600_ns);
  CHECK(time_of(before, 3, 11, 64'000'000_B) == 1'280_us + 4_us);
  CHECK_FALSE(first_cut_off(after));
  CHECK_FALSE(switch_forest(after, SwitchTier::fabric));
  // Who had nothing to do with it goes as before.
  for (const auto& [from, to] : {std::pair{0, 8}, {4, 13}, {11, 9}, {9, 2}}) {
    CHECK(shares(route_of(*router, from, to)) == shares(route_of(*make_router(before), from, to)));
  }
  const auto hashed = make_router(after, RoutePolicy::ecmp, 1);
  const auto lowest = make_router(after, RoutePolicy::shortest);
  CHECK(route_of(*hashed, 3, 11).paths == 1);
  CHECK(walk(after, route_of(*lowest, 3, 11)).find("rail0/leaf0") != std::string::npos);
}

TEST_CASE("a leaf gone: its rail's traffic moves, one direction of a cable at a time") {
  const Cluster after = without(dgx(4), "rail5/leaf0");
  CHECK_FALSE(first_cut_off(after));
  const Route route = route_of(*make_router(after), 5, 8 + 5);
  CHECK(walk(after, route).find("rail5") == std::string::npos);
  const Cluster one_way = without(dgx(4), "node0/nic5 -> rail5/leaf0");
  CHECK(walk(one_way, route_of(*make_router(one_way), 5, 13)).find("rail5") == std::string::npos);
  CHECK(walk(one_way, route_of(*make_router(one_way), 13, 5)) ==
        walk(dgx(4), route_of(*make_router(dgx(4)), 13, 5)));
}

TEST_CASE("ranks without a route are found, whichever links are gone") {
  CHECK_FALSE(first_cut_off(dgx(2)));
  CHECK(first_cut_off(without(dgx(2), "node0/gpu0")) == std::pair<EndpointId, EndpointId>{0, 1});
  CHECK(first_cut_off(without(star(4), "gpu2 -> leaf0")) ==
        std::pair<EndpointId, EndpointId>{2, 0});
  CHECK(first_cut_off(without(star(4), "leaf0 -> gpu2")) ==
        std::pair<EndpointId, EndpointId>{0, 2});
  // Two nodes that keep different rails only.
  Cluster apart = dgx(2);
  for (int rail = 0; rail < 8; ++rail) {
    const std::string node = rail < 4 ? "node0/nic" : "node1/nic";
    apart = without(apart, node + std::to_string(rail));
  }
  CHECK(first_cut_off(apart) == std::pair<EndpointId, EndpointId>{0, 8});
  // A leaf without its uplinks: its hosts still reach one another.
  Cluster island = fat_tree(32);
  for (const char* spine : {"spine0", "spine1", "spine2", "spine3"})
    island = without(island, std::string{"leaf7--"} + spine);
  CHECK(first_cut_off(island)->first / 4 != first_cut_off(island)->second / 4);
  CHECK(walk(island, route_of(*make_router(island), 28, 31)) == "gpu28 leaf7 gpu31");
  CHECK_FALSE(switch_forest(island, SwitchTier::fabric));
  // A graph too large for looking at every pair; its GPUs pass nothing on.
  const Cluster mesh = without(direct("full_mesh", 300), "gpu251 -> gpu17");
  CHECK(first_cut_off(mesh) == std::pair<EndpointId, EndpointId>{251, 17});
}

/// The search through everything as one graph knows nothing of segments.
TEST_CASE("with any links of a fabric gone, routes are those of a search through what is left") {
  const Cluster three_levels =
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
                    std::nullopt, ranks(16));
  const Cluster boxes = build_cluster(
      hgx("summit"), call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{4}}}),
      nodes(4));
  for (const Cluster& cluster : {three_levels, boxes}) {
    std::uint64_t state = 1;
    for (int round = 0; round < 20; ++round) {
      std::vector<LinkState> gone;
      for (LinkId id = 0; id < cluster.link_count(); ++id) {
        const ClusterLink link = cluster.built_link(id);
        state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
        const bool in_fabric =
            cluster.vertex(link.from).node < 0 && cluster.vertex(link.to).node < 0;
        if (in_fabric && state >> 61U == 0) gone.push_back({id, link.figures, true, false});
      }
      const Cluster after = cluster.with(LinkOverlay{gone});
      const auto router = make_router(after);
      const auto searched = make_router(flattened(after));
      std::optional<std::pair<EndpointId, EndpointId>> apart;
      for (int from = 0; from < cluster.ranks(); ++from) {
        for (int to = 0; to < cluster.ranks(); ++to) {
          const Route ours = route_of(*router, from, to);
          const Route theirs = route_of(*searched, from, to);
          if (ours.paths == 0 && !apart) apart = {from, to};
          REQUIRE(ours.paths == theirs.paths);
          if (ours.paths != 0) REQUIRE(shares(ours) == shares(theirs));
        }
      }
      CHECK(first_cut_off(after).has_value() == apart.has_value());
      CHECK(first_cut_off(flattened(after)) == apart);
    }
  }
}

/// Outlines leave out the links of each bundle but one, and nothing else: all links of a bundle
/// have the weight of its representative.
void check_outlines(const Cluster& cluster) {
  const auto router = make_router(cluster);
  REQUIRE(router->has_outlines());
  std::size_t left_out = 0;
  for (EndpointId from = 0; from < static_cast<EndpointId>(cluster.ranks()); ++from) {
    for (EndpointId to = 0; to < static_cast<EndpointId>(cluster.ranks()); ++to) {
      Route whole;
      Route outline;
      REQUIRE(router->route(from, to, whole));
      REQUIRE(router->outline(from, to, outline));
      CHECK(outline.latency == whole.latency);
      CHECK(outline.paths == whole.paths);
      const std::map<LinkId, Weight> kept = shares(outline);
      std::size_t representatives = 0;
      for (const auto& [link, weight] : shares(whole)) {
        const auto found = kept.find(router->stands_for(link));
        REQUIRE(found != kept.end());
        CHECK(found->second == weight);
        representatives += router->stands_for(link) == link;
      }
      CHECK(kept.size() == representatives);
      left_out += whole.hops.size() - outline.hops.size();
    }
  }
  CHECK(left_out > 0);
}

TEST_CASE("routes have outlines while no link between switches has failed") {
  const Cluster cluster = build_cluster(
      hgx("dgx_h100"), call("rail_optimised", {{"link", plain_link()}, {"radix", std::int64_t{8}}}),
      nodes(12));
  check_outlines(cluster);
  check_outlines(without(cluster, "node1/nic1"));
  check_outlines(without(cluster, "node0/gpu3 -> node0/nvswitch0"));
  CHECK_FALSE(make_router(without(cluster, "rail0/leaf0 -> rail0/spine0"))->has_outlines());
}

}  // namespace
TEST_CASE("how many routes lead elsewhere, and how many over what is slower, is reported") {
  // A circle of eight hosts: of ways of 1, 2, 3 and, split over both sides, 4 hops clockwise every
  // link is on so many.
  const Cluster ring = direct("ring", 8);
  const auto gone = rerouted(without(ring, "gpu0 -> gpu1"), RoutePolicy::automatic, 0);
  REQUIRE(gone.has_value());
  CHECK(gone->pairs == 56);
  CHECK(gone->moved == 10);
  CHECK(gone->over == 0);
  const Cluster slow = set(ring, "gpu0 -> gpu1", "bandwidth=50%").cluster;
  const auto slower = rerouted(slow, RoutePolicy::automatic, 0);
  REQUIRE(slower.has_value());
  CHECK(slower->moved == 0);
  CHECK(slower->over == 10);
  CHECK(describe(*slower, slow) ==
        "10 of 56 rank-to-rank routes unchanged but cross modified links, the first from gpu0 to "
        "gpu1");
  CHECK_FALSE(rerouted(ring, RoutePolicy::automatic, 0).has_value());
}

}  // namespace lockstep
