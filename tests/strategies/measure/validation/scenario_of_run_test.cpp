#include "strategies/measure/validation/scenario_of_run.hpp"

#include <doctest/doctest.h>

#include <set>

#include "sim/config/json/json_values.hpp"
#include "strategies/measure/validation/evaluation_rule.hpp"
#include "strategies/measure/validation/measured_file.hpp"
#include "strategies/measure/validation/reported_slowdown.hpp"
#include "strategies/measure/validation/stack_rule.hpp"
#include "strategies/stacks/software_stack.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

MeasuredRun run_of(const std::string& id) {
  for (const Measured& each : load_measured(LOCKSTEP_SOURCE_DIR "/tests/data/validation/runs.json"))
    if (origin_of(each).id == id) return std::get<MeasuredRun>(each);
  FAIL("no such run");
  return {};
}

MeasuredRun run_with(const std::string& group, const std::string& attention,
                     const std::string& precision, const std::string& notes = "") {
  MeasuredRun run;
  run.group = group;
  run.attention = attention;
  run.precision = precision;
  run.origin.notes = notes;
  return run;
}

/// The layout of a run on nodes of eight A100 with these keys of `parallel`, as JSON.
ParallelConfig layout_of(int layers, int gpus, const std::string& parallel,
                         const std::string& stack = "") {
  const std::string text = R"([{"id": "a", "source": "a test", "group": "own",
    "cluster": {"gpu": "a100-sxm4-80gb", "gpus": )" +
                           std::to_string(gpus) + R"(, "nics_per_node": 4, "nic_gbps": 100},
    "model": {"layers": )" +
                           std::to_string(layers) +
                           R"(, "hidden": 1024, "heads": 16, "seq": 128, "vocab": 1024},
    "parallel": )" + parallel +
                           R"(, "measured": {"step_time_s": 1}}])";
  const auto all = read_measured(parse_json(text, "m.json"));
  return scenario_of(std::get<MeasuredRun>(all.at(0)), kConfigs, stack).parallel;
}

/// Layers per chunk of a model of 78 layers.
std::vector<int> stages_of(const std::string& parallel) {
  return layout_of(78, 384, parallel).stages;
}

}  // namespace

TEST_CASE("rows on racks give the GPUs of a tray, or of a rack that a job takes") {
  const auto cluster_of = [](int gpus, int per_node) {
    const std::string text =
        R"([{"id": "a", "source": "a test", "group": "own", "cluster": {"gpu": "gb200-nvl72",
             "gpus": )" +
        std::to_string(gpus) + R"(, "gpus_per_node": )" + std::to_string(per_node) +
        R"(, "intra": "nvl72", "nics_per_node": 4, "nic_gbps": 400},
      "model": {"layers": 2, "hidden": 1024, "heads": 16, "seq": 128, "vocab": 1024},
      "parallel": {"micro_batch": 1, "global_batch": )" +
        std::to_string(gpus) + R"(}, "measured": {"step_time_s": 1}}])";
    const auto all = read_measured(parse_json(text, "m.json"));
    return scenario_of(std::get<MeasuredRun>(all.at(0)), kConfigs, "").cluster.cluster;
  };
  for (const int gpus : {128, 512}) {
    const Cluster trays = cluster_of(gpus, 4);
    CHECK(trays.ranks() == gpus);
    CHECK(trays.gpus_per_node() == 64);
  }
  CHECK(cluster_of(64, 4).nodes() == 1);
  CHECK(cluster_of(512, 64).nodes() == 8);
  CHECK(cluster_of(144, 36).nodes() == 4);
  CHECK(cluster_of(144, 72).nodes() == 2);
  CHECK(cluster_of(128, 72).gpus_per_node() == 64);
}

TEST_CASE("a run becomes the scenario that its row says") {
  const Scenario scenario = scenario_of(run_of("llmf-a100-125m-s1024-g8-mb64"), kConfigs);
  CHECK(scenario.name == "llmf-a100-125m-s1024-g8-mb64");
  CHECK(scenario.cluster.device.id == "a100-sxm4-80gb");
  CHECK(scenario.cluster.cluster.ranks() == 8);
  CHECK(scenario.parallel.zero == 3);
  CHECK(scenario.parallel.micro_batch == 64);
  CHECK(scenario.model.transformer()->hidden == 768);
  CHECK(scenario.stack == "fused-2022");
  CHECK(scenario.ignore_memory);
}

TEST_CASE("the stack is the asked one, else the row's, else the rule's") {
  MeasuredRun run = run_of("llmf-a100-125m-s1024-g8-mb64");
  run.stack = "eager";
  CHECK(scenario_of(run, kConfigs).stack == "eager");
  CHECK(scenario_of(run, kConfigs, "fused").stack == "fused");
}

