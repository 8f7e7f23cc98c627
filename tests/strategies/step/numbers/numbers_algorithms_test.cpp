#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "strategies/collectives/registry/registry.hpp"
#include "tests/strategies/step/numbers/numbers_harness.hpp"

namespace lockstep::test {
namespace {

/// Two levels or dimensions where they can be, then without, then under a switch of the node or of
/// the fabric that adds up.
std::vector<RankLayout> layouts_of(int members) {
  std::vector<RankLayout> out(1);
  if (members % 2 == 0 && members > 2) {
    RankLayout levels;
    levels.per_node = 2;
    levels.dimensions = {2, members / 2};
    out.insert(out.begin(), levels);
  }
  std::vector<int> switches(static_cast<std::size_t>(members), members);
  switches.push_back(-1);
  RankLayout node;
  node.per_node = members;
  node.nvlink_domain = true;
  node.node_switches = switches;
  out.push_back(node);
  RankLayout fabric;
  fabric.fabric_switches = switches;
  out.push_back(fabric);
  return out;
}

SchedulePtr made(const CollectiveAlgorithm& algorithm, int members, int root) {
  AlgorithmInput input;
  input.n = members;
  input.root = root;
  for (const RankLayout& layout : layouts_of(members)) {
    input.layout = layout;
    if (validate(algorithm, input).empty()) return make_schedule(algorithm, input);
  }
  return nullptr;
}

/// The algorithm of that name wherever it does the collective and takes so many ranks, which is
/// noted in `used`; else the first of its table that does.
ScheduleOf by(std::string_view name, std::set<Collective>& used) {
  return [name, &used](const RoleProgram&, const RoleOperation& operation,
                       const std::vector<int>& ranks, int root) -> SchedulePtr {
    const Collective collective = operation.operation->communication->collective;
    const auto members = static_cast<int>(ranks.size());
    if (const CollectiveAlgorithm* wanted = find_algorithm(collective, name)) {
      if (SchedulePtr schedule = made(*wanted, members, root)) {
        used.insert(collective);
        return schedule;
      }
    }
    for (const CollectiveAlgorithm& other : collective_algorithms()) {
      if (other.collective != collective) continue;
      if (SchedulePtr schedule = made(other, members, root)) return schedule;
    }
    return nullptr;
  };
}

/// Those of the collectives that training steps make use of.
bool trains(Collective collective) {
  return collective != Collective::scatter && collective != Collective::gather &&
         collective != Collective::barrier;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> out;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (std::find(out.begin(), out.end(), algorithm.name) == out.end()) {
      out.push_back(algorithm.name);
    }
  }
  return out;
}

// The transfers of the algorithms do the work: no collective is taken for granted.
TEST_CASE("every collective algorithm trains as one device does") {
  ParallelConfig tensor = layout(4);
  tensor.tp = 2;
  tensor.sequence_parallel = true;
  ParallelConfig sharded = layout(3);
  sharded.zero = 3;
  ParallelConfig sharded4 = layout(4);
  sharded4.zero = 1;
  ParallelConfig spread = layout(4);
  spread.ep = 4;
  ParallelConfig servers = layout(3);
  servers.exchange = GradientExchange::parameter_server;
  TransformerConfig shape = gpt();
  shape.layers = 1;
  TransformerConfig all_experts = experts(shape);
  all_experts.experts->dense_layers = 0;
  for (const std::string_view name : all_names()) {
    CAPTURE(name);
    ExecutionOptions options;
    std::set<Collective> used;
    options.schedule_of = by(name, used);
    for (const ParallelConfig& parallel :
         {tensor, sharded, servers, sharded4, context(ContextKind::ring, 4, true),
          context(ContextKind::ulysses, 4, true)}) {
      CHECK(trouble(model_of(shape), parallel, single_device(parallel), options) == "");
    }
    CHECK(trouble(model_of(all_experts), spread, single_device(spread), options) == "");
    for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
      if (algorithm.name != name || !trains(algorithm.collective)) continue;
      CAPTURE(to_string(algorithm.collective));
      CHECK(used.contains(algorithm.collective));
    }
  }
}

}  // namespace
}  // namespace lockstep::test
