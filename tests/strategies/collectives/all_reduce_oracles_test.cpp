#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/ring_order.hpp"
#include "strategies/collectives/schedules/trees/pipelined_tree.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// Facts that the papers state, or that follow by hand from what they describe.
using namespace lockstep;

namespace {

SchedulePtr make(std::string_view name, const AlgorithmInput& input) {
  return make_schedule(*find_algorithm(Collective::all_reduce, name), input);
}

/// What each pair exchanges in all, in blocks, by (from, to).
using BlocksByPair = std::map<std::pair<int, int>, std::int64_t>;

BlocksByPair traffic_of(const Schedule& schedule) {
  BlocksByPair traffic;
  ScheduleStep step;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
        step.clear();
        schedule.step(rank, lane, i, step);
        for (const Send& send : step.sends) traffic[{rank, send.peer}] += step.blocks_of(send);
      }
    }
  }
  return traffic;
}

/// What a rank sends (receives) that `counts` says to count, over the message.
template <typename Counts>
double sent(const Schedule& schedule, int rank, const Counts& counts) {
  std::int64_t blocks = 0;
  for (const auto& [pair, moved] : traffic_of(schedule))
    if (pair.first == rank && counts(pair.second)) blocks += moved;
  return static_cast<double>(blocks) / static_cast<double>(schedule.blocks());
}
template <typename Counts>
double received(const Schedule& schedule, int rank, const Counts& counts) {
  std::int64_t blocks = 0;
  for (const auto& [pair, moved] : traffic_of(schedule))
    if (pair.second == rank && counts(pair.first)) blocks += moved;
  return static_cast<double>(blocks) / static_cast<double>(schedule.blocks());
}
bool anybody(int) {
  return true;
}

/// The most that any rank sends, over the message.
double most_sent(const Schedule& schedule) {
  return static_cast<double>(measure(schedule)->sent_blocks) /
         static_cast<double>(schedule.blocks());
}

int depth_of(const InOrderTree& tree, int rank) {
  int depth = 0;
  while ((rank = tree.parent(rank)) >= 0) ++depth;
  return depth;
}

bool inner(const InOrderTree& tree, int rank) {
  return tree.left(rank) >= 0 || tree.right(rank) >= 0;
}

}  // namespace

TEST_CASE("the tree has depth ceil(lg n), and parents and children agree") {
  for (int n = 2; n <= 1024; ++n) {
    CAPTURE(n);
    const InOrderTree tree{n};
    int deepest = 0;
    int children = 0;
    for (int rank = 0; rank < n; ++rank) {
      deepest = std::max(deepest, depth_of(tree, rank));
      for (const int child : {tree.left(rank), tree.right(rank)}) {
        if (child < 0) continue;
        ++children;
        CHECK(tree.parent(child) == rank);
      }
    }
    CHECK(deepest == ceil_lg(n));
    CHECK(children == n - 1);
  }
}

TEST_CASE("ranks that are inner in both trees: none where n is even, one where it is odd") {
  for (int n = 3; n <= 1024; ++n) {
    CAPTURE(n);
    const InOrderTree tree{n};
    int both = 0;
    for (int rank = 0; rank < n; ++rank) {
      const int second = n % 2 == 0 ? n - 1 - rank : (rank + n - 1) % n;
      both += inner(tree, rank) && inner(tree, second) ? 1 : 0;
    }
    CHECK(both == n % 2);
  }
}

TEST_CASE("nobody sends more than twice the message in two trees") {
  for (int n = 2; n <= 1024; n += n < 66 ? 1 : 37) {
    CAPTURE(n);
    const SchedulePtr trees =
        make("double_binary_tree", {.n = n, .arguments = {{"chunks", std::int64_t{1}}}});
    // Two children and a parent in one tree, a parent in the other: (3 + 1)/2. A tree of three has
    // no rank with two children: (2 + 1)/2; one of two is one edge.
    CHECK(most_sent(*trees) == (n == 2 ? 1 : n == 3 ? 1.5 : 2));
  }
}

