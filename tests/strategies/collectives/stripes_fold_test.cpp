#include <doctest/doctest.h>

#include "sim/engine/event_loop/replay_steps.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "tests/sim/symmetry/check_equal.hpp"
#include "tests/strategies/collectives/random_configurations.hpp"

/// Ranks that are equal with their stripes in another order: the same instants and bytes as
/// unfolded.
using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Mirrored, turned, halves exchanged, or drawn.
RankOrder draw_order(int n, Draws& draws, std::string& text) {
  const auto own = [&](const char* name, auto place) {
    text += name;
    return RankOrder{place, place};
  };
  switch (draws.below(6)) {
    case 0:
    case 5:
      return own(" mirrored", [n](int rank) { return n - 1 - rank; });
    case 1:
      if (n % 2 == 0) return own(" halves", [n](int rank) { return (rank + n / 2) % n; });
      [[fallthrough]];
    case 2: {
      const int by = 1 + static_cast<int>(draws.below(static_cast<std::size_t>(n)));
      text += " turned by " + std::to_string(by);
      return {[=](int place) { return (place + by) % n; },
              [=](int rank) { return (rank + n - by % n) % n; }};
    }
    case 3: {
      std::vector<int> at(static_cast<std::size_t>(n));
      std::iota(at.begin(), at.end(), 0);
      for (std::size_t i = at.size(); i > 1; --i) std::swap(at[i - 1], at[draws.below(i)]);
      std::vector<int> back(at.size());
      for (std::size_t i = 0; i < at.size(); ++i)
        back[static_cast<std::size_t>(at[i])] = static_cast<int>(i);
      text += " drawn";
      return {[at](int place) { return at[static_cast<std::size_t>(place)]; },
              [back](int rank) { return back[static_cast<std::size_t>(rank)]; }};
    }
    default:
      return {};
  }
}

/// Two to four times the collective of the configuration, side by side.
void add_stripes(Draws& draws, Configuration& out) {
  CollectiveCall& call = out.workload.calls.front();
  const int n = call.schedule->ranks();
  std::vector<Stripe> stripes{{call.schedule}};
  const std::size_t more = 1 + draws.below(3);
  for (std::size_t i = 0; i < more; ++i)
    stripes.push_back({call.schedule, draw_order(n, draws, out.text)});
  call.schedule = side_by_side(std::move(stripes));
}

bool may_be_striped(const Configuration& each) {
  const Schedule& schedule = *each.workload.calls.front().schedule;
  return schedule.slots() == 0 && schedule.result() == Buffer::data &&
         each.workload.calls.front().members.size() == static_cast<std::size_t>(each.input.n);
}

/// A rank or link that has no equal leaves no equal ranks either, mostly.
bool is_damaged(const Configuration& each) {
  const auto has = [&](const char* what) { return each.text.find(what) != std::string::npos; };
  return has(" slower ") || has(" later ") || has(" without ") || has(" late ") ||
         has(" overhead ") || has(" slowly ") || has(" skewed");
}

/// The latest of a rank's lanes tells, in whichever order they are.
void check_steps(const Configuration& each) {
  FoldOptions options;
  options.step_ends = true;
  const FoldReport report = replay_folded(each.network, each.workload, each.model, options).report;
  const ReplayedSteps whole = replay_with_steps(each.network, each.workload, each.model);
  for (std::size_t rank = 0; rank < whole.ends[0].size(); ++rank)
    CHECK(report.step_ends[report.class_of[0][rank]] == whole.ends[0][rank]);
}

std::size_t classes_without(const Configuration& each) {
  FoldOptions options;
  options.stripes = false;
  return check_folded(each.network, each.workload, each.model, options).report.classes.size();
}

}  // namespace

