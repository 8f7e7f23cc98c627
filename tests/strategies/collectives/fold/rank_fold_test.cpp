#include <doctest/doctest.h>

#include "sim/engine/event_loop/replay_steps.hpp"
#include "sim/symmetry/fold.hpp"
#include "sim/symmetry/replay_memory.hpp"
#include "tests/random_folds.hpp"
#include "tests/strategies/collectives/random_configurations.hpp"

/// Ranks advanced one by one (FoldOptions::by_rank) against the plain replay: the same instants and
/// bytes to the last bit, whichever ranks start late, whatever links and endpoints are slow.
using namespace lockstep;
using namespace lockstep::test;

namespace {

FoldOptions at_any_size() {
  FoldOptions out;
  out.by_rank_from = 0;
  return out;
}

/// One, several or all start late.
void delay_ranks(Draws& draws, Configuration& out) {
  CollectiveCall& call = out.workload.calls.front();
  const std::size_t n = call.members.size();
  const std::size_t late = draws.of(std::vector<std::size_t>{0, 1, 1, 3, n});
  if (late == 0) return;
  call.starts.resize(n);
  for (std::size_t i = 0; i < late; ++i)
    call.starts[late == n ? i : draws.below(n)] =
        TimePoint{Duration::picoseconds(static_cast<std::int64_t>(draws.below(20'000'000)))};
  out.text += " late: " + std::to_string(late);
}

/// Routes stay as they are, as with links that were slow from the beginning.
void slow_links(Draws& draws, Configuration& out) {
  if (!draws.one_in(3)) return;
  for (std::size_t count = 1 + draws.below(3); count > 0; --count) {
    const std::size_t link = draws.below(out.network.links.size());
    out.network.links[link].bandwidth = Rate::from_steps(std::max<std::uint64_t>(
        1, out.network.links[link].bandwidth.steps() / (2 + draws.below(4))));
    out.text += " slow link " + std::to_string(link);
  }
}

/// Members at other endpoints than their own ranks'.
void shuffle_members(const CollectiveAlgorithm& row, Draws& draws, Configuration& out) {
  if (row.auxiliary_ranks == AuxiliaryRanks::hosts || !draws.one_in(5)) return;
  std::vector<EndpointId>& members = out.workload.calls.front().members;
  for (std::size_t i = members.size(); i > 1; --i)
    std::swap(members[i - 1], members[draws.below(i)]);
  out.text += " shuffled";
}

struct Played {
  int cases = 0;
  int by_rank = 0;
  int by_blocks = 0;
  FoldCount lines{"ranks one by one"};
};

void compare(const Configuration& each, Played& played) {
  CAPTURE(each.text);
  const ReplayedSteps steps = replay_with_steps(each.network, each.workload, each.model);
  const ReplayResult& whole = steps.result;
  ++played.cases;
  bool same = true;
  bool folds = false;
  for (const bool blocks : {true, false}) {
    FoldOptions options = at_any_size();
    options.blocks = blocks;
    options.step_ends = true;
    const FoldedReplay folded = replay_folded(each.network, each.workload, each.model, options);
    if (folded.report.by_rank) ++(blocks ? played.by_blocks : played.by_rank);
    CHECK(folded.result.call_ends == whole.call_ends);
    CHECK(folded.result.link_bytes == whole.link_bytes);
    CHECK(folded.result.transfers == whole.transfers);
    CHECK(folded.result.end == whole.end);
    same &= folded.result.call_ends == whole.call_ends &&
            folded.result.link_bytes == whole.link_bytes &&
            folded.result.transfers == whole.transfers && folded.result.end == whole.end &&
            (!folded.report.by_rank || folded.report.step_ends == steps.ends[0]);
    folds |= folded.report.by_rank ||
             folded.report.classes.size() < each.workload.calls.front().members.size();
    if (folded.report.by_rank) CHECK(folded.report.step_ends == steps.ends[0]);
    std::int64_t members = 0;
    for (const EquivalenceClass& kind : folded.report.classes) members += kind.members;
    CHECK(members == std::ssize(each.workload.calls.front().members));
  }
  played.lines.add(folds, same);
}

/// How often every row is drawn.
int turns() {
  return fold_turns(100, collective_algorithms().size());
}

Network star_of(int n) {
  return lower(build_cluster(call("star", {{"link", link_of(25_GBps, 700_ns)}}), std::nullopt,
                             ClusterSize{std::nullopt, n, 0}),
               Endpoint{});
}

Workload all_reduce(const char* name, int n, Bytes size) {
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, name);
  REQUIRE(row != nullptr);
  CollectiveCall call{"call", make_schedule(*row, {.n = n}), {}, {}};
  call.block = divide_message(size, *find_element_type("uint8"), call.schedule->blocks()).block;
  call.members.resize(static_cast<std::size_t>(n));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  return {{std::move(call)}, {}};
}

}  // namespace

