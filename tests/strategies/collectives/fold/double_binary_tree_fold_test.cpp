#include <doctest/doctest.h>

#include <random>

#include "strategies/collectives/schedules/compose.hpp"
#include "tests/random_folds.hpp"
#include "tests/sim/symmetry/check_equal.hpp"
#include "tests/strategies/collectives/random_configurations.hpp"

/// The second tree is the first one's mirror: of two nodes at the same distance from both ends one
/// does in one tree what the other does in the other. Both begin with the tree in which they are
/// inner nodes, so that they are equal, and their GPUs: the same instants and bytes as unfolded.
using namespace lockstep;
using namespace lockstep::test;

namespace {

struct Tree {
  int ranks = 2;
  int per_node = 1;
  std::int64_t chunks = 1;
  std::int64_t channels = 1;
};

/// On a star, or nodes of eight with a rail for each of their GPUs.
Configuration configuration(const Tree& tree, bool reduces) {
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, "double_binary_tree");
  REQUIRE(row != nullptr);
  AlgorithmInput input{.n = tree.ranks};
  input.layout.per_node = tree.per_node;
  input.arguments["chunks"] = tree.chunks;
  input.arguments["channels"] = tree.channels;
  const auto cluster = build(fabric_named(tree.per_node == 1 ? "star" : "rails"), tree.ranks, 0);
  REQUIRE(cluster);
  REQUIRE((tree.per_node == 1 || cluster->gpus_per_node() == tree.per_node));
  Configuration out{"", lower(*cluster), {}};
  for (Endpoint& endpoint : out.network.endpoints)
    if (reduces) endpoint.reduce_rate = 30_GBps;
  CollectiveCall call{"call", make_schedule(*row, input), {}, Bytes{100'000}};
  call.members.resize(static_cast<std::size_t>(tree.ranks));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  out.workload.calls.push_back(std::move(call));
  return out;
}

std::size_t classes_of(const Configuration& each) {
  return check_folded(each.network, each.workload, each.model).report.classes.size();
}

}  // namespace

TEST_CASE("a double binary tree of an even number of nodes has half as many classes as ranks") {
  for (const Tree tree : {Tree{2}, Tree{4}, Tree{6}, Tree{10}, Tree{32}, Tree{64}, Tree{250},
                          Tree{16, 8}, Tree{32, 8}, Tree{64, 8}, Tree{64, 8, 1, 3}}) {
    for (const std::int64_t chunks : {1, 2, 7}) {
      for (const bool reduces : {false, true}) {
        CAPTURE(tree.ranks);
        CAPTURE(tree.channels);
        CAPTURE(chunks);
        CAPTURE(reduces);
        Tree each = tree;
        each.chunks = chunks;
        CHECK(classes_of(configuration(each, reduces)) == static_cast<std::size_t>(tree.ranks) / 2);
      }
    }
  }
}

/// Reductions and late ranks leave the steps plain; the engine replays the same classes.
TEST_CASE("a plan of a double binary tree has the instants and transfers of the engine") {
  std::mt19937_64 random{11};
  for (const Tree tree : {Tree{16, 1, 40}, Tree{100, 1, 9}, Tree{256, 1, 30}, Tree{32, 8, 40, 2}}) {
    for (const bool reduces : {false, true}) {
      for (const bool late : {false, true}) {
        CAPTURE(tree.ranks);
        CAPTURE(reduces);
        CAPTURE(late);
        Configuration each = configuration(tree, reduces);
        if (late)
          for (int rank = 0; rank < tree.ranks; ++rank)
            each.workload.calls.front().starts.push_back(
                TimePoint{Duration::picoseconds(static_cast<std::int64_t>(random() % 50'000'000))});
        const auto replay = [&each](bool plain) {
          return replay_folded(each.network, each.workload, each.model,
                               {.branches = false, .plain = plain});
        };
        const FoldedReplay planned = replay(true);
        const FoldedReplay full = replay(false);
        CHECK(planned.result.call_ends == full.result.call_ends);
        CHECK(planned.report.simulated_transfers == full.report.simulated_transfers);
      }
    }
  }
}

TEST_CASE("of an odd number of nodes the second tree is no mirror image") {
  CHECK(classes_of(configuration({33}, true)) == 33);
  CHECK(classes_of(configuration({40, 8}, true)) == 40);
}

/// What one rank alone has, its mirror image has not.
TEST_CASE(
    "a late rank leaves no rank of a double binary tree its mirror, an overhead of all does") {
  Configuration late = configuration({32}, false);
  CollectiveCall& call = late.workload.calls.front();
  call.starts.assign(32, TimePoint{});
  call.starts[5] = TimePoint{1_us};
  CHECK(classes_of(late) == 32);
  Configuration slow = configuration({32}, false);
  for (Endpoint& endpoint : slow.network.endpoints) endpoint.message_overhead = 100_ns;
  CHECK(classes_of(slow) == 16);
}

/// Two inner nodes of one tree: the lanes of each part stay its own, whatever their places.
TEST_CASE("stripes whose places differ from rank to rank do the same as in one order") {
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, "binary_tree");
  REQUIRE(row != nullptr);
  const int n = 12;
  const SchedulePtr one = make_schedule(*row, {.n = n});
  const RankOrder mirrored{[](int place) { return n - 1 - place; },
                           [](int rank) { return n - 1 - rank; }};
  const auto end_of = [&](StripePlaces places) {
    const auto cluster = build(fabric_named("star"), n, 0);
    REQUIRE(cluster);
    Workload workload;
    CollectiveCall call{
        "call", side_by_side({{one}, {one, mirrored}, {one}}, std::move(places)), {}, 1_MiB};
    call.members.resize(static_cast<std::size_t>(n));
    std::iota(call.members.begin(), call.members.end(), EndpointId{0});
    workload.calls.push_back(std::move(call));
    return check_folded(lower(*cluster), workload, NetworkModel::fluid).result.end;
  };
  // Nothing has an order where software and reductions take no time.
  CHECK(end_of({}) == end_of([](int rank, int stripe) { return (stripe + rank) % 3; }));
}

