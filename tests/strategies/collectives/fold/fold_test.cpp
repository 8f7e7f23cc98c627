#include <doctest/doctest.h>

#include "sim/engine/event_loop/replay_steps.hpp"
#include "sim/symmetry/fold.hpp"
#include "tests/random_folds.hpp"
#include "tests/strategies/collectives/random_configurations.hpp"

/// Folded and unfolded replays of random configurations: the same instants for every rank and step,
/// the same bytes on every link.
using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Branches, and whether some of them were replayed as one.
struct Compared {
  bool branches = false;
  bool branches_alike = false;
  bool same = true;
  bool folded = false;  // fewer classes than ranks
};

std::size_t rows_where(const std::function<bool(const CollectiveAlgorithm&)>& what) {
  const auto& all = collective_algorithms();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), what));
}

/// Of all steps of every rank.
bool compare_steps(const FoldReport& report, const std::vector<StepEnds>& whole) {
  REQUIRE(report.step_ends.size() == report.classes.size());
  bool same = true;
  for (std::size_t rank = 0; rank < whole.size(); ++rank)
    same &= report.step_ends[report.class_of[0][rank]] == whole[rank];
  CHECK(same);
  return same;
}

Compared compare(const Configuration& each, FoldCount& count) {
  Compared out;
  CAPTURE(each.text);
  const ReplayedSteps steps = replay_with_steps(each.network, each.workload, each.model);
  const ReplayResult& whole = steps.result;
  for (const bool max_plus : {true, false}) {
    CAPTURE(max_plus);
    FoldOptions options;
    options.max_plus = max_plus;
    options.step_ends = true;
    const FoldedReplay folded = replay_folded(each.network, each.workload, each.model, options);
    CAPTURE(folded.report.classes.size());
    CHECK(folded.report.folded);
    CHECK(whole.unfinished.empty());
    CHECK(folded.result.call_ends == whole.call_ends);
    CHECK(folded.result.link_bytes == whole.link_bytes);
    CHECK(folded.result.transfers == whole.transfers);
    CHECK(folded.result.end == whole.end);
    out.same &= compare_steps(folded.report, steps.ends[0]) && folded.report.folded &&
                folded.result.call_ends == whole.call_ends &&
                folded.result.link_bytes == whole.link_bytes &&
                folded.result.transfers == whole.transfers && folded.result.end == whole.end;
    out.folded |= folded.report.classes.size() < steps.ends[0].size();
    out.branches = folded.report.branches > 0;
    out.branches_alike = folded.report.branch_histories < folded.report.branches;
  }
  count.add(out.folded, out.same);
  return out;
}

}  // namespace

TEST_CASE("folded and unfolded replays give the same instants and bytes") {
  Draws draws{fold_seed(2)};
  FoldCount count{"collectives"};
  const int turns = fold_turns(24, collective_algorithms().size());
  Choices choices{{}, {2, 3, 4, 6, 8, 12, 16, 17, 24, 32, 48}};
  for (const Fabric& fabric : fabrics()) choices.fabrics.push_back(fabric.name);
  int played = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (played_by_switches(row)) continue;
    for (int turn = 0; turn < turns; ++turn) {
      const auto drawn = draw_configuration(row, choices, draws);
      if (!drawn) continue;
      compare(*drawn, count);
      ++played;
    }
  }
  CHECK(played > 20 * turns);
}

TEST_CASE("folded and unfolded replays agree where switches reduce") {
  Draws draws{fold_seed(3)};
  FoldCount count{"collectives by switches"};
  const int turns = fold_turns(160, rows_where(played_by_switches));
  const Choices in_nodes{{"rails", "pods", "rack"}, {2, 3, 6, 8, 16, 24, 32, 48, 64}};
  const Choices in_fabric{{"star", "fat_tree", "three_levels", "rails", "pods"},
                          {2, 3, 4, 8, 12, 16, 24, 32, 48, 64}};
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (!played_by_switches(row)) continue;
    const Choices& choices =
        row.auxiliary_ranks == AuxiliaryRanks::node_switches ? in_nodes : in_fabric;
    int played = 0;
    for (int turn = 0; turn < turns; ++turn) {
      const auto drawn = draw_configuration(row, choices, draws);
      if (!drawn) continue;
      compare(*drawn, count);
      ++played;
    }
    CAPTURE(row.name);
    CHECK(played > turns / 4);
  }
}

/// Over several nodes a tree comes apart where a node's ranks hang on one of them.
TEST_CASE("folded and unfolded replays agree where parts of trees hang on one rank") {
  Draws draws{fold_seed(4)};
  FoldCount count{"collectives by trees"};
  const auto is_tree = [](const CollectiveAlgorithm& row) {
    return row.name.find("binary_tree") != std::string_view::npos ||
           row.name.find("binomial") != std::string_view::npos;
  };
  const int turns = fold_turns(24, rows_where(is_tree));
  const Choices choices{{"torus", "rails", "rails", "pods"}, {16, 24, 32, 48, 64}};
  int with_branches = 0;
  int alike = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    for (int turn = 0; is_tree(row) && turn < turns; ++turn) {
      const auto drawn = draw_configuration(row, choices, draws);
      if (!drawn) continue;
      const Compared compared = compare(*drawn, count);
      if (compared.branches) ++with_branches;
      if (compared.branches_alike) ++alike;
    }
  }
  CHECK(with_branches > turns / 2);
  CHECK(alike > turns / 3);
}

/// What hangs on a rank goes on while that rank waits for nothing of it, chunk after chunk, and its
/// transfers meet those of later chunks.
TEST_CASE("folded and unfolded replays of pipelines of many chunks give the same instants") {
  Draws draws{fold_seed(4)};
  FoldCount count{"collectives of many chunks"};
  const int turns = fold_turns(24, collective_algorithms().size());
  int pipelines = 0;
  int branches = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (played_by_switches(row) || row.auxiliary_ranks == AuxiliaryRanks::hosts) continue;
    for (int turn = 0; turn < turns; ++turn) {
      auto drawn =
          draw_configuration(row, {{"rails", "pods", "rack"}, {16, 24, 32, 40, 48}}, draws);
      if (!drawn) continue;
      CollectiveCall& call = drawn->workload.calls.front();
      AlgorithmInput input = drawn->input;
      input.arguments.insert_or_assign("chunks", ArgumentValue{std::int64_t{20 + 3 * (turn % 24)}});
      if (!validate(row, input).empty()) continue;
      call.schedule = make_schedule(row, input);
      call.block =
          divide_message(16_MiB, *find_element_type("uint8"), call.schedule->blocks()).block;
      if (call.members.size() != static_cast<std::size_t>(call.schedule->ranks())) continue;
      ++pipelines;
      branches += compare(*drawn, count).branches ? 1 : 0;
    }
  }
  CHECK(pipelines > 3 * turns);
  CHECK(branches >= turns / 12);
}
