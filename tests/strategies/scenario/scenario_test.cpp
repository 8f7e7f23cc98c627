#include "strategies/scenario/scenario.hpp"

#include <doctest/doctest.h>

#include <string>

#include "sim/config/json/json_values.hpp"

namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

/// Two nodes of eight A100, and a model of two layers.
const std::string kSmall = R"({
  "cluster": {"gpu": "a100-sxm4-80gb", "gpus": 16},
  "model": {"name": "m", "layers": 2, "hidden": 64, "heads": 4, "seq": 32, "vocab": 128},
  "parallel": {"tp": 2, "pp": 2, "micro_batch": 1, "global_batch": 16}
})";

Scenario read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return read_scenario(parse_json(text, "s.json"), "s", overrides, kConfigs);
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    (void)read(text, overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

std::string error_of_set(const std::string& assignment) {
  return error_of(kSmall, {assignment});
}

/// The small scenario with one of its three sections in another way.
std::string with_cluster(const std::string& cluster, const std::string& parallel = "{}") {
  return R"({"cluster": )" + cluster +
         R"(, "model": {"name": "m", "layers": 2, "hidden": 64, "heads": 4, "seq": 32}, )" +
         R"("parallel": )" + parallel + "}";
}

TEST_CASE("what is left out of a scenario has its default") {
  const Scenario scenario = read(kSmall);
  CHECK(scenario.name == "s");
  CHECK(scenario.cluster.cluster.ranks() == 16);
  CHECK(scenario.cluster.device.id == "a100-sxm4-80gb");
  CHECK(scenario.parallel.dp == 4);  // 16 / (2 * 2)
  CHECK(scenario.parallel.schedule == PipelineOrder::one_f_one_b);
  CHECK(scenario.parallel.microbatches() == 4);  // 16 / (1 * 4)
  CHECK(scenario.parallel.precision == Dtype::bf16);
  CHECK(scenario.parallel.state.weights == Dtype::bf16);
  CHECK(scenario.parallel.state.master);
  CHECK(scenario.model.transformer()->head_size == 16);
  CHECK_FALSE(scenario.samples);
}

// configs/stacks: PyTorch reduces in every microbatch, but once under a pipeline; Megatron-Core
// once; DeepSpeed refuses ZeRO-2 and -3 with a pipeline.
TEST_CASE("when ZeRO-2 and -3 reduce gradients goes by the software, unless the scenario says it") {
  const auto made = [](const std::string& stack, int zero, int pp, const std::string& said = "") {
    std::vector<std::string> set{"stack=\"" + stack + "\"", "parallel.zero=" + std::to_string(zero),
                                 "parallel.pp=" + std::to_string(pp)};
    if (!said.empty()) set.push_back("parallel.reduce_gradients=" + said);
    return read(kSmall, set).parallel.reduce_gradients;
  };
  constexpr auto kEvery = GradientReduction::every_microbatch;
  constexpr auto kLast = GradientReduction::last_microbatch;
  for (const int zero : {2, 3}) {
    CHECK(made("fsdp2", zero, 1) == kEvery);
    CHECK(made("fsdp2", zero, 2) == kLast);
    CHECK(made("fsdp2", zero, 1, "last_microbatch") == kLast);
    CHECK(made("fsdp2", zero, 2, "every_microbatch") == kEvery);
    CHECK(made("transformer-engine", zero, 1) == kLast);
    CHECK(made("transformer-engine", zero, 2) == kLast);
    CHECK(made("deepspeed-bf16", zero, 1) == kEvery);
    CHECK(made("deepspeed-bf16", zero, 2, "every_microbatch") == kEvery);
  }
  CHECK(error_of(kSmall, {"stack=\"deepspeed-bf16\"", "parallel.zero=2"})
            .find("refuses ZeRO-2 with a pipeline (pp = 2)") != std::string::npos);
  CHECK(made("deepspeed-bf16", 1, 2) == kLast);
  // What is printed can be read again.
  CHECK(error_of(kSmall, {"parallel.zero=1", "parallel.reduce_gradients=last_microbatch"}) ==
        "accepted");
  CHECK(error_of(kSmall, {"parallel.zero=1", "parallel.reduce_gradients=every_microbatch"})
            .find("only ZeRO-2 and -3") != std::string::npos);
}

TEST_CASE(
    "a time to reduce gradients that changes nothing is reported where it is not the stack's") {
  const auto notes = [](const std::string& stack, const std::string& said) {
    return read(kSmall, {"stack=\"" + stack + "\"", "parallel.zero=2", "parallel.pp=1",
                         "parallel.global_batch=8",  // one microbatch
                         "parallel.reduce_gradients=" + said})
        .notes;
  };
  REQUIRE(notes("fsdp2", "last_microbatch").size() == 1);
  CHECK(notes("fsdp2", "last_microbatch")[0].key == "parallel.reduce_gradients");
  CHECK(notes("fsdp2", "every_microbatch").empty());
  CHECK(notes("transformer-engine", "every_microbatch").size() == 1);
  CHECK(notes("transformer-engine", "last_microbatch").empty());
}

TEST_CASE("the update begins after all gradients, unless the scenario says by bucket") {
  CHECK(read(kSmall).parallel.update == UpdateStart::after_all);
  CHECK(read(kSmall, {"parallel.update=by_bucket"}).parallel.updates_by_bucket());
  CHECK(error_of_set("parallel.update=by_layer").find("by_bucket") != std::string::npos);
  const std::vector<std::string> servers{"parallel.pp=1", "parallel.tp=1",
                                         "parallel.exchange=parameter_server",
                                         "parallel.update=by_bucket"};
  CHECK(error_of(kSmall, servers).find("leave out \"update\"") != std::string::npos);
}

TEST_CASE("software may keep gradients in another precision, unless the scenario says which") {
  // configs/stacks/deepspeed-bf16.json: 32 bits, as Megatron-Core, the default here.
  const std::string software = "stack=\"deepspeed-bf16\"";
  CHECK(read(kSmall, {"stack=\"fsdp\""}).parallel.state.gradients == Dtype::bf16);
  CHECK(read(kSmall).parallel.state.gradients == Dtype::fp32);
  CHECK(read(kSmall, {software}).parallel.state.gradients == Dtype::fp32);
  CHECK(read(kSmall, {software}).parallel.state.weights == Dtype::bf16);
  CHECK(read(kSmall, {software, "parallel.state.gradients=\"bf16\""}).parallel.state.gradients ==
        Dtype::bf16);
  CHECK(read(kSmall, {software, "parallel.state.moments=\"fp32\""}).parallel.state.gradients ==
        Dtype::fp32);
  // What was read is written with it, and reads the same again.
  const Scenario whole = read(kSmall, {software});
  CHECK(read(json_text(whole.resolved)).parallel.state.gradients == Dtype::fp32);
}

TEST_CASE("buckets are the software's, unless the scenario says which") {
  // Megatron-Core: 40e6 parameters, or 1e6 for each replica; 4 bytes each.
  const auto bucket = [](std::vector<std::string> set) {
    set.push_back("stack=\"transformer-engine\"");
    return read(kSmall, set).parallel;
  };
  CHECK(bucket({}).bucket == Bytes{160'000'000});
  CHECK(bucket({}).bucket_form.whole_chunks);
  CHECK(bucket({"parallel.state.gradients=\"bf16\""}).bucket == Bytes{80'000'000});
  const ParallelConfig own = bucket({"parallel.bucket=10 MB"});
  CHECK(own.bucket == Bytes{10'000'000});
  CHECK_FALSE(own.bucket_form.whole_chunks);
  const Scenario whole = read(kSmall, {"stack=\"transformer-engine\""});
  CHECK(read(json_text(whole.resolved)).parallel.bucket_form.whole_chunks);
}

TEST_CASE("precision decides what is kept of weights and gradients") {
  const auto state = [](const std::string& precision) {
    return read(kSmall, {"cluster.gpu=h100-sxm5-80gb", "parallel.precision=" + precision})
        .parallel.state;
  };
  CHECK(state("fp16").weights == Dtype::fp16);
  CHECK(state("fp16").gradients == Dtype::fp16);
  CHECK(state("fp8").weights == Dtype::bf16);  // only products are in fp8
  // Megatron-Core: main_grads in fp32 by default, whatever the weights are kept in.
  const auto narrow = [](const std::string& recipe, const std::string& weights) {
    return read(kSmall, {"cluster.gpu=b200-sxm-180gb", "parallel.precision=" + recipe,
                         "stack=transformer-engine", "parallel.state.weights=" + weights})
        .parallel.state;
  };
  CHECK(narrow("fp8", "fp8").gradients == Dtype::fp32);
  CHECK(narrow("nvfp4", "nvfp4").gradients == Dtype::fp32);
  CHECK(narrow("nvfp4", "nvfp4").weights == Dtype::nvfp4);
  // Scales per 32 elements came with Blackwell; AMD's MI300X has fp8 without them.
  for (const char* gpu : {"h100-sxm5-80gb", "mi300x-192gb"})
    CHECK(
        error_of(kSmall, {std::string{"cluster.gpu="} + gpu, "parallel.precision=mxfp8"})
            .find(
                "mxfp8 needs units for its scales, which only devices with products in fp4 have") !=
        std::string::npos);
  CHECK(error_of(kSmall, {"cluster.gpu=mi355x-288gb", "parallel.precision=mxfp8"})
            .find("units for its scales") == std::string::npos);
  // NVFP4 is NVIDIA's; the fp4 of AMD's units is MXFP4 (datasheet of the MI355X).
  CHECK(error_of(kSmall, {"cluster.gpu=mi355x-288gb", "parallel.precision=nvfp4"})
            .find("nvfp4 needs units for scales of 16 numbers") != std::string::npos);
  for (const char* gpu :
       {"b200-sxm-180gb", "b300-sxm-270gb", "gb200-nvl72", "gb300-nvl72", "rubin-nvl72"})
    CHECK(error_of(kSmall, {std::string{"cluster.gpu="} + gpu, "parallel.precision=nvfp4"})
              .find("scales of 16 numbers") == std::string::npos);
  const std::string unknown = error_of(kSmall, {"parallel.precision=fp9"});
  CHECK(unknown.find("; or a type: fp32, fp16, bf16, fp8") != std::string::npos);
  CHECK(unknown.find("has no products in fp9") == std::string::npos);
  CHECK(error_of(kSmall, {"cluster.gpu=b200-sxm-180gb", "parallel.precision=mxfp8",
                          "parallel.state.weights=fp8_block"})
            .find("software of mxfp8 gathers weights in bf16") != std::string::npos);
  CHECK(error_of(kSmall, {"cluster.gpu=b200-sxm-180gb", "parallel.precision=fp8-rowwise",
                          "parallel.state.weights=fp8"})
            .find("software of fp8-rowwise gathers weights in bf16") != std::string::npos);
  CHECK(error_of(kSmall, {"cluster.gpu=b200-sxm-180gb", "parallel.precision=fp8-blockwise",
                          "parallel.state.weights=fp8"})
            .find("they may be fp8_block, bf16, fp16 or fp32; fp8 needs a recipe whose GEMMs "
                  "and gathers take it") != std::string::npos);
  // A GEMM takes operands of its own type: no other narrow one is read as it is kept.
  for (const auto& [recipe, weights] :
       {std::pair{"bf16", "fp8"}, std::pair{"bf16", "nvfp4"}, std::pair{"fp8-delayed", "nvfp4"},
        std::pair{"fp8-delayed", "fp8_block"}, std::pair{"nvfp4", "fp8"},
        std::pair{"mxfp8", "fp8"}}) {
    CAPTURE(recipe);
    CAPTURE(weights);
    CHECK(error_of(kSmall, {"cluster.gpu=b200-sxm-180gb", "stack=transformer-engine",
                            std::string{"parallel.precision="} + recipe,
                            std::string{"parallel.state.weights="} + weights})
              .find(std::string{"GEMMs of precision "} + recipe + " do not take weights in " +
                    weights) != std::string::npos);
  }
  CHECK(state("fp32").weights == Dtype::fp32);
  CHECK_FALSE(state("fp32").master);  // weights in fp32 are their own
}

TEST_CASE("ranks that are whole nodes resolve to nodes, parts of racks to ranks") {
  const auto cluster = [](const std::string& name, int ranks) {
    return json_text(
        read(with_cluster(R"({"file": ")" + name + R"(", "ranks": )" + std::to_string(ranks) + "}"))
            .resolved);
  };
  // 8 of 8 GPUs each; 2 whole racks of 72; 64 of each of 2.
  CHECK(cluster("dgx-a100", 64).find(R"("nodes": 8)") != std::string::npos);
  CHECK(cluster("nvl72", 144).find(R"("nodes": 2)") != std::string::npos);
  CHECK(cluster("nvl72", 128).find(R"("ranks": 128)") != std::string::npos);
}

TEST_CASE("the resolved scenario leads to itself") {
  const std::vector<std::string> all{
      kSmall,
      with_cluster(R"({"file": "dgx-h100", "nodes": 2})"),
      with_cluster(R"({"file": "star", "ranks": 4, "gpu": "v100-sxm2-32gb"})",
                   R"({"exchange": "parameter_server", "servers": 3, "precision": "fp32"})"),
      with_cluster(R"({"gpu": "gb200-nvl72", "gpus": 144, "intra": "nvl72"})"),
      with_cluster(R"({"gpu": "gb200-nvl72", "gpus": 128, "intra": "nvl72"})"),
      with_cluster(R"({"file": "nvl72", "ranks": 128})"),
      with_cluster(R"({"gpu": "gb200-nvl72", "gpus": 76})"),
      with_cluster(R"({"file": "nvl72", "ranks": 76})"),
      R"({"cluster": {"file": "dgx-a100", "ranks": 2},
          "model": {"file": "mixtral-8x7b", "seq": 2048}, "tokens": 1.5e12,
          "sustained": "28.5 TFLOP/s", "ignore_memory": true, "seed": 7, "parallel": {
          "stages": [16, 16], "pp": 2, "dp": 1, "cp_kind": null, "overlap": ["tp", "dp_gradients"],
          "algorithms": {"dp": "ring:channels=2"}, "bucket": "40 MB", "ep": 1,
          "state": {"optimizer": "momentum", "offload": true}}})"};
  for (const std::string& text : all) {
    const std::string resolved = json_text(read(text).resolved);
    CAPTURE(resolved);
    CHECK(json_text(read(resolved).resolved) == resolved);
  }
}