TEST_CASE("one tree: inner ranks send three times the message, leaves once") {
  const SchedulePtr tree = make("binary_tree", {.n = 16});
  CHECK(sent(*tree, 8, anybody) == 3);
  CHECK(received(*tree, 8, anybody) == 3);
  CHECK(sent(*tree, 7, anybody) == 1);
  CHECK(sent(*tree, 0, anybody) == 1);  // the root, one child
}

TEST_CASE("on several nodes trees cross the NICs as trees of nodes do") {
  // Four nodes of 8: node 2 is inner in the first tree, three times half the message; leaf in the
  // second. Everything leaves by its first rank, or with eight channels by each one's eighth.
  AlgorithmInput input{.n = 32};
  input.layout.per_node = 8;
  const auto other_node = [](int rank) { return rank / 8 != 2; };
  CHECK(sent(*make("double_binary_tree", input), 16, other_node) == 2);
  CHECK(sent(*make("double_binary_tree", input), 17, other_node) == 0);
  input.arguments = {{"channels", std::int64_t{8}}};
  for (int rank = 16; rank < 24; ++rank)
    CHECK(sent(*make("double_binary_tree", input), rank, other_node) == 0.25);
}

TEST_CASE("whatever the grid, reduce-scatters and all-gathers send 2(n-1)/n of the message") {
  for (const int n : {4, 6, 12, 16, 24, 36, 60}) {
    const double share = 2.0 * (n - 1) / n;
    AlgorithmInput input{.n = n, .layout = layout_for(n)};
    CAPTURE(n);
    for (const char* name : {"ring", "bidirectional_ring", "hierarchical", "blueconnect", "torus"})
      CHECK(most_sent(*make(name, input)) == doctest::Approx(share));
    input.arguments = {{"intra", "direct"}};
    CHECK(most_sent(*make("hierarchical", input)) == doctest::Approx(share));
  }
  for (const int n : {2, 4, 8, 16, 64})
    CHECK(most_sent(*make("swing", {.n = n})) == doctest::Approx(2.0 * (n - 1) / n));
}

TEST_CASE("hierarchies send 2(m-1)/m of a share to other nodes") {
  // m nodes of 4: M/4 each.
  for (const int m : {2, 3, 8}) {
    AlgorithmInput input{.n = 4 * m};
    input.layout.per_node = 4;
    const auto outside = [](int rank) { return rank >= 4; };
    for (const char* name : {"hierarchical", "blueconnect"})
      CHECK(sent(*make(name, input), 1, outside) == doctest::Approx(2.0 * (m - 1) / m / 4));
  }
}

TEST_CASE("copies in both directions along every dimension load all links of a torus alike") {
  for (const std::vector<int>& sizes : {std::vector{4, 4}, {5, 5}, {3, 3, 3}, {4, 4, 4}}) {
    AlgorithmInput input{.n = 1};
    for (const int size : sizes) input.n *= size;
    input.layout.dimensions = sizes;
    const BlocksByPair traffic = traffic_of(*make("torus", input));
    // Two directed links from every rank along every dimension, and nothing further away.
    CHECK(std::ssize(traffic) == 2 * std::ssize(sizes) * input.n);
    std::set<std::int64_t> loads;
    for (const auto& [link, blocks] : traffic) loads.insert(blocks);
    CHECK(loads.size() == 1);
  }
}

