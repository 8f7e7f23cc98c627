#include "strategies/step/lowering/coarse_rank_classes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "sim/program/communicator.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/step/replayed_times.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/routing/lower.hpp"

namespace lockstep::test {
namespace {

/// 1e12 operations and 1e11 bytes a second.
class Rates final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
};

/// A layout on a star, where all groups of a communication sit alike.
class ClassesUnderTest {
 public:
  ClassesUnderTest(const RandomLayout& layout, RankSpeeds speeds)
      : layout_{layout},
        cluster_{switched(layout.parallel.ranks())},
        network_{lower(cluster_, Endpoint{})},
        program_{std::make_shared<const Program>(
            build_program(layout.model, layout.parallel, cluster_.gpus_per_node()))},
        speeds_{std::move(speeds)} {
    for (std::size_t i = 0; i < program_->roles.size(); ++i) roles_.push_back(unroll(*program_, i));
    kinds_.emplace(*program_, roles_, speeds_);
  }

  [[nodiscard]] const CoarseRankClasses& kinds() const { return *kinds_; }

  /// What is simulated of every rank for itself, communications taking the same times.
  [[nodiscard]] TrainingStepTimeline of_everybody() const {
    std::vector<int> ranks(kinds().class_of().size());
    std::iota(ranks.begin(), ranks.end(), 0);
    return timeline(ranks, nullptr);
  }
  [[nodiscard]] TrainingStepTimeline of_kinds() const {
    return timeline(kinds().representatives(), &*kinds_);
  }

  void check_same() const {
    const TrainingStepTimeline all = of_everybody();
    const TrainingStepTimeline some = of_kinds();
    CHECK(all.end == some.end);
    for (std::size_t rank = 0; rank < all.ranks.size(); ++rank) {
      const RankTimeline& own = all.ranks[rank];
      const RankTimeline& other = some.ranks[kinds().class_of()[rank]];
      REQUIRE(own.role == other.role);
      CAPTURE(rank);
      for (std::size_t i = 0; i < own.operations.size(); ++i)
        REQUIRE(own.operations[i].end == other.operations[i].end);
    }
  }

 private:
  [[nodiscard]] TrainingStepTimeline timeline(const std::vector<int>& ranks,
                                              const CoarseRankClasses* kinds) const {
    const ReducingSwitches none;
    CollectiveChoice choice{cluster_,
                            network_,
                            none,
                            Device{},
                            load_nccl_tuning(LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json", {}),
                            layout_.parallel.algorithms};
    const int hosts_after = cluster_.ranks() - program_->mesh.ranks();
    const auto endpoint = [this, hosts_after](int rank) {
      return static_cast<EndpointId>(rank < program_->mesh.ranks() ? rank : rank + hosts_after);
    };
    ReplayedTimes times{*program_, cluster_, network_, NetworkModel::fluid, choice, endpoint};
    const Rates cost;
    const KernelTimes kernels{*program_, cost, {}};
    const LoweredProgram lowered = lower_program(
        {*program_, roles_, ranks, kernels, choice, &times, endpoint, 1, speeds_, nullptr, kinds});
    const ReplayResult result = replay(network_, lowered.workload, NetworkModel::fluid);
    REQUIRE(result.unfinished.empty());
    TrainingStepTimeline out = timeline_of(program_, roles_, ranks, lowered, result.stream_ends);
    out.end = result.end;
    return out;
  }

  RandomLayout layout_;
  Cluster cluster_;
  Network network_;
  std::shared_ptr<const Program> program_;
  RankSpeeds speeds_;
  std::vector<RoleProgram> roles_;
  std::optional<CoarseRankClasses> kinds_;
};

TEST_CASE("a straggler parts its group, its pipeline and those that add gradients up with them") {
  // Of each of two stages of dp 4 * tp 2, ranks 0 to 7 and 8 to 15: the slow one; its partner of
  // the same replica; who adds up gradients with the one; who does with the other. The second stage
  // hears from these.
  RandomLayout layout;
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 64;
  shape.heads = 8;
  shape.sequence = 16;
  shape.vocabulary = 64;
  layout.model = transformer(shape);
  layout.parallel.tp = 2;
  layout.parallel.pp = 2;
  layout.parallel.dp = 4;
  layout.parallel.global_batch = 8;
  layout.parallel.schedule = PipelineOrder::gpipe;
  const ClassesUnderTest alike{layout, {}};
  CHECK(alike.kinds().representatives() == std::vector<int>{0, 8});
  const ClassesUnderTest of{layout, {{3, {0.5, {}}}}};
  CHECK(of.kinds().representatives() == std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(of.kinds().representative_of(5) == 1);
  CHECK(of.kinds().representative_of(14) == 8);
  const std::vector<RankEquivalenceClass> told = of.kinds().describe();
  CHECK(told[0].members == 3);
  CHECK(told[0].difference.empty());
  CHECK(told[1].difference == "is in one dp group with rank 3");
  CHECK(told[2].difference == "is in one tp group with rank 3");
  CHECK(told[3].difference == "computes at 0.5 of the speed");
  of.check_same();
}

TEST_CASE("one rank of each kind does what every rank of it does, whatever the layout") {
  // Both take the same times for communications, so it is a matter of who waits for whom.
  std::mt19937_64 draw{31};
  for (const RandomLayout& layout : random_layouts(33, 40)) {
    RankSpeeds speeds;
    const auto ranks = static_cast<std::uint64_t>(layout.parallel.ranks());
    for (std::uint64_t i = draw() % 3; i < 3; ++i)
      speeds[static_cast<int>(draw() % ranks)].speed = draw() % 2 == 0 ? 0.8 : 1.25;
    if (layout.parallel.ranks() % 3 == 0)
      speeds[static_cast<int>(ranks / 2)].windows = {{TimePoint{5_us}, TimePoint{20_us}, 0.3}};
    CAPTURE(to_string(layout));
    ClassesUnderTest{layout, speeds}.check_same();
  }
}

}  // namespace
}  // namespace lockstep::test
