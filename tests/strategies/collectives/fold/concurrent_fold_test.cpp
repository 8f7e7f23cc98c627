#include <doctest/doctest.h>

#include "sim/engine/event_loop/replay_steps.hpp"
#include "sim/symmetry/fold.hpp"
#include "tests/random_folds.hpp"
#include "tests/strategies/collectives/random_configurations.hpp"

/// Several collectives at once, on groups with and without common ranks, of which one or two ranks
/// come late, are slow or have a slow link: the same instants, steps and bytes as unfolded.
using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Groups of equal size: consecutive or strided, which share no rank, or drawn, which may.
std::vector<std::vector<EndpointId>> draw_groups(int ranks, Draws& draws, std::string& text) {
  const std::size_t groups = 2 + draws.below(3);
  const std::size_t size = static_cast<std::size_t>(ranks) / groups;
  std::vector<std::vector<EndpointId>> out(groups);
  const std::size_t how = draws.below(4);
  text += std::to_string(groups) + " groups of " + std::to_string(size) +
          (how == 0   ? " in turn"
           : how == 1 ? " strided"
           : how == 2 ? " overlapping"
                      : " drawn");
  std::vector<EndpointId> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), EndpointId{0});
  for (std::size_t g = 0; g < groups; ++g) {
    if (how == 3)
      for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[draws.below(i)]);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = how == 0   ? g * size + i
                             : how == 1 ? i * groups + g
                             : how == 2 ? (g * (size / 2) + i) % all.size()
                                        : i;
      out[g].push_back(all[at]);
    }
  }
  return out;
}