TEST_CASE("every problem of a scenario is reported, with its place and what would do") {
  CHECK(
      error_of(R"({
  "cluster": {"gpu": "a100-sxm5-80gb", "gpus": 12, "gpus_per_node": 8},
  "model": "lama3-8b",
  "parallel": {"tp": 0, "schedul": "1f1b", "recompute": "ful"},
  "sustained": 28
})") ==
      R"(s.json:2:22: error: /cluster/gpu: no device named "a100-sxm5-80gb"; did you mean "a100-sxm4-80gb"?
s.json:3:12: error: /model: no model named "lama3-8b"; did you mean "llama3-8b"?
s.json:4:22: error: /parallel/tp: expected an integer from 1 to 16777216, got the number 0
s.json:4:25: error: /parallel/schedul: unknown key "schedul"; did you mean "schedule"?
s.json:4:57: error: /parallel/recompute: no recomputation named "ful"; did you mean "full"?
s.json:5:16: error: /sustained: expected a peak such as "312 TFLOP/s", got the number 28
6 errors; nothing was run)");
}

TEST_CASE("ranks are dp * pp * cp * tp") {
  CHECK(
      error_of(kSmall, {"parallel.dp=2"}) ==
      R"(--set parallel.dp=2: error: /parallel/dp: dp * pp * cp * tp = 2 * 2 * 1 * 2 = 8, but the cluster has 16 GPUs; dp = 4 would fill it: --set parallel.dp=4
1 error; nothing was run)");
  CHECK(
      error_of(kSmall, {"parallel.tp=3"}) ==
      R"(--set parallel.tp=3: error: /parallel: tp * pp * cp = 3 * 2 * 1 = 6 does not divide the cluster's 16 ranks; tp may be 1, 2, 4, 8
1 error; nothing was run)");
}