TEST_CASE("rings on a square torus use every link once, on others step between neighbours") {
  AlgorithmInput square{.n = 25, .arguments = {{"channels", std::int64_t{4}}}};
  square.layout.dimensions = {5, 5};
  const BlocksByPair traffic = traffic_of(*make("ring", square));
  CHECK(traffic.size() == 100);
  for (const auto& [link, blocks] : traffic) CHECK(blocks == 2 * 24);
  for (const std::vector<int>& sizes :
       {std::vector{3, 4}, {4, 3}, {3, 5, 2}, {2, 2, 2}, {3, 3, 3}}) {
    RankLayout layout;
    layout.dimensions = sizes;
    int n = 1;
    for (const int size : sizes) n *= size;
    const RankOrder order = ring_order(n, layout, 0);
    std::set<int> seen;
    for (int place = 0; place < n; ++place) {
      int a = order.rank_at(place);
      int b = order.rank_at((place + 1) % n);
      CHECK(order.place_of(a) == place);
      CHECK(seen.insert(a).second);
      int moved = 0;
      for (const int size : sizes) {
        const int distance = std::abs(a % size - b % size);
        moved += std::min(distance, size - distance);
        a /= size;
        b /= size;
      }
      CHECK(moved == 1);
    }
  }
}

TEST_CASE("as many rings as GPUs in a node use every NIC once each way, and stay on their rails") {
  for (const auto& [nodes, per_node] : {std::pair{2, 8}, {3, 8}, {4, 4}, {5, 3}, {7, 8}, {2, 2}}) {
    const int n = nodes * per_node;
    RankLayout layout;
    layout.per_node = per_node;
    std::map<int, int> leaves;
    std::map<int, int> enters;
    for (int channel = 0; channel < per_node; ++channel) {
      const RankOrder order = ring_order(n, layout, channel);
      for (int place = 0; place < n; ++place) {
        const int from = order.rank_at(place);
        const int to = order.rank_at((place + 1) % n);
        CHECK(order.place_of(from) == place);
        if (from / per_node == to / per_node) continue;
        CHECK(from % per_node == to % per_node);
        ++leaves[from];
        ++enters[to];
      }
    }
    for (int rank = 0; rank < n; ++rank) {
      CHECK(leaves[rank] == 1);
      CHECK(enters[rank] == 1);
    }
  }
}

TEST_CASE("rings over nodes of different sizes cross at GPUs that all have, channels at others") {
  for (const std::vector<int>& sizes :
       {std::vector{40, 36}, {8, 4, 8}, {3, 5}, {5, 3, 4, 6, 7}, {2, 1, 3}}) {
    RankLayout layout;
    layout.node_sizes = sizes;
    std::vector<int> node_of;
    std::vector<int> number;
    for (std::size_t node = 0; node < sizes.size(); ++node) {
      for (int i = 0; i < sizes[node]; ++i) {
        node_of.push_back(static_cast<int>(node));
        number.push_back(i);
      }
    }
    const int n = static_cast<int>(node_of.size());
    const int least = *std::min_element(sizes.begin(), sizes.end());
    std::map<int, int> leaves;
    for (int channel = 0; channel < least; ++channel) {
      const RankOrder order = ring_order(n, layout, channel);
      std::set<int> seen;
      std::size_t crossings = 0;
      for (int place = 0; place < n; ++place) {
        const auto from = static_cast<std::size_t>(order.rank_at(place));
        const auto to = static_cast<std::size_t>(order.rank_at((place + 1) % n));
        CHECK(order.place_of(static_cast<int>(from)) == place);
        CHECK(seen.insert(static_cast<int>(from)).second);
        if (node_of[from] == node_of[to]) continue;
        ++crossings;
        if (least > 2) CHECK(number[from] == number[to]);
        ++leaves[static_cast<int>(from)];
      }
      CHECK(crossings == sizes.size());  // node after node
    }
    if (least > 2)
      for (const auto& [rank, times] : leaves) CHECK(times == 1);  // a NIC each
  }
}