/// Of one collective per group; sizes and weights may differ.
void add_calls(const std::vector<std::vector<EndpointId>>& groups, Draws& draws,
               Configuration& out) {
  static const std::vector<std::string> kRows{"ring", "ring", "halving_doubling", "binomial",
                                              "double_binary_tree"};
  const std::string same = draws.of(kRows);
  const bool equal = draws.one_in(2);
  for (const std::vector<EndpointId>& members : groups) {
    const std::string name = equal ? same : draws.of(kRows);
    const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, name);
    const AlgorithmInput input{.n = static_cast<int>(members.size())};
    if (row == nullptr || !validate(*row, input).empty()) continue;
    CollectiveCall call{name, make_schedule(*row, input), members, {}};
    call.block = Bytes{static_cast<std::int64_t>(equal ? 100'000 : 1000 * (1 + draws.below(200)))};
    if (!equal && draws.one_in(4)) call.traffic_weight = 3;
    if (draws.one_in(3)) call.starts.assign(members.size(), TimePoint{3_us});
    out.text += " " + name;
    out.workload.calls.push_back(std::move(call));
  }
}

/// As `lockstep collective --concurrent --set-rank`: a late rank is late for all of them.
void set_rank(EndpointId rank, Draws& draws, Configuration& out) {
  const std::size_t how = draws.below(4);
  out.text += " rank " + std::to_string(rank) + " kind " + std::to_string(how);
  Endpoint& endpoint = out.network.endpoints[rank];
  if (how == 1) endpoint.message_overhead += 300_ns;
  if (how == 2) endpoint.reduce_rate = 7_GBps;
  if (how == 1 || how == 2) return;
  const TimePoint late{Duration::picoseconds(static_cast<std::int64_t>(draws.below(20'000'000)))};
  for (CollectiveCall& call : out.workload.calls) {
    const auto found = std::find(call.members.begin(), call.members.end(), rank);
    if (found == call.members.end()) continue;
    if (call.starts.empty()) call.starts.resize(call.members.size());
    TimePoint& start = call.starts[static_cast<std::size_t>(found - call.members.begin())];
    start = std::max(start, late);
  }
}

std::optional<Configuration> draw_concurrent(Draws& draws) {
  static const std::vector<int> kRanks{8, 12, 16, 16, 24, 32};
  const Fabric& fabric = fabrics()[draws.below(fabrics().size())];
  Configuration out;
  const int ranks = draws.of(kRanks);
  out.text = fabric.name + " of " + std::to_string(ranks) + ", ";
  const auto whole = build(fabric, ranks, 0);
  if (!whole) return std::nullopt;
  const auto cluster = damaged(*whole, true, draws, out.text);
  if (!cluster) return std::nullopt;
  out.network = lower(*cluster, draw_endpoint(draws));
  out.model = draws.one_in(3) ? NetworkModel::alpha_beta : NetworkModel::fluid;
  add_calls(draw_groups(ranks, draws, out.text), draws, out);
  if (out.workload.calls.empty()) return std::nullopt;
  for (std::size_t count = 1 + draws.below(2); count > 0; --count) {
    const CollectiveCall& call = draws.of(out.workload.calls);
    set_rank(draws.of(call.members), draws, out);
  }
  return out;
}

struct Counts {
  int cases = 0;
  int folded = 0;  // with fewer classes than members
  FoldCount lines{"collectives at once"};
};

void compare(const Configuration& each, Counts& counts) {
  CAPTURE(each.text);
  const ReplayedSteps whole = replay_with_steps(each.network, each.workload, each.model);
  FoldOptions options;
  options.step_ends = true;
  const FoldedReplay folded = replay_folded(each.network, each.workload, each.model, options);
  CHECK(folded.report.folded);
  CHECK(folded.result.call_ends == whole.result.call_ends);
  CHECK(folded.result.link_bytes == whole.result.link_bytes);
  CHECK(folded.result.transfers == whole.result.transfers);
  bool same = folded.result.call_ends == whole.result.call_ends &&
              folded.result.link_bytes == whole.result.link_bytes &&
              folded.result.transfers == whole.result.transfers;
  std::size_t members = 0;
  for (std::size_t call = 0; call < whole.ends.size(); ++call) {
    members += whole.ends[call].size();
    for (std::size_t m = 0; m < whole.ends[call].size(); ++m) {
      CHECK(folded.report.step_ends[folded.report.class_of[call][m]] == whole.ends[call][m]);
      same &= folded.report.step_ends[folded.report.class_of[call][m]] == whole.ends[call][m];
    }
  }
  counts.lines.add(folded.report.classes.size() < members, same);
  ++counts.cases;
  if (folded.report.classes.size() < members) ++counts.folded;
}

int turns() {
  return fold_cases(1000);
}

}  // namespace

TEST_CASE("collectives at once with ranks that differ fold to the same instants and bytes") {
  Draws draws{fold_seed(11)};
  Counts counts;
  for (int turn = 0; turn < turns(); ++turn)
    if (const auto drawn = draw_concurrent(draws)) compare(*drawn, counts);
  CHECK(counts.cases > turns() / 3);
  CHECK(counts.folded > turns() / 15);
}

/// Eight rings of eight on a star, which share nothing; rank 3 of the first comes late: its ring
/// has eight classes, all others together one.
TEST_CASE("a late rank splits its own group alone") {
  const Network network = lower(fabric_named("star").build(64, 0), Endpoint{});
  Workload workload;
  for (EndpointId group = 0; group < 8; ++group) {
    CollectiveCall call{
        "ring", make_schedule(*find_algorithm(Collective::all_reduce, "ring"), {.n = 8}), {}, {}};
    for (EndpointId rank = 0; rank < 8; ++rank) call.members.push_back(8 * group + rank);
    call.block = Bytes{1000};
    workload.calls.push_back(std::move(call));
  }
  workload.calls[0].starts.resize(8);
  workload.calls[0].starts[3] = TimePoint{10_us};
  const FoldedReplay folded = replay_folded(network, workload, NetworkModel::fluid);
  REQUIRE(folded.report.classes.size() == 9);
  CHECK(folded.report.classes[8].members == 56);
  CHECK(folded.result.call_ends == replay(network, workload, NetworkModel::fluid).call_ends);
}