TEST_CASE("ranks one by one and the plain replay give the same instants and bytes") {
  Draws draws{fold_seed(5)};
  Choices choices{{}, {2, 3, 4, 6, 8, 8, 12, 16, 16, 17, 24, 32, 32}};
  for (const Fabric& fabric : fabrics()) choices.fabrics.push_back(fabric.name);
  choices.fabrics.insert(choices.fabrics.end(), 4, "star");
  Played played;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (played_by_switches(row)) continue;
    for (int turn = 0; turn < turns(); ++turn) {
      auto drawn = draw_configuration(row, choices, draws);
      if (!drawn) continue;
      delay_ranks(draws, *drawn);
      slow_links(draws, *drawn);
      shuffle_members(row, draws, *drawn);
      compare(*drawn, played);
    }
  }
  MESSAGE(played.cases << " cases, " << played.by_rank << " by all ranks, " << played.by_blocks
                       << " by blocks or all ranks");
  CHECK(played.cases > 40 * turns());
  CHECK(played.by_rank > 10 * turns());
  CHECK(played.by_blocks > 10 * turns());
}

/// Of the ports' links each is crossed by ten pairs, one of them at a time; 22 rounds of 2,048
/// ranks.
TEST_CASE("one late rank among many is worked out transfer by transfer, and reported so") {
  const int n = 2048;
  const Network network = star_of(n);
  Workload workload = all_reduce("halving_doubling", n, 1_MiB);
  workload.calls[0].starts.resize(n);
  workload.calls[0].starts[77] = TimePoint{10_us};
  const FoldedReplay folded = replay_folded(network, workload, NetworkModel::fluid);
  CHECK(folded.report.by_rank);
  CHECK(folded.report.simulated_transfers == 22 * n);
  REQUIRE(folded.report.classes.size() == 2);
  CHECK(folded.report.classes[0].members == n - 1);
  CHECK(folded.report.classes[1].representative == 77);
  CHECK(folded.report.classes[1].difference == "starts 10 us later");
  CHECK(folded.result.call_ends == replay(network, workload, NetworkModel::fluid).call_ends);
  FoldOptions without;
  without.by_rank = false;
  const FoldedReplay classes = replay_folded(network, workload, NetworkModel::fluid, without);
  CHECK_FALSE(classes.report.by_rank);
  CHECK(classes.result.call_ends == folded.result.call_ends);
  CHECK(classes.result.link_bytes == folded.result.link_bytes);
}

/// With all alike one rank stands for all, whatever they start at.
TEST_CASE("ranks that all start late at once are one class") {
  const int n = 2048;
  Workload workload = all_reduce("halving_doubling", n, 1_MiB);
  workload.calls[0].starts.assign(n, TimePoint{10_us});
  const FoldedReplay folded = replay_folded(star_of(n), workload, NetworkModel::fluid);
  CHECK_FALSE(folded.report.by_rank);
  CHECK(folded.report.classes.size() == 1);
}

/// Everybody sends to everybody at once: transfers limit each other, classes are looked for.
TEST_CASE("ranks whose transfers limit each other are not advanced one by one") {
  const int n = 24;
  const Network network = star_of(n);
  Workload workload = all_reduce("one_shot", n, 1_MiB);
  workload.calls[0].starts.resize(n);
  workload.calls[0].starts[7] = TimePoint{3_us};
  const FoldedReplay folded = replay_folded(network, workload, NetworkModel::fluid, at_any_size());
  CHECK_FALSE(folded.report.by_rank);
  CHECK(folded.result.call_ends == replay(network, workload, NetworkModel::fluid).call_ends);
}

/// Links between switches have a third of what the transfers over them have alone.
TEST_CASE("a link that the transfers of several ranks fill is noticed") {
  const Fabric& tree = fabric_named("three_levels");
  Network network = lower(tree.build(16, 0), Endpoint{});
  Workload workload = all_reduce("halving_doubling", 16, 1_MiB);
  workload.calls[0].starts.resize(16);
  workload.calls[0].starts[3] = TimePoint{3_us};
  for (Link& link : network.links)
    if (!link.port) link.bandwidth = Rate::from_steps(link.bandwidth.steps() / 3);
  const FoldedReplay folded = replay_folded(network, workload, NetworkModel::fluid, at_any_size());
  CHECK_FALSE(folded.report.by_rank);
  CHECK(folded.result.call_ends == replay(network, workload, NetworkModel::fluid).call_ends);
}

/// 65,536 * 16 pairs with classes; 16 where ranks are advanced one by one.
TEST_CASE("the memory of ranks one by one is that of their times") {
  const int n = 65'536;
  Workload workload = all_reduce("halving_doubling", n, 1_MiB);
  workload.calls[0].starts.resize(n);
  workload.calls[0].starts[7] = TimePoint{3_us};
  const ReplayMemory memory = replay_memory(star_of(n), workload, NetworkModel::fluid);
  CHECK(memory.pairs == 16);
  CHECK(memory.bytes < 1_GiB);
}