TEST_CASE("what is right in itself may not go together") {
  CHECK(error_of_set("parallel.precision=fp8") ==
        "--set parallel.precision=fp8: error: /parallel/precision: \"a100-sxm4-80gb\" has no "
        "products in fp8; precision may be fp32, fp16, bf16\n1 error; nothing was run");
  CHECK(error_of_set("parallel.global_batch=4000000") ==
        "--set parallel.global_batch=4000000: error: /parallel/global_batch: 2 layers for 1000000 "
        "microbatches a step are more than the 300000 that can be simulated; a global_batch of "
        "600000 or a larger micro_batch would do\n1 error; nothing was run");
  CHECK(error_of(kSmall, {"sustained=\"313 TFLOP/s\""}) ==
        "--set sustained=\"313 TFLOP/s\": error: /sustained: sustained = 313 TFLOP/s is above the "
        "dense bf16 peak of \"a100-sxm4-80gb\", 312 TFLOP/s\n1 error; nothing was run");
  // One mistake is told once: nothing is concluded from a cluster that is wrong.
  CHECK(error_of_set("cluster.gpus=0") ==
        "--set cluster.gpus=0: error: /cluster/gpus: expected an integer from 1 to 16777216, got "
        "the number 0\n1 error; nothing was run");
}

/// The keys of what is told to be without effect.
std::vector<std::string> notes_of(const std::vector<std::string>& overrides) {
  std::vector<std::string> out;
  for (const ScenarioNote& note : read(kSmall, overrides).notes) out.push_back(note.key);
  return out;
}