TEST_CASE("trees over nodes of different sizes have chains in parts of them and cross at several") {
  AlgorithmInput input{.n = 76};
  input.layout.node_sizes = {40, 36};  // parts of 4
  std::map<int, int> crossing;
  for (const std::int64_t channels : {std::int64_t{1}, std::int64_t{4}}) {
    input.arguments = {{"channels", channels}, {"chunks", std::int64_t{1}}};
    std::set<int> ranks;
    for (const auto& [pair, blocks] : traffic_of(*make("double_binary_tree", input))) {
      CHECK(blocks > 0);
      const auto [from, to] = pair;
      if (from / 4 != to / 4) CHECK(from % 4 == to % 4);  // of parts the same place
      if ((from < 40) != (to < 40)) ranks.insert(from);
    }
    crossing[static_cast<int>(channels)] = static_cast<int>(ranks.size());
  }
  CHECK(crossing[4] == 4 * crossing[1]);
}

TEST_CASE("NVLS sends and receives (1 + 1/n) of the message on every port") {
  for (const int n : {2, 4, 8}) {
    AlgorithmInput input{.n = n};
    input.layout.per_node = n;
    input.layout.node_switches.assign(static_cast<std::size_t>(n), n);
    input.layout.node_switches.push_back(-1);
    const SchedulePtr schedule = make("nvls", input);
    for (int rank = 0; rank < n; ++rank) {
      CHECK(sent(*schedule, rank, anybody) == 1 + 1.0 / n);
      CHECK(received(*schedule, rank, anybody) == 1 + 1.0 / n);
    }
    // The switch sends as much to each.
    CHECK(sent(*schedule, n, anybody) == n + 1);
  }
}

TEST_CASE("NVLS of parts sends or receives the message once, in n * chunks + 1 rounds") {
  // S bytes of n parts: a reducing load asks all ranks for all parts, a multicast store goes to
  // all, the owner among them; NCCL 2.30.7, src/device/reduce_scatter.h and all_gather.h.
  for (const int n : {2, 4, 8}) {
    AlgorithmInput input{.n = n};
    input.layout.per_node = n;
    input.layout.node_switches.assign(static_cast<std::size_t>(n), n);
    input.layout.node_switches.push_back(-1);
    for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather}) {
      CAPTURE(to_string(collective));
      const SchedulePtr schedule = make_schedule(*find_algorithm(collective, "nvls"), input);
      const bool up = collective == Collective::reduce_scatter;
      for (int rank = 0; rank < n; ++rank) {
        CHECK(sent(*schedule, rank, anybody) == (up ? 1.0 : 1.0 / n));
        CHECK(received(*schedule, rank, anybody) == (up ? 1.0 / n : 1.0));
      }
    }
    // Two nodes have no switch in common.
    input.layout.node_switches = {n, n + 1, -1, -1};
    input.n = 2;
    CHECK_FALSE(validate(*find_algorithm(Collective::all_gather, "nvls"), input).empty());
  }
}

TEST_CASE("SHARP sends and receives the message once, and in nodes a share of it by every NIC") {
  AlgorithmInput input{.n = 8};
  input.layout.fabric_switches.assign(8, 8);
  input.layout.fabric_switches.push_back(-1);
  for (int rank = 0; rank < 8; ++rank) {
    CHECK(sent(*make("sharp", input), rank, anybody) == 1);
    CHECK(received(*make("sharp", input), rank, anybody) == 1);
  }
  input.layout.per_node = 4;
  const auto to_switch = [](int rank) { return rank >= 8; };
  for (int rank = 0; rank < 8; ++rank) {
    CHECK(sent(*make("sharp", input), rank, to_switch) == 0.25);
    CHECK(received(*make("sharp", input), rank, to_switch) == 0.25);
    CHECK(sent(*make("sharp", input), rank, anybody) == 0.25 + 2 * 0.75);
  }
  // Over the switch inside as NVLS: all of it up, a share back, the sum of the share up, all back.
  input.layout.node_switches = {8, 8, 8, 8, 9, 9, 9, 9, -1, -1};
  input.arguments.emplace("inside", "nvls");
  const auto to_node_switch = [](int rank) { return rank >= 9; };
  for (int rank = 0; rank < 8; ++rank) {
    CHECK(sent(*make("sharp", input), rank, to_switch) == 0.25 + 1.25);
    CHECK(sent(*make("sharp", input), rank, to_node_switch) == 1.25);
    CHECK(received(*make("sharp", input), rank, to_node_switch) == 1.25);
  }
}

