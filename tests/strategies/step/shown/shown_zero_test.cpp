#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/shown/shown_scenario.hpp"

/// Model states of 7.5e9 parameters on 64 GPUs: Rajbhandari et al., ZeRO, arXiv 1910.02054,
/// figure 1.
namespace lockstep::test {
namespace {

struct Stage {
  int zero;
  double bytes_per_parameter;
  double paper_gb;  // 1e9 bytes
};

constexpr double kRanks = 64;

const Stage kStages[] = {
    {0, 16, 120}, {1, 4 + 12 / kRanks, 31.4}, {2, 2 + 14 / kRanks, 16.6}, {3, 16 / kRanks, 1.9}};

/// Weights, gradients and optimizer states that a rank keeps through the step.
[[nodiscard]] double states_gb(const Scenario& scenario) {
  const Program program =
      build_program(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node());
  return static_cast<double>(model_state_bytes(resident_bytes(unroll(program, 0))).count()) / 1e9;
}

}  // namespace

TEST_CASE("zero-7b5: 120, 31.4, 16.6 and 1.9 GB of model states") {
  for (const Stage& stage : kStages) {
    CAPTURE(stage.zero);
    const Scenario scenario = shipped_scenario("zero-7b5-" + std::to_string(stage.zero));
    CHECK(scenario.parallel.zero == stage.zero);
    const auto n = static_cast<double>(count_parameters(scenario.model).total());
    CHECK(within(n, 7.5e9, 0.01));
    const double gb = states_gb(scenario);
    // Every tensor is cut into 64 equal parts: padding of less than 64 elements each.
    CHECK(within(gb, stage.bytes_per_parameter * n / 1e9, 1e-4));
    // The paper's N is 7.5e9 and its figures are rounded to one digit.
    CHECK(std::abs(gb * 7.5e9 / n - stage.paper_gb) < 0.05);
  }
}

TEST_CASE("zero-7b5: only what is sharded fits an A100 of 80 GB") {
  for (const Stage& stage : kStages) {
    CAPTURE(stage.zero);
    const Shown shown("zero-7b5-" + std::to_string(stage.zero));
    CHECK((shown.peak_bytes() <= shown.gpu_bytes()) == (stage.zero > 0));
    // With activations recomputed, what is beside the states is a few blocks' worth.
    const auto peak = static_cast<double>(shown.peak_bytes()) / 1e9;
    CHECK(peak > states_gb(shown.scenario()));
    CHECK(peak < states_gb(shown.scenario()) + 6);
  }
}

TEST_CASE("zero-7b5: rings between nodes take all eight NICs of a node") {
  // Reduce-scatter and all-gather bring 63/64 of the gradients and of the weights over every hop
  // between nodes, fp16 both, an eighth of it over each NIC; ZeRO-3 gathers weights once more.
  for (const Stage& stage : kStages) {
    CAPTURE(stage.zero);
    const Shown shown("zero-7b5-" + std::to_string(stage.zero));
    const auto n = static_cast<double>(count_parameters(shown.scenario().model).total());
    const double passes = stage.zero == 3 ? 3 : 2;
    const double expected = passes * 2 * n * 63 / 64 / 8;
    CHECK(static_cast<double>(shown.link_bytes("node1/nic0 -> node1/pcie_switch0")) <
          1.5 * expected);
  }
}

TEST_CASE("optimizer-states: master copy and moments, in shards of 8") {
  struct Row {
    std::vector<std::string> set;
    double bytes_per_parameter;
  };
  // A master copy of 4 bytes, and Adam's two moments or one of SGD.
  const Row rows[] = {{{}, 4 + 2 * 4},
                      {{"parallel.state.moments=bf16"}, 4 + 2 * 2},
                      {{"parallel.state.moments=fp8_block"}, 4 + 2 * (1 + 1.0 / 32)},
                      {{"parallel.state.optimizer=momentum"}, 4 + 4},
                      {{"parallel.state.optimizer=sgd"}, 4}};
  for (const Row& row : rows) {
    CAPTURE(row.bytes_per_parameter);
    const Scenario scenario = shipped_scenario("optimizer-states", row.set);
    const Program program =
        build_program(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node());
    const auto states = resident_bytes(unroll(program, 0))[Category::optimizer_state];
    const auto n = static_cast<double>(count_parameters(scenario.model).total());
    // Shards are padded to whole elements and blocks.
    CHECK(within(static_cast<double>(states.count()), row.bytes_per_parameter * n / 8, 1e-4));
  }
}

TEST_CASE("muon: two of 128 squares, one of 64 up and gate, one of 32 down for each of 64") {
  const auto flops = [](double m, double n) { return 5 * (4 * m * m * n + 2 * m * m * m); };
  const Shown shown("muon");
  double orthogonalizing = 0;
  for (const Routine& routine : shown.program().routines)
    for (std::size_t i = 0; i < routine.operations.size(); ++i)
      if (routine.operations[i].kind == OperationKind::orthogonalize)
        orthogonalizing += kernel_of(shown.program(), routine, i).flops;
  CHECK(orthogonalizing == 2 * flops(4096, 4096) + 2 * flops(4096, 11008));
  // Half of the ranks own no matrix of the MLPs' output and wait: 32 become 64 in messages, too.
  const double squares = 128 * 4096.0 * 4096;
  const double sides = 64 * 4096.0 * 11008;
  CHECK(within(static_cast<double>(shown.sent("dp", "update_matrices").bytes),
               2 * 2 * (squares + 2 * sides) / 64, 1e-9));
  // Adam keeps 12 bytes of every parameter; Muon 4 fewer of those of layers.
  const Shown adam("muon", {"parallel.state.optimizer=adam"});
  const double fewer = static_cast<double>(
      (adam.resident()[Category::optimizer_state] - shown.resident()[Category::optimizer_state])
          .count());
  CHECK(within(fewer, 4 * (squares + 1.5 * sides) / 64, 1e-9));
  CHECK(shown.step_s() > adam.step_s());
}

}  // namespace lockstep::test