TEST_CASE(
    "what a layout has no use for is refused, what it merely has no traffic for is reported") {
  using Keys = std::vector<std::string>;
  CHECK(notes_of({}).empty());
  for (const std::string set :
       {"capacity_factor=1.25", "expert_skew=2", "shard_ranks=2", "reshard_after_forward=false",
        "prefetch=false", "cp_kind=2d", "ulysses=2", "zigzag=false"}) {
    CAPTURE(set);
    const std::string key = set.substr(0, set.find('='));
    CHECK(error_of_set("parallel." + set).find("error: /parallel/" + key + ": ") !=
          std::string::npos);
    // Its default may be said.
    const Scenario usual = read(kSmall);
    CHECK(read(json_text(usual.resolved)).notes.empty());
  }
  CHECK(notes_of({R"(parallel.overlap=["tp", "cp"])"}) == Keys{"parallel.overlap"});
  CHECK(notes_of({"parallel.bucket=10 MB", "parallel.zero=3"}) == Keys{"parallel.bucket"});
  CHECK(notes_of({"parallel.tp=1", "parallel.sequence_parallel=true"}) ==
        Keys{"parallel.sequence_parallel"});
  CHECK(notes_of({"parallel.recompute=selective"}) == Keys{"parallel.recompute"});
  CHECK(notes_of({"parallel.recompute=selective", "parallel.recompute_modules=mlp"}).empty());
  CHECK(notes_of({"parallel.recompute=full", R"(parallel.recompute_modules=["mlp"])"}) ==
        Keys{"parallel.recompute_modules"});
  CHECK(notes_of({"parallel.recompute=selective",
                  R"(parallel.recompute_modules=["mlp", "core_attn"])"}) ==
        Keys{"parallel.recompute_modules"});  // attention is fused
  CHECK(
      notes_of({"parallel.recompute=selective", R"(parallel.recompute_modules=["mlp"])"}).empty());
  CHECK(notes_of({"parallel.algorithms.cp=ring"}) == Keys{"parallel.algorithms.cp"});
  // ZeRO-1's reduce-scatter and all-gather have no "naive"; its all-reduce beside them has.
  CHECK(error_of(kSmall, {"parallel.algorithms.dp=naive", "parallel.zero=1"})
            .find("naive is no algorithm of ") != std::string::npos);
  CHECK(notes_of({"parallel.algorithms.dp=naive", "parallel.zero=1",
                  "parallel.scatter_gradients=false"}) == Keys{"parallel.algorithms.dp"});
  // Two nodes of eight GPUs: pairs of tp are inside a node, the eight of dp in both.
  const std::string windows = "=auto:by=nccl,windows=symmetric";
  CHECK(notes_of({"parallel.algorithms.tp" + windows}).empty());
  CHECK(notes_of({"parallel.pp=1", "parallel.algorithms.dp" + windows}) ==
        Keys{"parallel.algorithms.dp"});
  CHECK(notes_of({"parallel.pp=1", "parallel.algorithms.dp=auto:by=nccl"}).empty());
}