// A switch multicasts to all but who sent; a reduction takes what everybody has.
TEST_CASE("SHARP's halves send or receive the message once over one port") {
  const auto of = [](Collective collective, const AlgorithmInput& input) {
    return make_schedule(*find_algorithm(collective, "sharp"), input);
  };
  AlgorithmInput input{.n = 8};
  input.layout.fabric_switches.assign(8, 8);
  input.layout.fabric_switches.push_back(-1);
  const auto to_switch = [](int rank) { return rank >= 8; };
  for (int rank = 0; rank < 8; ++rank) {
    CHECK(sent(*of(Collective::reduce_scatter, input), rank, anybody) == 1);
    CHECK(received(*of(Collective::reduce_scatter, input), rank, anybody) == 0.125);
    CHECK(sent(*of(Collective::all_gather, input), rank, anybody) == 0.125);
    CHECK(received(*of(Collective::all_gather, input), rank, anybody) == 0.875);
  }
  // Two nodes of four: a quarter over each NIC, 3/4 among the node's.
  input.layout.per_node = 4;
  for (int rank = 0; rank < 8; ++rank) {
    CHECK(sent(*of(Collective::reduce_scatter, input), rank, to_switch) == 0.25);
    CHECK(sent(*of(Collective::reduce_scatter, input), rank, anybody) == 0.25 + 0.75);
    CHECK(received(*of(Collective::all_gather, input), rank, to_switch) == 0.125);
    CHECK(received(*of(Collective::all_gather, input), rank, anybody) == 0.125 + 0.75);
  }
}

TEST_CASE("switches are needed where switches reduce") {
  const auto problems = [](std::string_view name, const AlgorithmInput& input) {
    return validate(*find_algorithm(Collective::all_reduce, name), input);
  };
  using Problems = std::vector<std::string>;
  CHECK(problems("sharp", {.n = 4}) ==
        Problems{"sharp: needs a tree of reducing switches in the network that reaches every rank "
                 "without failed links; this cluster has none"});
  CHECK(problems("nvls", {.n = 4}) ==
        Problems{"nvls: needs switches that reduce inside the nodes; this cluster has none"});
  AlgorithmInput two_trees{.n = 2};
  two_trees.layout.fabric_switches = {2, 3, -1, -1};
  CHECK(problems("sharp", two_trees) ==
        Problems{"sharp: ranks 0 and 1 share no switch that reduces"});
  AlgorithmInput half{.n = 2};
  half.layout.per_node = 2;
  half.layout.node_switches = {2, -1, -1};
  CHECK(problems("nvls", half) == Problems{"nvls: rank 1 hangs below no switch that reduces"});
  half.layout.node_switches = {2, 3, -1, -1};
  CHECK(problems("nvls", half) ==
        Problems{"nvls: needs a switch that reduces for every node of 2 ranks alone"});
}

TEST_CASE("an inner all-reduce has its own parameters, and may be a hierarchy again") {
  // 3 * 4 nodes of 2: 2(2-1) rounds inside, across 2(3-1) and 2(4-1).
  const auto cost = [](const char* inner) {
    return cost_of(*find_algorithm(Collective::all_reduce, "hierarchical"),
                   {.n = 24, .arguments = {{"group", std::int64_t{2}}, {"inner", inner}}});
  };
  CHECK(cost("blueconnect:dims=3x4").value().rounds == 2 + 4 + 6);
  CHECK(cost("hierarchical:group=3").value().rounds == 2 + 4 + 6);
  CHECK(cost("hierarchical:group=3:inner=direct").value().rounds == 2 + 4 + 2);
}