// Megatron-Core and Transformer Engine do so in every layout, which no source prints.
TEST_CASE("tp traffic of column-parallel layers hides where the run's stack hides it") {
  const auto made = [](const std::string& parallel, const std::string& stack) {
    return layout_of(8, 8, parallel, stack);
  };
  for (const std::string overlap : {R"(, "overlap": [])", R"(, "overlap": ["dp_gradients"])", ""}) {
    CAPTURE(overlap);
    const std::string tp = R"({"tp": 8, "micro_batch": 1, "global_batch": 8)" + overlap + "}";
    CHECK(made(tp, "transformer-engine").overlaps(Overlap::tp_backward));
    CHECK(made(tp, "unfused-2022").overlaps(Overlap::tp_backward));
    CHECK_FALSE(made(tp, "unfused").overlaps(Overlap::tp_backward));
    const std::string dp = R"({"dp": 8, "micro_batch": 1, "global_batch": 8)" + overlap + "}";
    CHECK_FALSE(made(dp, "transformer-engine").overlaps(Overlap::tp_backward));
  }
}

// 12 h^2 for each of 46 layers of 5120, and biases, norms and positions, are 14.479 B parameters:
// 14.6 B, as printed, leaves 14,000 to 33,000 tokens; GPT-2's 50,304 would make 14.7 B.
TEST_CASE("the vocabulary of Qi et al. goes by their parameter counts where the row assumes one") {
  MeasuredRun run = run_of("zb-1.5B-1F1B-m24");
  CHECK(scenario_of(run, kConfigs).model.transformer()->vocabulary == 32'000);
  std::erase(run.origin.assumed, "model.vocab");
  CHECK(scenario_of(run, kConfigs).model.transformer()->vocabulary == 50'304);
}

TEST_CASE("rules of stacks go by what the row says") {
  CHECK(stack_of(run_with("sc21", "unfused", "fp16"), kConfigs) == "unfused");
  CHECK(stack_of(run_with("kor", "unfused", "fp16"), kConfigs) == "unfused-2022");
  CHECK(stack_of(run_with("dgxc", "flash", "bf16"), kConfigs) == "megatron-bridge-performance");
  MeasuredRun mlperf = run_with("mlperf", "flash", "fp8");
  CHECK(stack_of(mlperf, kConfigs) == "megatron-bridge-performance");
  mlperf.origin.source = "mlcommons/training_results_v3.0 NVIDIA/results/dgxh100_n64_nemo/gpt3";
  CHECK(stack_of(mlperf, kConfigs) == "nemo-2023");
  CHECK(stack_of(run_with("mcore", "flash", "bf16"), kConfigs) == "transformer-engine");
  CHECK(stack_of(run_with("tt", "flash", "fp8", "torch.compile"), kConfigs) == "fsdp2");
  CHECK(stack_of(run_with("tt", "flash", "fp8", "one scale per row; torch.compile"), kConfigs) ==
        "fsdp2-fp8-rows");
  CHECK(stack_of(run_with("fms", "flash", "bf16", "torch.compile"), kConfigs) == "fsdp");
  CHECK(stack_of(run_with("bloom", "unfused", "fp16"), kConfigs) == "blocking");
  CHECK(stack_of(run_with("bloom", "unfused", "bf16"), kConfigs) == "blocking-bf16");
  CHECK(stack_of(run_with("own", "unfused", "bf16"), kConfigs) == "unfused");
  CHECK(stack_of(run_with("tt", "flash", "bf16"), kConfigs) == "eager");
  CHECK(stack_of(run_with("tt", "flash", "bf16", "eager, no torch.compile"), kConfigs) == "eager");
  CHECK(stack_of(run_with("own", "flash", "fp8"), kConfigs) == "transformer-engine");
}

// A run of which no rule knows the software gets what `lockstep run` would take for it.
TEST_CASE("other runs have the default stack of their device and precision") {
  MeasuredRun run = run_with("own", "flash", "bf16");
  run.gpu = "h100-sxm5-80gb";
  CHECK(stack_of(run, kConfigs) == "transformer-engine");
  run.parallel = json_object({{"zero", json_of(std::int64_t{3})}});
  CHECK(stack_of(run, kConfigs) == "fsdp2");
  run.gpu = "v100-sxm2-32gb";
  CHECK(stack_of(run, kConfigs) == "unfused");
  run.gpu = "of a test";
  run.precision = "fp32";
  CHECK(stack_of(run, kConfigs) == "fsdp2");
}

// One layer: gate, up and down of each of 8 experts of 512, and the router.
TEST_CASE("a run of a mixture of experts has its experts") {
  const std::string text = R"([{"id": "a", "source": "a test", "group": "own",
    "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8},
    "model": {"layers": 2, "hidden": 256, "heads": 4, "ffn": 1024, "gated_mlp": true, "seq": 128,
              "vocab": 1024, "attention": "flash", "experts": 8, "experts_per_token": 2, "head_dim": 128,
              "expert_ffn": 512, "shared_experts": 1},
    "parallel": {"dp": 8, "ep": 8, "micro_batch": 1, "global_batch": 8, "precision": "bf16"},
    "measured": {"step_time_s": 1}}])";
  const auto all = read_measured(parse_json(text, "m.json"));
  const Scenario scenario = scenario_of(std::get<MeasuredRun>(all.at(0)), kConfigs);
  const auto& experts = scenario.model.transformer()->experts;
  REQUIRE(experts.has_value());
  CHECK(scenario.model.transformer()->head_size == 128);  // not 256 / 4
  CHECK(experts->experts == 8);
  CHECK(experts->top_k == 2);
  CHECK(experts->ffn == 512);
  CHECK(experts->shared == 1);
  CHECK(scenario.parallel.ep == 8);
}

