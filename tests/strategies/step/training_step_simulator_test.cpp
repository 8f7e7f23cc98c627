#include "strategies/step/training_step_simulator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sim/trace/memory/memory.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/devices/device.hpp"

/// Many steps of one simulator are those of a new one for each.
namespace lockstep::test {
namespace {

class Linear final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1.1; }
};

/// Layouts of up to 32 ranks on one cluster that has them all.
struct Bed {
  Cluster cluster = cluster_of("dgx-h100", 32);
  Device device{};
  Linear cost{};
  std::vector<RandomLayout> layouts = random_layouts(11, 25);

  [[nodiscard]] SimulationOptions options(Fidelity fidelity) const {
    SimulationOptions out;
    out.fidelity = fidelity;
    out.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
    return out;
  }
  [[nodiscard]] std::shared_ptr<const Program> program(const RandomLayout& layout) const {
    return std::make_shared<const Program>(
        build_program(layout.model, layout.parallel, cluster.gpus_per_node()));
  }
};

/// Of the first simulated rank of each role.
Bytes peak_of(const SimulatedTrainingStep& step) {
  Bytes most;
  std::set<std::size_t> seen;
  for (const RankTimeline& rank : step.timeline.ranks) {
    if (step.timeline.program->roles[rank.role].host || !seen.insert(rank.role).second) continue;
    const MemoryAccount account = memory_account(step.timeline.roles[rank.role], rank);
    most = std::max(most, account.device.peak.held.total());
  }
  return most;
}

std::string difference(const RankTimeline& a, const RankTimeline& b) {
  if (a.rank != b.rank || a.role != b.role) return "another rank";
  if (!std::ranges::equal(a.operations.ends(), b.operations.ends())) return "other times";
  return a.operations == b.operations ? "" : "waits for others";
}

/// The first; empty: none.
std::string difference(const SimulatedTrainingStep& a, const SimulatedTrainingStep& b) {
  if (a.timeline.ranks.size() != b.timeline.ranks.size()) return "other ranks are simulated";
  for (std::size_t i = 0; i < a.timeline.ranks.size(); ++i) {
    std::string text = difference(a.timeline.ranks[i], b.timeline.ranks[i]);
    if (!text.empty()) return text;
  }
  if (a.timeline.representative_of != b.timeline.representative_of) return "other classes";
  if (a.timeline.end != b.timeline.end) return "the step ends at another time";
  if (a.timeline.link_bytes != b.timeline.link_bytes) return "links carry other amounts";
  if (a.transfers != b.transfers) return "other transfers";
  if (a.fidelity != b.fidelity) return "another fidelity";
  return a.algorithms == b.algorithms ? "" : "other algorithms are reported";
}

}  // namespace

TEST_CASE("a simulator's steps are those that simulate() gives, whatever came before") {
  const Bed bed;
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::representatives}) {
    const SimulationOptions options = bed.options(fidelity);
    TrainingStepSimulator simulator{
        std::make_shared<const SimulatedCluster>(bed.cluster, bed.device, options), options};
    for (int round = 0; round < 2; ++round) {  // the second knows every collective
      for (const RandomLayout& layout : bed.layouts) {
        CAPTURE(to_string(layout));
        const auto program = bed.program(layout);
        const RolePrograms roles = unroll(*program);
        const SimulatedTrainingStep own =
            simulate(program, roles, layout.parallel, bed.cluster, bed.device, bed.cost, options);
        const SimulatedTrainingStep step =
            simulator.simulate(program, roles, layout.parallel, bed.cost);
        CHECK(difference(step, own) == "");
        const TrainingStepOutcome outcome =
            simulator.outcome(*program, roles, layout.parallel, bed.cost);
        CHECK(outcome.step == own.timeline.end.since_start());
        CHECK(outcome.fidelity == own.fidelity);
        CHECK(outcome.peak_memory == peak_of(own));
      }
    }
  }
}

/// 8 replicas of 4 stages, of which one rank is slower, so that all differ. What they differ in is
/// counted where the replay takes more than 2^16 instants: 4,096 microbatches a rank, forward and
/// backward over two layers.
TEST_CASE("a step ends where too many operations have times of their own, with the count") {
  const Bed bed;
  RandomLayout layout{
      transformer({.layers = 8, .hidden = 64, .heads = 4, .sequence = 16, .vocabulary = 128}), {}};
  layout.parallel.dp = 8;
  layout.parallel.pp = 4;
  layout.parallel.schedule = PipelineOrder::one_f_one_b;
  layout.parallel.global_batch = 8 * 4096;
  const auto program = bed.program(layout);
  SimulationOptions options = bed.options(Fidelity::all_ranks);
  options.speeds = {{5, {.speed = 0.5}}};
  const auto step = [&] {
    return simulate(program, layout.parallel, bed.cluster, bed.device, bed.cost, options);
  };
  options.most_distinct = 1e8;
  CHECK(step().fidelity == Fidelity::all_ranks);
  options.most_distinct = 1000;
  std::string text;
  try {
    (void)step();
  } catch (const TrainingStepTooLarge& error) {
    text = error.what();
  }
  CHECK(text.find(" of 32 ranks have times of their own, of ") != std::string::npos);
  CHECK(text.find("at the most 0 million can be simulated") != std::string::npos);
  // What the first report allows is exceeded by three times that by the end; a rank that is slow
  // for a time only could be the last to differ.
  layout.parallel.global_batch = 8 * 8192;
  const auto longer = bed.program(layout);
  const auto long_step = [&] {
    (void)simulate(longer, layout.parallel, bed.cluster, bed.device, bed.cost, options);
  };
  double first = 0;
  options.on_replay = [&](const ReplayProgress& progress) {
    if (first > 0) return;
    for (std::size_t s = 0; s < progress.stream_ends->size(); ++s)
      first += static_cast<double>(progress.stream_ends->own(s)) / progress.share;
  };
  options.most_distinct = 1e9;
  long_step();
  REQUIRE(first > 0);
  options.most_distinct = first / 3;
  int reports = 0;
  options.on_replay = [&](const ReplayProgress&) { ++reports; };
  CHECK_THROWS_WITH_AS(long_step(), doctest::Contains(" million by its end; at the most "),
                       TrainingStepTooLarge);
  CHECK(reports == 0);
  options.speeds = {{5, {.speed = 0.5, .windows = {{.from = TimePoint{1_ps}, .speed = 0.9}}}}};
  try {
    long_step();
  } catch (const TrainingStepTooLarge& error) {
    CHECK(std::string{error.what()}.find("by its end") == std::string::npos);
  }
  CHECK(reports > 0);
}

TEST_CASE("simulators of several threads share what their cluster says") {
  const Bed bed;
  const SimulationOptions options = bed.options(Fidelity::automatic);
  const auto on = std::make_shared<const SimulatedCluster>(bed.cluster, bed.device, options);
  const auto all = [&] {
    std::vector<Duration> out;
    TrainingStepSimulator simulator{on, options};
    for (const RandomLayout& layout : bed.layouts) {
      const auto program = bed.program(layout);
      out.push_back(simulator.outcome(*program, unroll(*program), layout.parallel, bed.cost).step);
    }
    return out;
  };
  std::vector<Duration> other;
  std::thread thread{[&] { other = all(); }};
  const std::vector<Duration> own = all();
  thread.join();
  CHECK(own == other);
}

}  // namespace lockstep::test
