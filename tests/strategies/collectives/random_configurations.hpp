#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "sim/schedule/workload.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/every_row.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/failures/reachability.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

/// Random collectives on random clusters, some of them damaged or with ranks that differ.
namespace lockstep::test {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_{seed} {}
  [[nodiscard]] std::size_t below(std::size_t most) {
    return static_cast<std::size_t>(random_() % most);
  }
  [[nodiscard]] bool one_in(std::size_t many) { return below(many) == 0; }
  template <typename T>
  [[nodiscard]] const T& of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937_64 random_;
};

/// Clusters of `ranks` single GPUs, or of nodes that hold them.
struct Fabric {
  std::string name;
  std::function<Cluster(int ranks, int hosts)> build;
};

inline ClusterSize sized(int ranks, int hosts) {
  return {std::nullopt, ranks, hosts};
}

inline const std::vector<Fabric>& fabrics() {
  const auto link = link_of(25_GBps, 700_ns);
  const auto alone = [link](const char* builder) {
    return [link, builder](int ranks, int hosts) {
      return build_cluster(call(builder, {{"link", link}}), std::nullopt, sized(ranks, hosts));
    };
  };
  const auto tree = [link](std::int64_t radix, std::int64_t levels) {
    return [=](int ranks, int hosts) {
      return build_cluster(call("fat_tree", {{"link", link}, {"radix", radix}, {"levels", levels}}),
                           std::nullopt, sized(ranks, hosts));
    };
  };
  const auto torus = [link](int ranks, int) {
    std::int64_t side = 1;
    for (std::int64_t d = 2; d * d <= ranks; ++d)
      if (ranks % d == 0) side = d;
    return build_cluster(
        call("torus_2d",
             {{"link", link}, {"shape", std::vector<std::int64_t>{side, ranks / side}}}),
        std::nullopt, {});
  };
  const auto rails = [](int ranks, int) {
    const auto fabric = call("rail_optimised", {{"link", link_of(50_GBps, 350_ns)},
                                                {"radix", std::int64_t{4}},
                                                {"hosts_per_leaf", std::int64_t{2}}});
    return build_cluster(hgx("dgx_h100"), fabric, {std::nullopt, ranks, 0});
  };
  const auto pods = [link](int ranks, int) {
    const auto fabric =
        call("fat_tree", {{"link", link}, {"radix", std::int64_t{8}}, {"levels", std::int64_t{2}}});
    return build_cluster(hgx("dgx_h100"), fabric, {std::nullopt, ranks, 0});
  };
  const auto rack = [link](int ranks, int) {
    const auto node = call("nvl72", {{"nvlink", link_of(900_GBps, 300_ns)},
                                     {"c2c", link_of(225_GBps, 500_ns)},
                                     {"pcie", link_of(64_GBps, 500_ns)}});
    return build_cluster(node, std::nullopt, {std::nullopt, ranks, 0});
  };
  static const std::vector<Fabric> all = {
      {"star", alone("star")},           {"ring", alone("ring")}, {"fat_tree", tree(4, 2)},
      {"three_levels", tree(4, 3)},      {"torus", torus},        {"rails", rails},
      {"full_mesh", alone("full_mesh")}, {"pods", pods},          {"rack", rack},
  };
  return all;
}

struct Configuration {
  std::string text;
  Network network;
  Workload workload;
  NetworkModel model = NetworkModel::fluid;
  AlgorithmInput input{};
};

inline std::optional<Cluster> build(const Fabric& fabric, int ranks, int hosts) {
  try {
    Cluster cluster = fabric.build(ranks, hosts);
    if (cluster.ranks() < ranks || cluster.auxiliary_ranks() < hosts) return std::nullopt;
    return cluster;
  } catch (const BuildError&) {
    return std::nullopt;  // not of this size
  }
}

/// None where some are cut off from others.
inline std::optional<Cluster> damaged(const Cluster& cluster, bool may_fail, Draws& draws,
                                      std::string& text) {
  if (!draws.one_in(3)) return cluster;
  const auto id = static_cast<LinkId>(draws.below(cluster.link_count()));
  LinkChange change{.links = cluster.link_name(id)};
  switch (draws.below(may_fail ? 3 : 2)) {
    case 0:
      change.bandwidth_factor = 0.37;
      text += " slower ";
      break;
    case 1:
      change.latency = 3_us;
      text += " later ";
      break;
    default:
      change.failed = true;
      text += " without ";
  }
  text += change.links;
  const Cluster out = change_links(cluster, std::vector<LinkChange>{change}).cluster;
  if (change.failed && first_cut_off(out)) return std::nullopt;
  return out;
}

/// Some rank is not like the others.
inline void add_straggler(Draws& draws, Configuration& out) {
  CollectiveCall& call = out.workload.calls.front();
  const std::size_t who = draws.below(call.members.size());
  Endpoint& endpoint = out.network.endpoints[call.members[who]];
  switch (draws.below(6)) {
    case 0:
      call.starts.assign(call.members.size(), TimePoint{});
      call.starts[who] = TimePoint{5_us};
      out.text += " late " + std::to_string(who);
      break;
    case 1:
      endpoint.message_overhead += 300_ns;
      out.text += " overhead " + std::to_string(who);
      break;
    case 2:
      endpoint.reduce_rate = 7_GBps;
      out.text += " reduces slowly " + std::to_string(who);
      break;
    case 3:
      call.starts.clear();
      for (std::size_t i = 0; i < call.members.size(); ++i)
        call.starts.emplace_back(
            Duration::picoseconds(static_cast<std::int64_t>(draws.below(3'000'000))));
      out.text += " skewed";
      break;
    default:
      break;
  }
}