TEST_CASE("dropout is what the software does unless specified otherwise") {
  CHECK(scenario_of(run_of("zb-1.5B-1F1B-m24"), kConfigs).model.transformer()->dropout == 0.1);
  CHECK(
      scenario_of(run_of("llmf-a100-125m-s1024-g8-mb64"), kConfigs).model.transformer()->dropout ==
      0);
}

TEST_CASE("selective recomputation is what the notes say it is") {
  const auto recompute = [](const std::string& notes) {
    MeasuredRun run = run_of("llmf-a100-125m-s1024-g8-mb64");
    set_member(*std::get_if<JsonObject>(&run.parallel.data), "recompute", json_of("selective"));
    run.origin.notes = notes;
    return scenario_of(run, kConfigs).parallel.recompute;
  };
  CHECK(recompute("") == Recompute::selective);
  CHECK(recompute("attention and every second matrix product are kept") ==
        Recompute::every_second_gemm);
  CHECK(recompute("whole layers, every n-th") == Recompute::every_second_layer);
}

// Megatron-LM megatron/training/arguments.py: pipeline communication overlaps in this schedule
// alone.
TEST_CASE("a run of Megatron-Core that prints no schedule has the interleaved one, if it fits") {
  const auto made = [](const char* group, const char* members) {
    const std::string text = R"([{"id": "a", "source": "a test", "group": ")" + std::string{group} +
                             R"(", "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 16},
      "model": {"layers": 8, "hidden": 1024, "heads": 16, "seq": 128, "vocab": 1024,
                "attention": "flash"},
      "parallel": {"tp": 4, "pp": 2, "micro_batch": 1, "precision": "bf16")" +
                             std::string{members} + R"(}, "measured": {"step_time_s": 1}}])";
    const auto all = read_measured(parse_json(text, "m.json"));
    return scenario_of(std::get<MeasuredRun>(all.at(0)), kConfigs).parallel;
  };
  const ParallelConfig interleaved = made("mcore", R"(, "global_batch": 8)");
  CHECK(interleaved.vpp == 2);
  CHECK(interleaved.schedule == PipelineOrder::interleaved);
  CHECK(interleaved.overlaps(Overlap::pp));
  CHECK(made("mcore", R"(, "global_batch": 6)").vpp == 1);  // 3 microbatches on 2 stages
  CHECK(made("mcore", R"(, "global_batch": 8, "vpp": 1)").vpp == 1);
  CHECK(made("mcore", R"(, "global_batch": 8, "schedule": "1f1b")").vpp == 1);
  CHECK(made("own", R"(, "global_batch": 8)").vpp == 1);
}

// PyTorch's FSDP: the sum over replicas follows the scatter on a stream of its own.
TEST_CASE("a run that hides gradients and shards in part hides the sums over replicas too") {
  const auto made = [](const char* members) {
    MeasuredRun run = run_of("llmf-a100-125m-s1024-g8-mb64");
    auto& parallel = *std::get_if<JsonObject>(&run.parallel.data);
    const JsonDocument more = parse_json(members, "m.json");
    for (const JsonMember& member : *more.root.get_if<JsonObject>())
      set_member(parallel, member.key, member.value);
    return scenario_of(run, kConfigs).parallel;
  };
  CHECK(made(R"({"zero": 3, "shard_ranks": 4, "overlap": ["dp_gradients"]})")
            .overlaps(Overlap::hsdp));
  CHECK_FALSE(made(R"({"zero": 3, "shard_ranks": 4, "overlap": []})").overlaps(Overlap::hsdp));
  CHECK_FALSE(made(R"({"zero": 3, "overlap": ["dp_gradients"]})").overlaps(Overlap::hsdp));
}

