#include "sim/program/periods.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "sim/trace/memory/peak_memory.hpp"
#include "strategies/step/repeating_parts.hpp"
#include "strategies/step/training_step_simulator.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/devices/device.hpp"

/// Steps of a few periods stand for steps of many: expected are the times and the memory of the
/// whole step.
namespace lockstep::test {
namespace {

class Linear final : public CostModel {
 public:
  explicit Linear(Duration host) : host_{host} {}
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] Duration host_time(const Kernel&) const override { return host_; }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1.1; }

 private:
  Duration host_;
};

[[nodiscard]] ParallelConfig pipeline(PipelineOrder schedule, int stages, int chunks,
                                      int microbatches) {
  ParallelConfig out;
  out.pp = stages;
  out.vpp = chunks;
  out.schedule = schedule;
  out.global_batch = microbatches;
  return out;
}

[[nodiscard]] Program program_of(const ParallelConfig& parallel) {
  TransformerConfig shape;
  shape.layers = 16;
  shape.hidden = 32;
  shape.heads = 4;
  shape.kv_heads = 4;
  shape.sequence = 16;
  shape.vocabulary = 64;
  return build_program(transformer(shape), parallel, 8);
}

[[nodiscard]] Bytes in_order(const RolePrograms& roles) {
  Bytes out;
  for (const RoleProgram& role : roles) out = std::max(out, peak_memory_in_order(role));
  return out;
}

}  // namespace

// A stage of 1F1B does one forward and one backward pass per microbatch; Megatron-LM's interleaved
// order goes through all chunks with as many microbatches as stages (Narayanan et al., arXiv
// 2104.04473, figure 4).
TEST_CASE("a period is one microbatch of 1F1B, and one of each stage of an interleaved pipeline") {
  const auto plain = find_periods(program_of(pipeline(PipelineOrder::one_f_one_b, 4, 1, 24)));
  REQUIRE(plain);
  CHECK(plain->microbatches == 1);
  CHECK(plain->periods >= 24 - 2 * 4);
  const auto interleaved = find_periods(program_of(pipeline(PipelineOrder::interleaved, 4, 2, 40)));
  REQUIRE(interleaved);
  CHECK(interleaved->microbatches == 4);
  CHECK(interleaved->periods >= 10 - 4);
  const auto single = find_periods(program_of(pipeline(PipelineOrder::one_f_one_b, 1, 1, 12)));
  REQUIRE(single);
  CHECK(single->microbatches == 1);
}

// GPipe's forward passes repeat, but its backward passes need all of them.
TEST_CASE("nothing is left out of GPipe, nor of few microbatches") {
  const Program all_forward_first = program_of(pipeline(PipelineOrder::gpipe, 2, 1, 24));
  CHECK_FALSE(shortened(all_forward_first));
  CHECK_FALSE(shortened(program_of(pipeline(PipelineOrder::one_f_one_b, 4, 1, 4))));
  CHECK_FALSE(shortened(program_of(pipeline(PipelineOrder::one_f_one_b, 1, 1, 1))));
}

// The same model and layout with fewer microbatches gives the calls that are expected.
TEST_CASE("a shortened program is that of a smaller batch") {
  for (const PipelineOrder schedule : {PipelineOrder::one_f_one_b, PipelineOrder::interleaved}) {
    const int chunks = schedule == PipelineOrder::interleaved ? 2 : 1;
    const auto shorter = shortened(program_of(pipeline(schedule, 4, chunks, 64)));
    REQUIRE(shorter);
    const int left_out = static_cast<int>(shorter->left_out) * shorter->periods.microbatches;
    REQUIRE(left_out > 0);
    const Program expected = program_of(pipeline(schedule, 4, chunks, 64 - left_out));
    for (std::size_t i = 0; i < expected.roles.size(); ++i) {
      const std::vector<Call>& calls = shorter->program.roles[i].calls;
      const auto same = [&](const Call& a, const Call& b) {
        return expected.routines[a.routine].name == shorter->program.routines[b.routine].name &&
               a.position == b.position && a.microbatch == b.microbatch;
      };
      CHECK(std::equal(expected.roles[i].calls.begin(), expected.roles[i].calls.end(),
                       calls.begin(), calls.end(), same));
    }
  }
}

TEST_CASE("a step of a few periods has the time and the memory of the whole step") {
  const Cluster cluster = cluster_of("dgx-h100", 32);
  SimulationOptions options;
  options.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
  const Device device{};
  TrainingStepSimulator simulator{
      std::make_shared<const SimulatedCluster>(cluster, device, options), options};
  int settled = 0;
  int pipelines = 0;
  int late = 0;
  // Launches: free; too quick to matter; slower than the device.
  for (const std::int64_t host_ps : {0, 10, 1'000'000'000}) {
    const Linear cost{Duration::picoseconds(host_ps)};
    for (RandomLayout layout : random_layouts(23 + static_cast<std::uint64_t>(host_ps), 120)) {
      layout.parallel.global_batch =
          layout.parallel.micro_batch * layout.parallel.dp * layout.parallel.pp * 12;
      if (!possible(layout)) continue;
      CAPTURE(to_string(layout));
      const Program program = build_program(layout.model, layout.parallel, 8);
      const auto periods = find_periods(program);
      if (!periods) continue;
      // One period more or less than is usual: too few must not pass for settled.
      for (const std::size_t kept : {1, 2, 3}) {
        const auto shorter = shortened(program, *periods, kept);
        if (!shorter) continue;
        const RolePrograms few = unroll(shorter->program);
        const RolePrograms all = unroll(program);
        Bytes held;
        for (const RoleProgram& role : few)
          held = std::max(held, peak_memory_in_order(role) + resident_of_left_out(*shorter, role));
        CHECK(held <= in_order(all));
        if (kept > 2) CHECK(held == in_order(all));
        const auto outcome = simulator.outcome(*shorter, few, layout.parallel, cost);
        if (!outcome) continue;
        const TrainingStepOutcome whole = simulator.outcome(program, all, layout.parallel, cost);
        CHECK(outcome->step == whole.step);
        CHECK(outcome->peak_memory == whole.peak_memory);
        CHECK(outcome->fidelity == whole.fidelity);
        ++settled;
        if (layout.parallel.pp > 1) ++pipelines;
        if (host_ps > 10) ++late;
      }
    }
  }
  CHECK(settled >= 40);
  CHECK(pipelines >= 10);
  CHECK(late == 0);
}

}  // namespace lockstep::test