TEST_CASE("modules of recomputation are those of the model") {
  const auto error = [](const std::string& modules) {
    return error_of(kSmall,
                    {"parallel.recompute=selective", "parallel.recompute_modules=" + modules});
  };
  const auto says = [](const std::string& text, const char* what) {
    CAPTURE(text);
    CHECK(text.find(what) != std::string::npos);
  };
  says(error(R"(["moe"])"), "moe in recompute_modules, but the model has no experts");
  says(error(R"(["moe_act"])"), "moe_act in recompute_modules, but the model has no experts");
  says(error(R"(["shared_experts"])"), "but the model has no shared experts");
  says(error(R"(["mla_up_proj"])"), "but the model has no latent attention");
  says(error(R"(["layernrm"])"), "no module named \"layernrm\"; did you mean \"layernorm\"?");
  says(error(R"(["mlp", "mlp"])"), "the module \"mlp\" is there already");
  says(error("[]"), "no modules are no recomputation");
  says(error("mlp,layernrm"), "no module named \"layernrm\"; did you mean \"layernorm\"?");
  CHECK(read(kSmall, {"parallel.recompute=selective", "parallel.recompute_modules=mlp,layernorm"})
            .parallel.recompute_modules ==
        std::set{RecomputeModule::layernorm, RecomputeModule::mlp});
  const Scenario found = read(kSmall, {"parallel.recompute=selective",
                                       R"(parallel.recompute_modules=["mlp", "layernorm"])"});
  CHECK(found.parallel.recompute_modules ==
        std::set{RecomputeModule::layernorm, RecomputeModule::mlp});
  CHECK(read(json_text(found.resolved)).parallel.recompute_modules ==
        found.parallel.recompute_modules);
  CHECK(json_text(read(kSmall).resolved).find("recompute_modules") == std::string::npos);
}

