#include <doctest/doctest.h>

#include <functional>
#include <numeric>
#include <random>

#include "sim/fold/fold.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/every_row.hpp"
#include "tests/topologies/cluster_helpers.hpp"
#include "topologies/link_changes.hpp"
#include "topologies/lower.hpp"

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
  static const std::vector<Fabric> all = {
      {"star", alone("star")},           {"ring", alone("ring")}, {"fat_tree", tree(4, 2)},
      {"three_levels", tree(4, 3)},      {"torus", torus},        {"rails", rails},
      {"full_mesh", alone("full_mesh")},
  };
  return all;
}

struct Configuration {
  std::string text;
  Network network;
  Workload workload;
  NetworkModel model = NetworkModel::fluid;
};

std::optional<Cluster> build(const Fabric& fabric, int ranks, int hosts) {
  try {
    Cluster cluster = fabric.build(ranks, hosts);
    if (cluster.ranks() < ranks || cluster.helpers() < hosts) return std::nullopt;
    return cluster;
  } catch (const BuildError&) {
    return std::nullopt;  // not of this size
  }
}

Cluster damaged(Cluster cluster, Draws& draws, std::string& text) {
  if (!draws.one_in(3)) return cluster;
  const auto id = static_cast<LinkId>(draws.below(cluster.link_count()));
  LinkChange change{.links = cluster.link_name(id)};
  if (draws.one_in(2)) {
    change.bandwidth_factor = 0.37;
  } else {
    change.latency = 3_us;
  }
  text += " slower " + change.links;
  return change_links(cluster, std::vector<LinkChange>{change}).cluster;
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

Configuration configuration(const CollectiveAlgorithm& row, const AlgorithmInput& input,
                            const Cluster& cluster, int hosts, Draws& draws, std::string text) {
  Configuration out;
  out.text = std::move(text);
  const RoutePolicy policy = draws.one_in(3) ? RoutePolicy::shortest : RoutePolicy::automatic;
  out.network = lower(damaged(cluster, draws, out.text), draw_endpoint(draws), policy);
  out.model = draws.one_in(3) ? NetworkModel::alpha_beta : NetworkModel::fluid;
  const SchedulePtr schedule = make_schedule(row, input);
  const Bytes size = draws.of(std::vector<Bytes>{0_B, 1_B, 1000_B, 100'003_B, 8_MiB, 64_MiB});
  CollectiveCall call{
      "call", schedule, {}, lay_out(size, *find_element_type("uint8"), schedule->blocks()).block};
  for (int i = 0; i < input.n; ++i) call.members.push_back(static_cast<EndpointId>(i));
  for (int i = 0; i < hosts; ++i)
    call.members.push_back(static_cast<EndpointId>(cluster.ranks() + i));
  out.workload.calls.push_back(std::move(call));
  out.text += policy == RoutePolicy::automatic ? " split" : " single";
  out.text += out.model == NetworkModel::fluid ? " fluid" : " alpha-beta";
  out.text += " size " + std::to_string(size.count());
  add_straggler(draws, out);
  return out;
}

/// Whether parts that hang on one rank were replayed once for several.
bool compare(const Configuration& each) {
  bool branches = false;
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
    branches = folded.report.branch_histories < folded.report.branches;
  }
  return branches;
}

}  // namespace

TEST_CASE("folded and unfolded replays give the same instants and bytes") {
  Draws draws{2};
  int played = 0;
  int with_branches = 0;
  const std::vector<int> sizes{2, 3, 4, 6, 8, 12, 16, 17, 24, 32, 48};
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (row.helpers == Helpers::node_switches || row.helpers == Helpers::fabric_switches) continue;
    for (int turn = 0; turn < 24; ++turn) {
      const Fabric& fabric = draws.of(fabrics());
      const int n = draws.of(sizes);
      const auto plain = build(fabric, n, 0);
      if (!plain) continue;
      AlgorithmInput input{.n = n};
      input.layout.per_node = std::max(1, std::min(plain->gpus_per_node(), n));
      input.layout.dimensions = plain->dimensions();
      const std::vector<AlgorithmInput> inputs = inputs_of(row, n);
      const AlgorithmInput& drawn = draws.of(inputs);
      input.arguments = drawn.arguments;
      input.root = drawn.root;
      if (!validate(row, input).empty()) continue;
      const int hosts = helpers_of(row, input);
      const auto cluster = build(fabric, n, hosts);
      if (!cluster) continue;
      const RowCase named{&row, input};
      const bool branches = compare(
          configuration(row, input, *cluster, hosts, draws, named.name() + " on " + fabric.name));
      if (branches) ++with_branches;
      ++played;
    }
  }
  CHECK(played > 500);
  CHECK(with_branches > 0);
}