/// Ranks, nodes, chunks and channels drawn, two of three with a late rank, slow links or overheads.
TEST_CASE("random double binary trees have the instants and bytes of all ranks") {
  Draws draws{fold_seed(13)};
  FoldCount count{"double binary trees"};
  for (int turn = fold_cases(60); turn > 0; --turn) {
    Tree tree;
    tree.per_node = draws.one_in(2) ? 1 : 8;
    tree.ranks = tree.per_node * static_cast<int>(2 + draws.below(tree.per_node == 1 ? 63 : 9));
    tree.chunks = static_cast<std::int64_t>(1 + draws.below(8));
    tree.channels = static_cast<std::int64_t>(1 + draws.below(3));
    Configuration drawn = configuration(tree, draws.one_in(2));
    CollectiveCall& call = drawn.workload.calls.front();
    const std::size_t n = call.members.size();
    switch (draws.below(6)) {
      case 0:
        call.starts.assign(n, TimePoint{});
        for (std::size_t late = 1 + draws.below(3); late > 0; --late)
          call.starts[draws.below(n)] = TimePoint{5_us};
        break;
      case 1:
        for (std::size_t slow = 1 + draws.below(3); slow > 0; --slow)
          drawn.network.links[draws.below(drawn.network.links.size())].bandwidth = 3_GBps;
        break;
      case 2:
        for (Endpoint& endpoint : drawn.network.endpoints) endpoint.message_overhead = 200_ns;
        break;
      case 3:
        drawn.network.endpoints[draws.below(n)].message_overhead = 300_ns;
        break;
      default:
        break;
    }
    if (draws.one_in(3)) drawn.model = NetworkModel::alpha_beta;
    CAPTURE(tree.ranks);
    CAPTURE(tree.per_node);
    CAPTURE(tree.chunks);
    CAPTURE(tree.channels);
    const FoldedReplay folded = replay_folded(drawn.network, drawn.workload, drawn.model);
    const ReplayResult whole = replay(drawn.network, drawn.workload, drawn.model);
    const bool same = folded.result.call_ends == whole.call_ends &&
                      folded.result.link_bytes == whole.link_bytes &&
                      folded.result.transfers == whole.transfers && folded.result.end == whole.end;
    CHECK(same);
    count.add(folded.report.classes.size() < n, same);
  }
}