TEST_CASE("algorithms are those of some collective") {
  CHECK(read(kSmall, {"parallel.algorithms.dp=ring:channels=2"}).parallel.algorithms.at("dp") ==
        "ring:channels=2");
  CHECK(error_of_set("parallel.algorithms.dp=rng") ==
        "--set parallel.algorithms.dp=rng: error: /parallel/algorithms/dp: no algorithm named "
        "\"rng\"; did you mean \"ring\"?\n1 error; nothing was run");
  CHECK(error_of_set("parallel.algorithms.dp=ring:chanels=2")
            .find("--set parallel.algorithms.dp=ring:chanels=2: error: ") == 0);
  CHECK(error_of_set("parallel.algorithms.xp=ring").find("unknown key \"xp\"") !=
        std::string::npos);
}

TEST_CASE("overrides take the place of values, and are named where they are wrong") {
  CHECK(read(kSmall, {"parallel.tp=4"}).parallel.dp == 2);
  CHECK(read(kSmall, {"model.layers=8", "name=\"eight\""}).model.transformer()->layers == 8);
  CHECK(read(kSmall, {"cluster.gpus=32", "parallel.order=[\"tp\",\"pp\",\"cp\",\"dp\"]"})
            .parallel.order.at(1) == "pp");
  CHECK(read(kSmall, {"parallel.schedule=zb-h1"}).parallel.schedule == PipelineOrder::zb_h1);
  CHECK(read(kSmall, {"parallel.state.offload=true"}).parallel.state.offload);
  CHECK(read(with_cluster(R"("dgx-h100")"), {"cluster.nodes=4"}).cluster.cluster.ranks() == 32);

  CHECK(error_of_set("parallel.tq=4") ==
        "--set parallel.tq=4: error: /parallel/tq: unknown key \"tq\"; did you mean \"tp\"?\n"
        "1 error; nothing was run");
  CHECK(error_of_set("paralel.tp=4") ==
        "--set paralel.tp=4: error: /paralel: unknown key \"paralel\"; did you mean \"parallel\"?\n"
        "1 error; nothing was run");
  CHECK(error_of_set("parallel.tp=four") ==
        "--set parallel.tp=four: error: /parallel/tp: expected an integer from 1 to 16777216, got "
        "\"four\"\n1 error; nothing was run");
  CHECK(error_of_set("parallel.tp") ==
        "--set parallel.tp: error: expected KEY=VALUE such as parallel.tp=4\n"
        "1 error; nothing was run");
  CHECK(error_of_set("parallel..tp=4") ==
        "--set parallel..tp=4: error: expected keys with dots between, such as parallel.tp\n"
        "1 error; nothing was run");
  CHECK(error_of_set("parallel.tp.x=4") ==
        "--set parallel.tp.x=4: error: /parallel/tp: the number 2 has no member \"x\"\n"
        "1 error; nothing was run");
  CHECK(error_of_set("model.heads=3").find("--set model.heads=3: error: /model/heads: ") == 0);
  CHECK(error_of_set("parallel.stages=[1,").find("--set parallel.stages=[1,: error: ") == 0);
  // Megatron-Core's layout, with quotes or without: a letter that it does not have.
  for (const char* text : {"parallel.stages=Etx|tL", R"(parallel.stages="Etx|tL")"})
    CHECK(error_of_set(text).find("/parallel/stages: \"x\" is none of E, t, m, L, |,") !=
          std::string::npos);
  // A layout of one stage has no bar.
  for (const char* text : {"parallel.stages=Etx*32L", R"(parallel.stages="Etx*32L")"})
    CHECK(error_of_set(text).find("/parallel/stages: \"x\" is none of E, t, m, L, |,") !=
          std::string::npos);
}