inline Endpoint draw_endpoint(Draws& draws) {
  Endpoint out;
  if (draws.one_in(3)) out.message_overhead = 200_ns;
  if (draws.one_in(2)) out.reduce_rate = 90_GBps;
  if (draws.one_in(2)) out.copy_rate = 200_GBps;
  return out;
}

inline bool played_by_switches(const CollectiveAlgorithm& row) {
  return row.auxiliary_ranks == AuxiliaryRanks::node_switches ||
         row.auxiliary_ranks == AuxiliaryRanks::fabric_switches;
}

inline AlgorithmInput draw_input(const CollectiveAlgorithm& row, const Cluster& cluster, int n,
                                 Draws& draws) {
  AlgorithmInput out{.n = n};
  out.layout.per_node = std::max(1, std::min(cluster.gpus_per_node(), n));
  out.layout.dimensions = cluster.dimensions();
  const std::vector<AlgorithmInput> inputs = inputs_of(row, n);
  const AlgorithmInput& drawn = draws.of(inputs);
  out.arguments = drawn.arguments;
  out.root = drawn.root;
  const AlgorithmInput& more = draws.of(inputs);  // of another parameter, maybe
  out.arguments.insert(more.arguments.begin(), more.arguments.end());
  if (find_parameter(row, "chunks") != nullptr && draws.one_in(2))
    out.arguments["chunks"] = static_cast<std::int64_t>(2 + draws.below(8));
  return out;
}

inline std::vector<EndpointId> members_of(const CollectiveAlgorithm& row,
                                          const AlgorithmInput& input, const Cluster& cluster,
                                          const ReducingSwitches& switches) {
  std::vector<EndpointId> out(static_cast<std::size_t>(input.n));
  std::iota(out.begin(), out.end(), EndpointId{0});
  const auto auxiliary_ranks = static_cast<std::size_t>(auxiliary_ranks_of(row, input));
  if (played_by_switches(row)) {
    const auto all = switches.endpoints(row.auxiliary_ranks);
    REQUIRE(all.size() >= auxiliary_ranks);
    out.insert(out.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(auxiliary_ranks));
  } else {
    for (std::size_t i = 0; i < auxiliary_ranks; ++i)
      out.push_back(static_cast<EndpointId>(static_cast<std::size_t>(cluster.ranks()) + i));
  }
  return out;
}

/// What clusters are drawn from.
struct Choices {
  std::vector<std::string> fabrics;  // by name
  std::vector<int> ranks;
};

inline const Fabric& fabric_named(const std::string& name) {
  const std::vector<Fabric>& all = fabrics();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Fabric& each) { return each.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

/// None where what was drawn does not go together.
inline std::optional<Configuration> draw_configuration(const CollectiveAlgorithm& row,
                                                       const Choices& choices, Draws& draws) {
  const Fabric& fabric = fabric_named(draws.of(choices.fabrics));
  int n = draws.of(choices.ranks);
  auto cluster = build(fabric, n, 0);
  if (!cluster) return std::nullopt;
  if (played_by_switches(row)) n = cluster->ranks();  // switches are found for all
  AlgorithmInput input = draw_input(row, *cluster, n, draws);
  if (row.auxiliary_ranks == AuxiliaryRanks::hosts) {
    if (!validate(row, input).empty()) return std::nullopt;
    cluster = build(fabric, n, auxiliary_ranks_of(row, input));
    if (!cluster) return std::nullopt;
  }
  Configuration out{RowCase{&row, input}.name() + " on " + fabric.name, {}, {}};
  const auto ground =
      damaged(*cluster, row.auxiliary_ranks != AuxiliaryRanks::hosts, draws, out.text);
  if (!ground) return std::nullopt;
  const auto switches =
      played_by_switches(row) ? ReducingSwitches{*ground, true} : ReducingSwitches{};
  switches.add_to(input.layout);
  if (!validate(row, input).empty()) return std::nullopt;
  const RoutePolicy policy = draws.of(std::vector{RoutePolicy::automatic, RoutePolicy::automatic,
                                                  RoutePolicy::shortest, RoutePolicy::ecmp});
  out.network = lower_with_switches(*ground, switches.forests(), draw_endpoint(draws), policy);
  out.model = draws.one_in(3) ? NetworkModel::alpha_beta : NetworkModel::fluid;
  const SchedulePtr schedule = make_schedule(row, input);
  const Bytes size = draws.of(std::vector<Bytes>{0_B, 1_B, 1000_B, 100'003_B, 8_MiB, 64_MiB});
  CollectiveCall call{"call",
                      schedule,
                      {},
                      divide_message(size, *find_element_type("uint8"), schedule->blocks()).block};
  call.members = members_of(row, input, *ground, switches);
  out.workload.calls.push_back(std::move(call));
  out.text += " routes " + std::string{kRoutePolicyNames.at(static_cast<std::size_t>(policy))};
  out.text += out.model == NetworkModel::fluid ? " fluid" : " alpha-beta";
  out.text += " size " + std::to_string(size.count());
  add_straggler(draws, out);
  out.input = std::move(input);
  return out;
}

}  // namespace lockstep::test