TEST_CASE("NICs whose sum alone is printed are one per GPU") {
  MeasuredRun run = run_of("llmf-a100-125m-s1024-g8-mb64");
  auto& cluster = *std::get_if<JsonObject>(&run.cluster.data);
  set_member(cluster, "nics_per_node", json_of(1));
  set_member(cluster, "nic_gbps", json_of(400));
  run.origin.notes = "network: sum per node printed";
  const JsonDocument document = scenario_document(run, kConfigs);
  const auto& made =
      *find_member(*document.root.get_if<JsonObject>(), "cluster")->get_if<JsonObject>();
  CHECK(*find_member(made, "nics_per_node")->get_if<std::int64_t>() == 8);
  CHECK(*find_member(made, "nic_gbps")->get_if<std::int64_t>() == 50);  // 400 over 8
}

TEST_CASE("every rule names a stack that ships, and a reason") {
  const std::vector<std::string> shipped = software_stack_ids(kConfigs / "stacks");
  const std::set<std::string> ids(shipped.begin(), shipped.end());
  for (const StackRule& rule : stack_rules()) {
    CAPTURE(rule.when);
    CHECK((rule.stack.empty() || ids.contains(std::string{rule.stack})));
    CHECK(rule.reason.size() > 20);
  }
}

TEST_CASE("layers that stages do not divide are cut with embedding and head as a layer each") {
  // 80 over 12: eight parts of 7 and four of 6; the first holds the embedding, the last the head.
  CHECK(stages_of(R"({"tp": 4, "pp": 12, "micro_batch": 1, "global_batch": 8})") ==
        std::vector<int>{6, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 5});
  CHECK(stages_of(R"({"tp": 4, "pp": 6, "micro_batch": 1, "global_batch": 16})").empty());
}

TEST_CASE("what cannot be modelled is reported with the row's place") {
  MeasuredRun run = run_of("llmf-a100-125m-s1024-g8-mb64");
  set_member(*std::get_if<JsonObject>(&run.parallel.data), "tp", json_of(5));
  CHECK_THROWS_AS((void)scenario_of(run, kConfigs), ConfigError);
}

// The words are those of the published rows: the middle of what they say.
TEST_CASE("a machine is as slow as its run's notes say") {
  const auto slowness = [](const std::string& notes) {
    return reported_slowdown(run_with("own", "flash", "bf16", notes));
  };
  CHECK(slowness("before the PCIe/NUMA settings were mended: 1-5 % slow") == doctest::Approx(0.03));
  CHECK(slowness("one node 2.5% slow; torch.compile") == doctest::Approx(0.025));
  CHECK(slowness("fp8 with one scale per row: 10 % slower than bf16") == 0);
  CHECK(slowness("slow") == 0);
  CHECK(slowness("") == 0);
}

// MLPerf's GPT-3 on 512 H100 took 64.25 minutes for 288 steps of 2,048 sequences (result logs of
// training_results_v3.0), with 24 evaluations.
TEST_CASE("the time of a whole MLPerf run contains its evaluations") {
  MeasuredRun run = run_with("mlperf", "flash", "fp8");
  run.step_time = Duration::picoseconds(13'385'100'000'000);
  run.time_is_derived = true;
  run.origin.source = "mlcommons/training_results_v3.0 NVIDIA/results/dgxh100_n64_nemo/gpt3/result";
  const auto evaluations = evaluations_of(run);
  REQUIRE(evaluations.has_value());
  CHECK(evaluations->every_sequences == 24'576);
  CHECK(evaluations->sequences == 5'662);
  // 24,567 documents of C4 are 11,590,004 tokens, 472 each: as sequences of 2048 they are full but
  // for the few that the parts of a data set leave.
  CHECK(evaluations->sequences == doctest::Approx(11'590'004.0 / 2048).epsilon(0.001));
  // 12 or 16 steps, then 3 or 4 batches of which the last is not full.
  CHECK(evaluation_passes_per_step(*evaluations, 2048) == 0.25);
  CHECK(evaluation_passes_per_step(*evaluations, 1536) == 0.25);
  CHECK(evaluation_passes_per_step({.every_sequences = 4096, .sequences = 2049}, 2048) == 1);
  CHECK(evaluation_passes_per_step({.every_sequences = 8192, .sequences = 2048}, 2048) == 0.25);
  run.time_is_derived = false;  // read: that of a step
  CHECK(!evaluations_of(run));
  run.evaluations = {100, 10};
  CHECK(evaluations_of(run)->sequences == 10);
  run.evaluations.reset();
  run.time_is_derived = true;
  run.origin.source = "mlcommons/training_results_v3.0 NVIDIA/results/dgxh100_n64/bert/result";
  CHECK(!evaluations_of(run));
}

}  // namespace lockstep