TEST_CASE("a model's file with some keys in another way") {
  const std::string text = R"({"cluster": "dgx-h100", "parallel": {},
    "model": {"file": "llama3-8b", "seq": 4096, "layers": 0}})";
  CHECK(
      error_of(text) ==
      "s.json:2:59: error: /model/layers: expected an integer from 1 to 100000, got the number 0\n"
      "1 error; nothing was run");
  const Scenario scenario = read(text, {"model.layers=4"});
  CHECK(scenario.model.transformer()->layers == 4);
  CHECK(scenario.model.transformer()->sequence == 4096);
  CHECK(scenario.model.transformer()->kv_heads == 8);  // of the file
}

TEST_CASE("a key of a part of a model's file leaves the others of that part as they are") {
  const std::string text = R"({"cluster": "dgx-h100", "parallel": {},
    "model": {"file": "gemma3-12b", "window": {"size": 4096}}})";
  // Of the file: five layers with a window to one without.
  const AttentionWindow in_file{.size = 4096, .full_every = 6};
  CHECK(read(text, {}).model.transformer()->window == in_file);
  const AttentionWindow set{.size = 2048, .full_every = 6};
  CHECK(read(text, {"model.window.size=2048"}).model.transformer()->window == set);
  const std::string moe = R"({"cluster": "dgx-h100", "parallel": {}, "model": "mixtral-8x7b"})";
  const Scenario one = read(moe, {"model.experts.top_k=1"});
  CHECK(one.model.transformer()->experts->top_k == 1);
  CHECK(one.model.transformer()->experts->experts == 8);
}