TEST_CASE("collectives side by side in other orders of ranks fold to the same instants") {
  Draws draws{11};
  const char* asked = std::getenv("LOCKSTEP_FOLD_CASES");
  const int turns = asked == nullptr ? 48 : std::max(48, std::atoi(asked) / 10);
  Choices choices{{"star", "star", "rails", "pods"}, {2, 4, 5, 6, 8, 9, 12, 16, 24}};
  for (const Fabric& fabric : fabrics()) choices.fabrics.push_back(fabric.name);
  int played = 0;
  int fewer = 0;
  int halved = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (played_by_switches(row)) continue;
    for (int turn = 0; turn < turns; ++turn) {
      auto drawn = draw_configuration(row, choices, draws);
      if (!drawn || !may_be_striped(*drawn)) continue;
      if (is_damaged(*drawn) && !draws.one_in(8)) continue;
      add_stripes(draws, *drawn);
      CAPTURE(drawn->text);
      const std::size_t plain = classes_without(*drawn);
      const FoldedReplay folded = check_folded(drawn->network, drawn->workload, drawn->model);
      CHECK(folded.report.classes.size() <= plain);
      check_steps(*drawn);
      ++played;
      if (folded.report.classes.size() < plain) ++fewer;
      if (2 * folded.report.classes.size() <= plain) ++halved;
    }
  }
  CHECK(played > 250);
  CHECK(fewer > 25);
  CHECK(halved > 15);
}

/// The second tree is the first one's mirror: of two ranks at the same distance from both ends one
/// does in one tree what the other does in the other.
TEST_CASE("a double binary tree of an even number of ranks has half as many classes") {
  for (const int n : {2, 4, 6, 10, 32, 64, 250}) {
    for (const std::int64_t chunks : {1, 2, 7}) {
      for (const bool reduces : {false, true}) {
        CAPTURE(n);
        CAPTURE(chunks);
        CAPTURE(reduces);
        const CollectiveAlgorithm* row =
            find_algorithm(Collective::all_reduce, "double_binary_tree");
        REQUIRE(row != nullptr);
        AlgorithmInput input{.n = n};
        input.arguments["chunks"] = chunks;
        const auto cluster = build(fabrics().front(), n, 0);
        REQUIRE(cluster);
        Configuration each{"", lower(*cluster), {}};
        for (Endpoint& endpoint : each.network.endpoints) {
          if (reduces) endpoint.reduce_rate = 30_GBps;
        }
        CollectiveCall call{"call", make_schedule(*row, input), {}, Bytes{100'000}};
        call.members.resize(static_cast<std::size_t>(n));
        std::iota(call.members.begin(), call.members.end(), EndpointId{0});
        each.workload.calls.push_back(std::move(call));
        const FoldedReplay folded = check_folded(each.network, each.workload, each.model);
        CHECK(folded.report.classes.size() == static_cast<std::size_t>(n) / 2);
        CHECK(classes_without(each) == static_cast<std::size_t>(n));
      }
    }
  }
}

/// What one rank alone has, its mirror image has not.
TEST_CASE("a late rank or a message overhead leaves no rank of a double binary tree its mirror") {
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, "double_binary_tree");
  REQUIRE(row != nullptr);
  const int n = 32;
  const auto cluster = build(fabrics().front(), n, 0);
  REQUIRE(cluster);
  Network network = lower(*cluster);
  CollectiveCall call{"call", make_schedule(*row, {.n = n}), {}, Bytes{100'000}};
  call.members.resize(n);
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  Workload late;
  late.calls.push_back(call);
  late.calls.front().starts.assign(n, TimePoint{});
  late.calls.front().starts[5] = TimePoint{1_us};
  CHECK(check_folded(network, late, NetworkModel::fluid).report.classes.size() == n);
  Workload plain;
  plain.calls.push_back(std::move(call));
  for (Endpoint& endpoint : network.endpoints) endpoint.message_overhead = 100_ns;
  CHECK(check_folded(network, plain, NetworkModel::fluid).report.classes.size() == n);
}
