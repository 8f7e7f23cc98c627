#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "sim/config/json/json_values.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

/// The scenarios that ship, and their schema.
namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

std::vector<std::filesystem::path> shipped() {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs + "/scenarios")) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  return {files.begin(), files.end()};
}

Scenario load(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return load_scenario(kConfigs + "/scenarios/" + name + ".json", overrides, kConfigs);
}

SchemaAgreement agreement() {
  return {kConfigs + "/schema/scenario.schema.json", [](std::string_view text) {
            (void)read_scenario(parse_json(text, kConfigs + "/scenarios/s.json"), "s", {},
                                kConfigs);
          }};
}

TEST_CASE("every scenario of the definitions ships") {
  const std::set<std::string> expected{"attention-two-gpus",
                                       "collective-algorithms",
                                       "data-parallel-from-scratch",
                                       "deepseek-v3-2048-h800",
                                       "diffusion-transformer",
                                       "diloco-two-sites",
                                       "encoder-decoder",
                                       "expert-dispatch",
                                       "gpt-moe",
                                       "gpt3-a100-memory",
                                       "gpt3-v100",
                                       "host-average",
                                       "hsdp-two-sites",
                                       "kinetics-summit",
                                       "llama3-405b-16k-h100",
                                       "llama3-70b-dgx-h100",
                                       "llama7b-256",
                                       "mlp-two-gpus",
                                       "moe-parallel-folding",
                                       "multi-token-prediction",
                                       "muon",
                                       "optimizer-offload",
                                       "optimizer-states",
                                       "parameter-server",
                                       "pipeline-1f1b",
                                       "pipeline-dualpipe",
                                       "pipeline-gpipe",
                                       "pipeline-interleaved",
                                       "pipeline-naive",
                                       "pipeline-v",
                                       "pipeline-zb",
                                       "precision-recipes",
                                       "sequence-2d",
                                       "sequence-all-gather",
                                       "sequence-ring",
                                       "sequence-ulysses",
                                       "sliding-window",
                                       "vision-transformer",
                                       "zero-7b5-0",
                                       "zero-7b5-1",
                                       "zero-7b5-2",
                                       "zero-7b5-3",
                                       "zero2-accumulation"};
  std::set<std::string> found;
  for (const auto& file : shipped()) found.insert(file.stem().string());
  CHECK(found == expected);
}

TEST_CASE("every scenario can be read, says what it shows, and leads to itself when resolved") {
  for (const auto& file : shipped()) {
    CAPTURE(file.string());
    const Scenario scenario = load_scenario(file, {}, kConfigs);
    CHECK(scenario.name == file.stem().string());
    CHECK(scenario.summary.size() > 40);
    CHECK(scenario.parallel.ranks() == scenario.cluster.cluster.ranks());
    const std::string resolved = json_text(scenario.resolved);
    const Scenario again = read_scenario(parse_json(resolved, "r.json"), "r", {}, kConfigs);
    CHECK(json_text(again.resolved) == resolved);
  }
}

TEST_CASE("reader and schema agree on what is a scenario") {
  const SchemaAgreement both = agreement();
  for (const auto& file : shipped()) {
    CAPTURE(file.string());
    CHECK(both.verdict(text_of_file(file)) == "both accept");
  }
  const std::string good = text_of_file(kConfigs + "/scenarios/llama7b-256.json");
  const std::vector<Mutation> mutations{
      {"no cluster", "/cluster", ""},
      {"no model", "/model", ""},
      {"a cluster that is a number", "/cluster", "7"},
      {"a cluster of no nodes", "/cluster/nodes", "0"},
      {"an unknown key", "/clusters", "{}"},
      {"an unknown key of a plan", "/parallel/tq", "1"},
      {"a degree of zero", "/parallel/tp", "0"},
      {"a degree that is no integer", "/parallel/tp", "1.5"},
      {"an axis twice", "/parallel/order", R"(["tp", "tp", "dp", "pp"])"},
      {"an axis missing", "/parallel/order", R"(["tp", "cp", "dp"])"},
      {"no such schedule", "/parallel/schedule", "\"1f2b\""},
      {"no such recomputation", "/parallel/recompute", "true"},
      {"no such overlap", "/parallel/overlap", R"(["edp"])"},
      {"no such start of the update", "/parallel/update", "\"by_layer\""},
      {"no such reduction", "/parallel/reduce_gradients", "\"never\""},
      {"ZeRO-4", "/parallel/zero", "4"},
      {"a bucket without a unit", "/parallel/bucket", "25000000"},
      {"a skew below the mean", "/parallel/expert_skew", "0.5"},
      {"an unknown group", "/parallel/algorithms", R"({"xp": "ring"})"},
      {"an unknown state", "/parallel/state", R"({"weight": "fp32"})"},
      {"no tokens", "/tokens", "0"},
      {"tokens as a text", "/tokens", "\"1e12\""},
      {"a rate without its unit", "/sustained", "\"28\""},
      {"a negative seed", "/seed", "-1"},
      {"a memory that is no yes or no", "/ignore_memory", "1"}};
  for (const Mutation& mutation : mutations) {
    CAPTURE(mutation.name);
    CHECK(both.verdict(mutated(good, mutation)) == "both refuse");
  }
}

TEST_CASE("an impossible layout says what would be possible, and which override made it so") {
  const auto error = [](const std::string& name, const std::vector<std::string>& overrides) {
    try {
      (void)load(name, overrides);
    } catch (const ConfigError& refused) {
      return refused.problems().front().file + ": " + refused.problems().front().message;
    }
    return std::string{"accepted"};
  };
  const std::string heads = error("attention-two-gpus", {"cluster.ranks=3", "parallel.tp=3"});
  CHECK(heads.find("--set parallel.tp=3: tp = 3 does not divide heads = 32, ffn = 16384, ") == 0);
  CHECK(heads.find("; it may be 1, 2, 4, 8, 16, 32") != std::string::npos);
  CHECK(error("llama7b-256", {"parallel.global_batch=1000"})
            .find("--set parallel.global_batch=1000: global_batch = 1000 is not a multiple of") ==
        0);
  CHECK(
      error("pipeline-interleaved", {"parallel.global_batch=18"})
          .find(
              "interleaved takes 18 microbatches in groups of 4: the last has 2, fewer than the 4 "
              "stages, which none may: microbatch_group = 6 would") != std::string::npos);
  CHECK(error("sequence-ulysses", {"cluster.nodes=8", "parallel.cp=64"})
            .find("an all-to-all over 64 ranks") != std::string::npos);
}

}  // namespace
}  // namespace lockstep
