#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "sim/engine/replay_reusing.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "strategies/step/training_step_simulator.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/routing/lower.hpp"

/// Calls that take turns against one call per use, which is what the engine is tested with.
namespace lockstep::test {
namespace {

/// 1e12 operations and 1e11 bytes a second; 1.3 times as long while communicating.
class Rates final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1.3; }
};

class LoweredBothWays {
 public:
  LoweredBothWays(const RandomLayout& layout, RankSpeeds speeds)
      : cluster_{switched(layout.parallel.ranks())},
        network_{lower(cluster_, Endpoint{})},
        program_{std::make_shared<const Program>(
            build_program(layout.model, layout.parallel, cluster_.gpus_per_node()))},
        speeds_{std::move(speeds)},
        algorithms_{layout.parallel.algorithms} {
    for (std::size_t i = 0; i < program_->roles.size(); ++i) roles_.push_back(unroll(*program_, i));
  }

  [[nodiscard]] LoweredProgram lowered(bool in_turn) const {
    const ReducingSwitches none;
    CollectiveChoice choice{cluster_,
                            network_,
                            none,
                            Device{},
                            load_nccl_tuning(LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json", {}),
                            algorithms_};
    std::vector<int> ranks(static_cast<std::size_t>(program_->mesh.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    const Rates cost;
    const KernelTimes kernels{*program_, cost, {}};
    return lower_program({.program = *program_,
                          .roles = roles_,
                          .ranks = ranks,
                          .kernels = kernels,
                          .choice = choice,
                          .endpoint = [](int rank) { return static_cast<EndpointId>(rank); },
                          .slowdown = cost.slowdown_while_communicating(),
                          .speeds = speeds_,
                          .calls_in_turn = in_turn});
  }

  /// Returns how many calls take turns fewer.
  std::size_t check_same() const {
    const LoweredProgram each = lowered(false);
    const LoweredProgram turns = lowered(true);
    REQUIRE(each.places.size() == turns.places.size());
    const ReplayResult expected = replay(network_, each.workload, NetworkModel::fluid);
    REQUIRE(expected.unfinished.empty());
    CHECK(replay(network_, turns.workload, NetworkModel::fluid).stream_ends ==
          expected.stream_ends);
    const ReplayResult reusing = replay_reusing(network_, turns.workload, NetworkModel::fluid, {});
    CHECK(reusing.stream_ends == expected.stream_ends);
    CHECK(reusing.link_bytes == expected.link_bytes);
    CHECK(reusing.transfers == expected.transfers);
    REQUIRE(turns.workload.calls.size() <= each.workload.calls.size());
    return each.workload.calls.size() - turns.workload.calls.size();
  }

 private:
  Cluster cluster_;
  Network network_;
  std::shared_ptr<const Program> program_;
  RankSpeeds speeds_;
  std::vector<RoleProgram> roles_;
  decltype(ParallelConfig::algorithms) algorithms_;
};

TEST_CASE("a tensor-parallel group has two calls of a kind, however many layers and microbatches") {
  RandomLayout layout;
  TransformerConfig shape;
  shape.layers = 4;
  shape.hidden = 64;
  shape.heads = 8;
  shape.sequence = 16;
  shape.vocabulary = 64;
  layout.model = transformer(shape);
  layout.parallel.tp = 2;
  layout.parallel.dp = 2;
  layout.parallel.global_batch = 8;
  const auto calls_of_first_pair = [](const LoweredProgram& of) {
    return std::count_if(of.workload.calls.begin(), of.workload.calls.end(),
                         [](const CollectiveCall& call) {
                           return call.members == std::vector<EndpointId>{0, 1};
                         });
  };
  const LoweredBothWays four{layout, {}};
  CHECK(calls_of_first_pair(four.lowered(false)) > 16);
  const auto in_turn = calls_of_first_pair(four.lowered(true));
  std::map<std::pair<const Schedule*, std::int64_t>, int> of_kind;
  for (const CollectiveCall& call : four.lowered(true).workload.calls)
    if (call.members == std::vector<EndpointId>{0, 1})
      ++of_kind[{call.schedule.get(), call.block.count()}];
  REQUIRE(of_kind.size() > 1);
  for (const auto& [kind, calls] : of_kind) CHECK(calls == 2);
  shape.layers = 8;
  layout.model = transformer(shape);
  layout.parallel.global_batch = 16;
  CHECK(calls_of_first_pair(LoweredBothWays{layout, {}}.lowered(true)) == in_turn);
  CHECK(four.check_same() > 16);
}

TEST_CASE("calls that take turns give the times of calls of their own, whatever the layout") {
  std::mt19937_64 draw{47};
  std::size_t fewer = 0;
  for (const RandomLayout& layout : random_layouts(48, 40)) {
    RankSpeeds speeds;
    const auto ranks = static_cast<std::uint64_t>(layout.parallel.ranks());
    for (std::uint64_t slow = draw() % 3; slow > 0; --slow)
      speeds[static_cast<int>(draw() % ranks)] = {0.5 + 0.1 * static_cast<double>(draw() % 5), {}};
    CAPTURE(to_string(layout));
    fewer += LoweredBothWays{layout, speeds}.check_same();
  }
  CHECK(fewer > 1000);
}

TEST_CASE("a step that is not folded has no calls in turn: it is what others are compared with") {
  const Network network = lower(switched(4), Endpoint{});
  SimulationOptions options;
  for (const Folding folding : {Folding::automatic, Folding::always}) {
    options.fold = folding;
    CHECK(calls_take_turns(options, network));
  }
  options.fold = Folding::off;
  CHECK_FALSE(calls_take_turns(options, network));
  options.fold = Folding::automatic;
  options.network = NetworkModel::queue;  // messages wait for each other: their order counts
  CHECK_FALSE(calls_take_turns(options, network));
}

}  // namespace
}  // namespace lockstep::test