TEST_CASE("other files are reported from scenarios") {
  CHECK(error_of(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096})")
            .find("s.json:1:1: error: this is a model's config.json of Hugging Face") == 0);
  CHECK(error_of(R"({"name": "m", "layers": 2, "hidden": 64})")
            .find("s.json:1:1: error: this is a model, not a scenario") == 0);
  CHECK(error_of(R"({"name": "c", "topology": {}})")
            .find("s.json:1:1: error: this is a cluster, not a scenario") == 0);
  CHECK_THROWS_AS((void)load_scenario(LOCKSTEP_SOURCE_DIR "/configs", {}, kConfigs), ConfigError);
  CHECK_THROWS_AS((void)load_scenario("no-such.json", {}, kConfigs), ConfigError);
}

TEST_CASE("budgets are in what the model sees") {
  CHECK(read(kSmall, {"tokens=3e11"}).samples == 3e11);
  CHECK(error_of_set("samples=100").find("a transformer's budget is said in \"tokens\"") !=
        std::string::npos);
}

/// The small scenario with one variant.
std::string with_variant(const std::string& set) {
  std::string text = kSmall;
  text.insert(text.rfind('}'), R"(, "variants": [{"name": "wide", "set": [)" + set + "]}]");
  return text;
}

TEST_CASE("variants are kept as they are written, and lead to scenarios") {
  const Scenario scenario = read(with_variant(R"("parallel.tp=4", "parallel.pp=1")"));
  REQUIRE(scenario.variants.size() == 1);
  CHECK(scenario.variants[0].name == "wide");
  CHECK(scenario.parallel.tp == 2);  // the scenario itself is not changed
  CHECK(read(json_text(scenario.resolved)).variants[0].overrides ==
        std::vector<std::string>{"parallel.tp=4", "parallel.pp=1"});
}

TEST_CASE("overrides are not held against variants, which nobody runs with them") {
  const std::string text = with_variant(R"("parallel.tp=4", "parallel.pp=1")");
  // 8 * 2 fill the 16 GPUs; the variant's tp 4 does not.
  CHECK(error_of(text, {"parallel.pp=1", "parallel.dp=8"}) == "accepted");
  CHECK(error_of(with_variant(R"("parallel.tq=4")"), {"parallel.micro_batch=2"}) == "accepted");
  CHECK(error_of(text, {R"(variants.0.set.0=parallel.tq=4)"}).find("tq") != std::string::npos);
}

TEST_CASE("a variant that is no scenario is reported, by its name") {
  const std::string text = error_of(with_variant(R"("parallel.tq=4")"));
  CAPTURE(text);
  CHECK(text.find("variant \"wide\"") != std::string::npos);
  CHECK(text.find("--set parallel.tq=4") != std::string::npos);
  CHECK(text.find("did you mean") != std::string::npos);
  CHECK(error_of(with_variant("")) != "accepted");
}

}  // namespace
}  // namespace lockstep
