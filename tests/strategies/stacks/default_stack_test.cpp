#include "strategies/stacks/default_stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "strategies/measure/confidence/validated_runs.hpp"
#include "strategies/scenario/scenario.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

std::string stack_on(std::string_view kernels, Dtype precision, int zero = 0) {
  return default_stack({kernels, precision, zero, true}).id;
}

Scenario scenario_on(const std::string& gpu, const std::string& members) {
  const std::string text = R"({"cluster": {"gpu": ")" + gpu +
                           R"(", "gpus": 8}, "model": "gpt3-1.3b", "parallel": {"micro_batch": 1,
    "global_batch": 8)" + members +
                           "}}";
  return read_scenario(parse_json(text, "s.json"), "s", {}, kConfigs);
}

}  // namespace

// Hopper in bf16 and fp8: groups dgxc, mcore, nemo and mlperf; V100: group mlm; FSDP2: group tt.
TEST_CASE("the default stack goes by device, precision and sharded weights") {
  CHECK(stack_on("hopper", Dtype::bf16) == "transformer-engine");
  CHECK(stack_on("hopper", Dtype::fp8) == "transformer-engine");
  CHECK(stack_on("blackwell", Dtype::bf16) == "transformer-engine");
  CHECK(stack_on("ampere", Dtype::fp16) == "transformer-engine");
  CHECK(stack_on("hopper", Dtype::bf16, 3) == "fsdp2");
  CHECK(stack_on("ampere", Dtype::fp32) == "fsdp2");
  CHECK(stack_on("cdna-3", Dtype::bf16) == "fsdp2");
  CHECK(stack_on("volta", Dtype::fp16) == "unfused");
  CHECK(default_stack({"ampere", Dtype::fp16, 0, false}).id == "fsdp2");
}

TEST_CASE("validated runs were simulated with every default stack") {
  const std::vector<ValidatedRun> runs =
      load_validated_runs(kConfigs / "validation/residuals.json").runs;
  for (const std::string& id : device_ids(kConfigs / "devices")) {
    const Device device = load_device(kConfigs / "devices" / (id + ".json"));
    for (const Dtype precision : {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::fp8}) {
      for (const int zero : {0, 3}) {
        CAPTURE(id);
        const std::string stack = stack_on(device.kernels, precision, zero);
        CHECK(std::any_of(runs.begin(), runs.end(),
                          [&stack](const ValidatedRun& run) { return run.kind.stack == stack; }));
      }
    }
  }
}

TEST_CASE("a scenario without a stack has the default and says why, a named stack has no reason") {
  const Scenario chosen = scenario_on("h100-sxm5-80gb", R"(, "precision": "fp8")");
  CHECK(chosen.stack == "transformer-engine");
  CHECK(chosen.stack_reason.find("Transformer Engine") != std::string::npos);
  CHECK(scenario_on("a100-sxm4-80gb", R"(, "zero": 3)").stack == "fsdp2");
  // What is resolved names the stack, so that the result's config gives the same step again.
  const Scenario again = read_scenario({"s.json", chosen.resolved}, "s", {}, kConfigs);
  CHECK(again.stack == chosen.stack);
  CHECK(again.stack_reason.empty());
}

// What the sources in configs/stacks say: FSDP2 and DDP hide gradients, FSDP2 the gathering of
// weights, Megatron both with the distributed optimizer, sends of stages with several chunks each.
TEST_CASE(
    "a scenario without overlap has that of its software stack, as far as it has such traffic") {
  const auto overlap = [](const std::string& members) {
    return scenario_on("h100-sxm5-80gb", members).parallel.overlap;
  };
  using Kinds = std::set<Overlap>;
  CHECK(overlap(R"(, "zero": 3)") == Kinds{Overlap::dp_gradients, Overlap::dp_parameters});
  CHECK(overlap(R"(, "zero": 3, "shard_ranks": 4)") ==
        Kinds{Overlap::dp_gradients, Overlap::dp_parameters, Overlap::hsdp});
  CHECK(overlap(R"(, "zero": 3, "overlap": [])").empty());
  CHECK(overlap("").empty());
  CHECK(overlap(R"(, "zero": 1)") == Kinds{Overlap::dp_gradients, Overlap::dp_parameters});
  CHECK(overlap(R"(, "pp": 8)").empty());
  CHECK(overlap(R"(, "pp": 8, "vpp": 3)") == Kinds{Overlap::pp});
  CHECK(overlap(R"(, "cp": 2)") == Kinds{Overlap::cp});
  CHECK(overlap(R"(, "cp": 2, "cp_kind": "ulysses")").empty());
  // V100 has no bf16; its software, Megatron-LM of 2021, hides nothing.
  CHECK(scenario_on("v100-sxm2-16gb", R"(, "precision": "fp16", "zero": 1)")
            .parallel.overlap.empty());
  CHECK(scenario_on("h100-sxm5-80gb", "").overlap_of_stack);
  CHECK_FALSE(scenario_on("h100-sxm5-80gb", R"(, "overlap": ["tp"])").overlap_of_stack);
}

TEST_CASE("what a stack overlaps is no value without effect, and the result's config runs again") {
  const Scenario chosen = scenario_on("h100-sxm5-80gb", R"(, "zero": 3)");
  CHECK(chosen.notes.empty());
  const Scenario again = read_scenario({"s.json", chosen.resolved}, "s", {}, kConfigs);
  CHECK(again.parallel.overlap == chosen.parallel.overlap);
  CHECK_FALSE(again.overlap_of_stack);
}

}  // namespace lockstep
