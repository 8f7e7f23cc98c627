#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "sim/symmetry/fold.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/every_row.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/failures/reachability.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

/// Folded and unfolded replays of random configurations: the same instants for every rank, the same
/// bytes on every link.
using namespace lockstep;

namespace {

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

ClusterSize sized(int ranks, int hosts) {
  return {std::nullopt, ranks, hosts};
}

const std::vector<Fabric>& fabrics() {
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

std::optional<Cluster> build(const Fabric& fabric, int ranks, int hosts) {
  try {
    Cluster cluster = fabric.build(ranks, hosts);
    if (cluster.ranks() < ranks || cluster.auxiliary_ranks() < hosts) return std::nullopt;
    return cluster;
  } catch (const BuildError&) {
    return std::nullopt;  // not of this size
  }
}

/// None where some are cut off from others.
std::optional<Cluster> damaged(const Cluster& cluster, bool may_fail, Draws& draws,
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
void add_straggler(Draws& draws, Configuration& out) {
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

Endpoint draw_endpoint(Draws& draws) {
  Endpoint out;
  if (draws.one_in(3)) out.message_overhead = 200_ns;
  if (draws.one_in(2)) out.reduce_rate = 90_GBps;
  if (draws.one_in(2)) out.copy_rate = 200_GBps;
  return out;
}

bool played_by_switches(const CollectiveAlgorithm& row) {
  return row.auxiliary_ranks == AuxiliaryRanks::node_switches ||
         row.auxiliary_ranks == AuxiliaryRanks::fabric_switches;
}

AlgorithmInput draw_input(const CollectiveAlgorithm& row, const Cluster& cluster, int n,
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

std::vector<EndpointId> members_of(const CollectiveAlgorithm& row, const AlgorithmInput& input,
                                   const Cluster& cluster, const ReducingSwitches& switches) {
  std::vector<EndpointId> out(static_cast<std::size_t>(input.n));
  std::iota(out.begin(), out.end(), EndpointId{0});
  const auto auxiliary_ranks = static_cast<std::size_t>(auxiliary_ranks_of(row, input));
  if (played_by_switches(row)) {
    const auto of_tier = switches.endpoints(row.auxiliary_ranks);
    REQUIRE(of_tier.size() == auxiliary_ranks);
    out.insert(out.end(), of_tier.begin(), of_tier.end());
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

const Fabric& fabric_named(const std::string& name) {
  const std::vector<Fabric>& all = fabrics();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Fabric& each) { return each.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

/// None where what was drawn does not go together.
std::optional<Configuration> draw_configuration(const CollectiveAlgorithm& row,
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

/// Branches, and whether some of them were replayed as one.
struct Compared {
  bool branches = false;
  bool branches_alike = false;
};

Compared compare(const Configuration& each) {
  Compared out;
  CAPTURE(each.text);
  const ReplayResult whole = replay(each.network, each.workload, each.model);
  for (const bool max_plus : {true, false}) {
    CAPTURE(max_plus);
    FoldOptions options;
    options.max_plus = max_plus;
    const FoldedReplay folded = replay_folded(each.network, each.workload, each.model, options);
    CAPTURE(folded.report.classes.size());
    CHECK(folded.report.folded);
    CHECK(whole.unfinished.empty());
    CHECK(folded.result.call_ends == whole.call_ends);
    CHECK(folded.result.link_bytes == whole.link_bytes);
    CHECK(folded.result.transfers == whole.transfers);
    CHECK(folded.result.end == whole.end);
    out.branches = folded.report.branches > 0;
    out.branches_alike = folded.report.branch_histories < folded.report.branches;
  }
  return out;
}

}  // namespace

TEST_CASE("folded and unfolded replays give the same instants and bytes") {
  Draws draws{2};
  Choices choices{{}, {2, 3, 4, 6, 8, 12, 16, 17, 24, 32, 48}};
  for (const Fabric& fabric : fabrics()) choices.fabrics.push_back(fabric.name);
  int played = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (played_by_switches(row)) continue;
    for (int turn = 0; turn < 24; ++turn) {
      const auto drawn = draw_configuration(row, choices, draws);
      if (!drawn) continue;
      compare(*drawn);
      ++played;
    }
  }
  CHECK(played > 500);
}

TEST_CASE("folded and unfolded replays agree where switches reduce") {
  Draws draws{3};
  const Choices in_nodes{{"rails", "pods", "rack"}, {2, 3, 6, 8, 16, 24, 32, 48, 64}};
  const Choices in_fabric{{"star", "fat_tree", "three_levels", "rails", "pods"},
                          {2, 3, 4, 8, 12, 16, 24, 32, 48, 64}};
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (!played_by_switches(row)) continue;
    const Choices& choices =
        row.auxiliary_ranks == AuxiliaryRanks::node_switches ? in_nodes : in_fabric;
    int played = 0;
    for (int turn = 0; turn < 160; ++turn) {
      const auto drawn = draw_configuration(row, choices, draws);
      if (!drawn) continue;
      compare(*drawn);
      ++played;
    }
    CAPTURE(row.name);
    CHECK(played > 50);
  }
}

/// Over several nodes a tree comes apart where a node's ranks hang on one of them.
TEST_CASE("folded and unfolded replays agree where parts of trees hang on one rank") {
  Draws draws{4};
  const Choices choices{{"torus", "rails", "rails", "pods"}, {16, 24, 32, 48, 64}};
  int with_branches = 0;
  int alike = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    const bool tree = row.name.find("binary_tree") != std::string_view::npos ||
                      row.name.find("binomial") != std::string_view::npos;
    for (int turn = 0; tree && turn < 24; ++turn) {
      const auto drawn = draw_configuration(row, choices, draws);
      if (!drawn) continue;
      const Compared compared = compare(*drawn);
      if (compared.branches) ++with_branches;
      if (compared.branches_alike) ++alike;
    }
  }
  CHECK(with_branches > 15);
  CHECK(alike > 10);
}

/// What hangs on a rank goes on while that rank waits for nothing of it, chunk after chunk, and its
/// transfers meet those of later chunks.
TEST_CASE("folded and unfolded replays of pipelines of many chunks give the same instants") {
  Draws draws{4};
  int pipelines = 0;
  int branches = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (played_by_switches(row) || row.auxiliary_ranks == AuxiliaryRanks::hosts) continue;
    for (int turn = 0; turn < 24; ++turn) {
      auto drawn =
          draw_configuration(row, {{"rails", "pods", "rack"}, {16, 24, 32, 40, 48}}, draws);
      if (!drawn) continue;
      CollectiveCall& call = drawn->workload.calls.front();
      AlgorithmInput input = drawn->input;
      input.arguments.insert_or_assign("chunks", ArgumentValue{std::int64_t{20 + 3 * turn}});
      if (!validate(row, input).empty()) continue;
      call.schedule = make_schedule(row, input);
      call.block =
          divide_message(16_MiB, *find_element_type("uint8"), call.schedule->blocks()).block;
      if (call.members.size() != static_cast<std::size_t>(call.schedule->ranks())) continue;
      ++pipelines;
      branches += compare(*drawn).branches ? 1 : 0;
    }
  }
  CHECK(pipelines > 80);
  CHECK(branches > 2);
}
