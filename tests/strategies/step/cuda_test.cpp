#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/command_graph/device_numbers.hpp"
#include "sim/execute/command_graph/open_backend.hpp"
#include "sim/execute/schedule_checks/numeric.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/verification/shrink/shrink.hpp"
#include "strategies/verification/verify_strategy.hpp"
#include "tests/sim/execute/device_program/large_cases.hpp"
#include "tests/sim/execute/device_program/operation_on_device.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// What only GPUs can show: numbers of every algorithm and strategy, times that make sense, errors
/// that say what was being done. Where there is no GPU each says so and is skipped.
namespace lockstep {
namespace {

/// Carried to another machine (tools/cuda_bundle.sh), the test is told where they are.
const std::string kConfigs = [] {
  const char* given = std::getenv("LOCKSTEP_CONFIGS");
  return given == nullptr ? std::string{LOCKSTEP_SOURCE_DIR "/configs"} : std::string{given};
}();

/// Null where there is none.
std::unique_ptr<Backend> gpus() {
  try {
    return open_backend("cuda");
  } catch (const NoDevice& none) {
    MESSAGE("skipped: " << std::string{none.what()});
    return nullptr;
  }
}

double seconds_of_copy(Backend& gpu, std::int64_t bytes) {
  CommandGraphBuilder graph{1};
  graph.add_stream("timed", 0);
  const std::int64_t count = bytes / 4;
  graph.add_buffer("from", 0, NumberType::fp32, count);
  graph.add_buffer("to", 0, NumberType::fp32, count);
  graph.copy(0, {1, 0, count}, {0, 0, count});
  const auto loaded = gpu.load(graph.graph());
  loaded->scatter_numbers(0, {}, 1);
  return median(loaded->seconds(3, 9));
}

std::string error_of(Backend& gpu, const CommandGraph& graph) {
  try {
    (void)gpu.load(graph);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("every algorithm computes the right numbers on GPUs, in fp32, bf16 and fp16") {
  const auto gpu = gpus();
  if (gpu == nullptr) return;
  for (const RowCase& row : every_row({2, 3, 8})) {
    if (row.row->collective == Collective::barrier) continue;
    const SchedulePtr schedule = row.make();
    for (const NumberType type : {NumberType::fp32, NumberType::bf16, NumberType::fp16}) {
      for (const bool nccl : {false, true}) {
        if (nccl && gpu->count() == 1) continue;
        CAPTURE(row.name());
        CAPTURE(to_string(type));
        CAPTURE(nccl);
        DeviceNumbers how;
        how.type = type;
        how.devices = std::min(gpu->count(), schedule->ranks());
        how.load.nccl = nccl;
        NumericOptions options;
        options.significand = significand_bits(type);
        options.run = move_on_device(*gpu, how);
        const NumericVerdict verdict =
            check_numbers(*schedule, row.contract(*schedule), 3 * schedule->blocks() + 1, options);
        CHECK_MESSAGE(verdict.right(), verdict.problem());
      }
    }
  }
}

TEST_CASE("every kernel computes on a GPU what the oracle does") {
  const auto gpu = gpus();
  if (gpu == nullptr) return;
  for (const auto& cases : {gradient_cases(), large_cases()}) {
    for (const GradientCase& test : cases) {
      CAPTURE(test.forward.name);
      for (const bool adds : {false, true}) {
        CAPTURE(adds);
        CHECK(largest_error(test, {gpu.get(), NumberType::fp64, adds}) < 1e-11);
        CHECK(largest_error(test, {gpu.get(), NumberType::fp32, adds}) < 1e-4);
        CHECK(largest_error(test, {gpu.get(), NumberType::fp16, adds}) < 0.01);
        CHECK(largest_error(test, {gpu.get(), NumberType::bf16, adds}) < 0.08);
      }
    }
  }
}

TEST_CASE("every shipped scenario trains as one device does on GPUs") {
  const auto gpu = gpus();
  if (gpu == nullptr) return;
  for (const auto& entry : std::filesystem::directory_iterator{kConfigs + "/scenarios"}) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path());
    const Scenario scenario = load_scenario(entry.path(), {}, kConfigs);
    ShrinkLimits limits;
    limits.ranks = 16;
    const ShrunkLayout graph =
        shrink(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node(), limits);
    for (const bool float32 : {false, true}) {
      VerificationOptions options;
      options.steps = 2;
      options.device = gpu.get();
      options.devices = std::min(gpu->count(), graph.parallel.ranks());
      options.float32 = float32;
      const VerificationReport report =
          verify_strategy(graph.model, graph.parallel, graph.gpus_per_node, options);
      CHECK_MESSAGE(report.problem().empty(), report.problem());
    }
  }
}

TEST_CASE("more bytes take longer, and no memory is faster than any that is sold") {
  const auto gpu = gpus();
  if (gpu == nullptr) return;
  const double small = seconds_of_copy(*gpu, std::int64_t{1} << 12);
  const double large = seconds_of_copy(*gpu, std::int64_t{1} << 30);
  CHECK(small > 0);
  CHECK(large > 10 * small);
  // Read once and written once, in 2^30 bytes; 20 TB/s is beyond every datasheet of today.
  CHECK(2 * 1.073741824e9 / large < 20e12);
}

TEST_CASE("what does not fit says for what, how much there is, and that memory is out") {
  const auto gpu = gpus();
  if (gpu == nullptr) return;
  CommandGraphBuilder graph{1};
  graph.add_stream("timed", 0);
  graph.add_buffer("rank 0 data", 0, NumberType::fp64, std::int64_t{1} << 45);
  const std::string error = error_of(*gpu, graph.graph());
  CHECK(error.find("for rank 0 data on GPU 0: out of memory") != std::string::npos);
  // And what comes after still works.
  CHECK(seconds_of_copy(*gpu, 4096) > 0);
}

TEST_CASE("a graph for more GPUs than there are is refused, with both numbers") {
  const auto gpu = gpus();
  if (gpu == nullptr) return;
  CommandGraphBuilder graph{gpu->count() + 1};
  CHECK(error_of(*gpu, graph.graph()) == "a plan for " + std::to_string(gpu->count() + 1) +
                                             " GPUs where there are " +
                                             std::to_string(gpu->count()));
}

}  // namespace
}  // namespace lockstep