TEST_CASE("parameters that do not fit together are refused in words") {
  const auto problems = [](std::string_view name, AlgorithmArguments arguments) {
    return validate(*find_algorithm(Collective::all_reduce, name),
                    {.n = 8, .arguments = std::move(arguments)});
  };
  using Problems = std::vector<std::string>;
  CHECK(problems("hierarchical", {{"group", std::int64_t{3}}}) ==
        Problems{"hierarchical: group=3 does not divide 8 ranks"});
  CHECK(problems("hierarchical", {{"intra", "naive"}}) ==
        Problems{"hierarchical: intra is ring or direct, got \"naive\""});
  CHECK(problems("hierarchical", {{"inner", "parameter_server"}}) ==
        Problems{"hierarchical: inner cannot be parameter_server, which needs servers of its own "
                 "for every group of ranks across nodes"});
  CHECK(problems("hierarchical", {{"inner", "ring:chanels=2"}}) ==
        Problems{"hierarchical: inner: ring has no parameter \"chanels\"; did you mean "
                 "\"channels\"?"});
  CHECK(problems("hierarchical", {{"inner", "blueconnect:dims=3x2"}}) ==
        Problems{"hierarchical: inner blueconnect: dims=3x2 makes 6 ranks, there are 8"});
  CHECK(problems("torus", {{"dims", std::vector{4, 2}}, {"copies", std::int64_t{5}}}) ==
        Problems{"torus: copies is 1 to 4 (both ways along every dimension), got 5"});
  CHECK(problems("blueconnect", {{"dims", std::vector{4, 3}}}) ==
        Problems{"blueconnect: dims=4x3 makes 12 ranks, there are 8"});
}

TEST_CASE("a phase holds in every lane, without dependencies") {
  for (const RowCase& each : every_row({2, 3, 4, 8, 12})) {
    if (each.row->collective != Collective::all_reduce) continue;
    CAPTURE(each.name());
    const SchedulePtr schedule = each.make();
    for (const Phase& phase : schedule->phases()) {
      for (int rank = 0; rank < schedule->ranks(); ++rank) {
        for (int lane = 0; lane < schedule->lanes(); ++lane) {
          const std::int64_t end = std::min(phase.first + phase.count, schedule->steps(rank, lane));
          ScheduleStep first;
          if (phase.first < end) schedule->step(rank, lane, phase.first, first);
          for (std::int64_t i = phase.first; i < end; ++i) {
            ScheduleStep later;
            schedule->step(rank, lane, i, later);
            CHECK(later.after.empty());
            REQUIRE(later.sends.size() == first.sends.size());
            REQUIRE(later.receives.size() == first.receives.size());
            for (std::size_t k = 0; k < first.sends.size(); ++k) {
              CHECK(later.sends[k].peer == first.sends[k].peer);
              CHECK(later.sends[k].channel == first.sends[k].channel);
              CHECK(later.sends[k].chunk.count == first.sends[k].chunk.count);
            }
            for (std::size_t k = 0; k < first.receives.size(); ++k) {
              CHECK(later.receives[k].peer == first.receives[k].peer);
              CHECK(later.receives[k].combine == first.receives[k].combine);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a million ranks cost next to nothing to set up") {
  AlgorithmInput input{.n = 1 << 20};
  input.layout.per_node = 8;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (row.collective != Collective::all_reduce || row.name == "parameter_server") continue;
    if (!validate(row, input).empty()) continue;  // switches would have to be listed
    CAPTURE(row.name);
    const SchedulePtr schedule = make_schedule(row, input);
    if (schedule->steps(input.n - 1, 0) == 0) continue;
    ScheduleStep step;
    schedule->step(input.n - 1, 0, schedule->steps(input.n - 1, 0) / 2, step);
    CHECK(schedule->blocks() >= 1);
  }
}
