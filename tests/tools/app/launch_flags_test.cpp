#include "tools/app/plan/launch/launch_flags.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

using namespace lockstep;
using namespace lockstep::app;

namespace {

/// 80 layers of hidden size 8192 and 64 heads on 8 nodes of 8 GPUs.
Scenario llama(const std::vector<std::string>& overrides, const std::string& name = "") {
  std::vector<std::string> all{"parallel.algorithms={}", "variants=[]", "ignore_memory=true"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const std::string file = name.empty() ? "llama3-70b-dgx-h100" : name;
  return load_scenario(LOCKSTEP_SOURCE_DIR "/configs/scenarios/" + file + ".json", all,
                       LOCKSTEP_SOURCE_DIR "/configs");
}

/// 64 GPUs: tp 8, pp 4, dp 2.
Scenario deep(std::vector<std::string> more) {
  std::vector<std::string> all{"parallel.dp=2",
                               "parallel.tp=8",
                               "parallel.pp=4",
                               "parallel.cp=1",
                               "parallel.vpp=1",
                               "parallel.schedule=1f1b",
                               "parallel.global_batch=64",
                               "parallel.micro_batch=1",
                               "parallel.short_edges=false",
                               "parallel.overlap=[]"};
  all.insert(all.end(), more.begin(), more.end());
  return llama(all);
}

bool has(const LaunchFlags& flags, const std::string& text) {
  return flags.text.find(text) != std::string::npos;
}

bool leaves_out(const LaunchFlags& flags, const std::string& text) {
  return std::any_of(flags.left_out.begin(), flags.left_out.end(),
                     [&](const std::string& each) { return each.find(text) != std::string::npos; });
}

/// As Megatron-LM reads a layout (pipeline_parallel_layer_layout.py, parse_str_to_list): commas
/// dropped, (x)*n and then c*n repeated, stages between "|". Here: the layers of each stage.
std::vector<int> layers_of(std::string text) {
  std::erase(text, ',');
  for (const char* pattern : {R"(\(([^)]+)\)\*(\d+))", R"((.)\*(\d+))"}) {
    std::smatch match;
    while (std::regex_search(text, match, std::regex{pattern})) {
      std::string many;
      for (int i = 0; i < std::stoi(match[2]); ++i) many += match[1];
      text = match.prefix().str() + many + match.suffix().str();
    }
  }
  CHECK(text.front() == 'E');
  CHECK(text.back() == 'L');
  std::vector<int> out{0};
  for (const char c : text) {
    if (c == '|') out.push_back(0);
    if (c == 't') ++out.back();
  }
  return out;
}

}  // namespace

TEST_CASE("launch flags: Megatron's layout string has the layers of each chunk") {
  CHECK(pipeline_layout_text({3, 4, 4, 3}) == "Et*3|(tttt|)*2t*3,L");
  const std::vector<std::vector<int>> all{
      {3, 4, 4, 3},           {1, 1},   {7}, {2, 2, 2, 2}, {5, 4, 3, 3, 3, 1},
      {1, 2, 2, 1, 1, 2, 12}, {0, 1, 0}};
  for (const auto& layers : all) CHECK(layers_of(pipeline_layout_text(layers)) == layers);
}

TEST_CASE("launch flags: Megatron, degrees, batch and precision") {
  const LaunchFlags flags = launch_flags(LaunchFramework::megatron, deep({"parallel.zero=1"}));
  // tp 8 needs launches in order (arguments.py); 64 GPUs are 8 nodes of 8.
  CHECK(flags.text.starts_with(
      "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc-per-node 8 --nnodes 8 pretrain_gpt.py"));
  CHECK(has(flags, "--tensor-model-parallel-size 8 "));
  CHECK(has(flags, "--pipeline-model-parallel-size 4 "));
  CHECK(has(flags, "--micro-batch-size 1 "));
  CHECK(has(flags, "--global-batch-size 64 "));
  CHECK(has(flags, "--use-distributed-optimizer"));  // ZeRO-1
  CHECK(has(flags, "--bf16"));
  CHECK_FALSE(has(flags, "virtual"));
  CHECK_FALSE(has(flags, "overlap"));
  CHECK_FALSE(has(flags, "recompute"));
  CHECK(flags.left_out.empty());
  CHECK(with_comments(flags) == flags.text);
}

// 80 layers + 2 over 4 * 1 chunks do not divide; over 2 stages: 41, less one at each end: 40, 40.
// 78 layers are 20 a stage with 19 at both ends.
TEST_CASE(
    "launch flags: Megatron, short edges as layers of the first and last stage, or a layout") {
  const LaunchFlags plain = launch_flags(LaunchFramework::megatron,
                                         deep({"model.layers=78", "parallel.short_edges=true"}));
  CHECK(has(plain, "--decoder-first-pipeline-num-layers 19 "));
  CHECK(has(plain, "--decoder-last-pipeline-num-layers 19 "));
  const Scenario chunked = deep({"model.layers=78", "parallel.short_edges=true", "parallel.vpp=5",
                                 "parallel.schedule=interleaved"});
  const LaunchFlags layout = launch_flags(LaunchFramework::megatron, chunked);
  // 20 chunks of 4, 3 in the first and the last.
  CHECK(has(layout, "--pipeline-model-parallel-layout \"Et*3|(tttt|)*18t*3,L\""));
  CHECK_FALSE(has(layout, "per-virtual"));               // the layout says it
  CHECK(has(layout, "--no-overlap-p2p-communication"));  // chunks overlap by default
  // Equal chunks: 80 layers over 4 * 5 are 4 each.
  const LaunchFlags equal = launch_flags(LaunchFramework::megatron,
                                         deep({"parallel.vpp=5", "parallel.schedule=interleaved"}));
  CHECK(has(equal, "--num-layers-per-virtual-pipeline-stage 4 "));
}

TEST_CASE("launch flags: Megatron, overlap, recomputation, ranks") {
  const LaunchFlags flags = launch_flags(
      LaunchFramework::megatron,
      deep({"parallel.zero=1", "parallel.vpp=5", "parallel.schedule=interleaved",
            "parallel.sequence_parallel=true", "parallel.recompute=full",
            R"(parallel.overlap=["dp_gradients","dp_parameters","pp","tp"])",
            R"(parallel.bucket="100 MB")", R"(parallel.order=["tp","cp","pp","dp"])"}));
  for (const char* flag :
       {"--sequence-parallel", "--overlap-grad-reduce", "--overlap-param-gather",
        "--tp-comm-overlap", "--recompute-granularity full", "--recompute-method uniform",
        "--recompute-num-layers 1", "--use-tp-pp-dp-mapping"})
    CHECK_MESSAGE(has(flags, flag), flag);
  CHECK_FALSE(has(flags, "--no-overlap-p2p-communication"));
  // Parameters, not bytes: 100 MB of Megatron-Core's 32-bit gradients.
  CHECK(has(flags, "--ddp-bucket-size 25000000"));
  CHECK(flags.left_out.empty());
}

TEST_CASE("launch flags: Megatron, modules of selective recomputation") {
  const LaunchFlags flags = launch_flags(
      LaunchFramework::megatron,
      deep({"parallel.recompute=selective", R"(parallel.recompute_modules=["mlp", "core_attn"])"}));
  CHECK(has(flags, "--recompute-granularity selective"));
  CHECK(has(flags, "--recompute-modules core_attn mlp"));
  const LaunchFlags usual =
      launch_flags(LaunchFramework::megatron, deep({"parallel.recompute=selective"}));
  CHECK(has(usual, "--recompute-granularity selective"));
  CHECK_FALSE(has(usual, "--recompute-modules"));
  // TELayerNormColumnParallelLinear has the norms of layers without experts and latent attention.
  CHECK(leaves_out(launch_flags(LaunchFramework::megatron,
                                deep({"parallel.recompute=selective",
                                      R"(parallel.recompute_modules=["layernorm"])"})),
                   "recomputation of norms"));
}

TEST_CASE("launch flags: Megatron, what it cannot express is a comment") {
  const LaunchFlags flags = launch_flags(
      LaunchFramework::megatron,
      deep({"parallel.schedule=zb-h2", "parallel.zero=2", "parallel.recompute=every-second-product",
            "parallel.sequence_parallel=false", R"(parallel.overlap=["pp","tp"])",
            R"(parallel.order=["tp","dp","cp","pp"])"}));
  CHECK(leaves_out(flags, "schedule zb-h2"));
  CHECK(leaves_out(flags, "ZeRO-2 with a pipeline"));
  CHECK(leaves_out(flags, "every second product"));
  CHECK(leaves_out(flags, "overlap of pp without chunks"));
  CHECK(leaves_out(flags, "tp without sequence parallelism"));
  CHECK(leaves_out(flags, "order tp-dp-cp-pp"));
  CHECK(with_comments(flags).starts_with("# not expressed: "));
}

TEST_CASE("launch flags: Megatron, shards without a pipeline and hybrid shards") {
  const std::vector<std::string> flat{"parallel.dp=16",
                                      "parallel.tp=4",
                                      "parallel.pp=1",
                                      "parallel.vpp=1",
                                      "parallel.cp=1",
                                      "parallel.schedule=none",
                                      "parallel.short_edges=false",
                                      "parallel.overlap=[]",
                                      "parallel.global_batch=64"};
  auto with = [&](const char* more, const char* also = "parallel.micro_batch=1") {
    std::vector<std::string> all = flat;
    all.emplace_back(more);
    all.emplace_back(also);
    return launch_flags(LaunchFramework::megatron, llama(all));
  };
  const LaunchFlags full = with("parallel.zero=3");
  CHECK(has(full, "--use-megatron-fsdp"));
  CHECK(has(full, "--data-parallel-sharding-strategy optim_grads_params"));
  CHECK_FALSE(has(full, "CUDA_DEVICE_MAX_CONNECTIONS"));
  CHECK(has(with("parallel.zero=2"), "--data-parallel-sharding-strategy optim_grads "));
  CHECK(leaves_out(full, "without overlap"));
  // 16 ranks hold 2 copies of shards over 8.
  CHECK(has(with("parallel.zero=1", "parallel.shard_ranks=8"),
            "--num-distributed-optimizer-instances 2"));
  CHECK(has(with("parallel.zero=1", "parallel.state.offload=true"),
            "--optimizer-cpu-offload \\\n  --optimizer-offload-fraction 1.0"));
}

// 8 ranks of cp with tp 4 on nodes of 8 GPUs: all-to-alls within 2, rings over 4.
TEST_CASE("launch flags: Megatron, kinds of context parallelism") {
  const auto with = [](const char* kind) {
    return launch_flags(
        LaunchFramework::megatron,
        llama({"parallel.dp=2", "parallel.tp=4", "parallel.pp=1", "parallel.vpp=1", "parallel.cp=8",
               "parallel.schedule=none", "parallel.short_edges=false", "parallel.global_batch=64",
               R"(parallel.overlap=["cp"])", "parallel.cp_kind=" + std::string{kind},
               "model.seq=65536", "parallel.micro_batch=1"}));
  };
  CHECK(has(with("ring"), "--context-parallel-size 8 \\\n  --cp-comm-type p2p"));
  CHECK(has(with("2d"), "--cp-comm-type a2a+p2p \\\n  --hierarchical-context-parallel-sizes 2 4"));
}

// LayerType.mtp is "m" in core/transformer/pipeline_parallel_layer_layout.py.
TEST_CASE("launch flags: Megatron, multi-token prediction") {
  CHECK(pipeline_layout_text({3, 2}, 2) == "Et*3|t*2mm,L");
  const LaunchFlags flags =
      launch_flags(LaunchFramework::megatron, llama({}, "multi-token-prediction"));
  CHECK(has(flags, "--mtp-num-layers 1"));
  CHECK(has(flags, "Et*12|t*13|t*12|t*9m,L"));
}

TEST_CASE("launch flags: Megatron, experts") {
  const LaunchFlags flags = launch_flags(LaunchFramework::megatron, llama({}, "gpt-moe"));
  CHECK(has(flags, "--expert-model-parallel-size"));
  CHECK(has(flags, "--moe-token-dispatcher-type alltoall"));
}

// Megatron-Core's default of --expert-tensor-parallel-size is tp; torchtitan has 1 and tp.
TEST_CASE("launch flags: experts with tensor parallelism of their own degree") {
  const Scenario whole = llama({}, "moe-parallel-folding");
  const Scenario half = llama({"parallel.etp=2"}, "moe-parallel-folding");
  const auto flags = [](LaunchFramework framework, const Scenario& of) {
    return launch_flags(framework, of);
  };
  CHECK(has(flags(LaunchFramework::megatron, whole), "--expert-tensor-parallel-size 1"));
  CHECK(has(flags(LaunchFramework::megatron, half), "--expert-tensor-parallel-size 2"));
  CHECK(has(flags(LaunchFramework::nemo, whole), "expert_tensor_parallel_size: 1"));
  CHECK(has(flags(LaunchFramework::torchtitan, whole), "expert_tensor_parallel_degree = 1"));
  CHECK(flags(LaunchFramework::torchtitan, half).left_out.size() ==
        flags(LaunchFramework::torchtitan, whole).left_out.size() + 1);
}

// The same core: fields of its configuration in Bridge's parts.
TEST_CASE("launch flags: NeMo's Megatron Bridge") {
  const LaunchFlags flags = launch_flags(
      LaunchFramework::nemo,
      deep({"model.layers=78", "parallel.short_edges=true", "parallel.vpp=5", "parallel.zero=1",
            "parallel.schedule=interleaved", "parallel.sequence_parallel=true",
            R"(parallel.overlap=["dp_gradients","tp"])"}));
  CHECK(flags.text.starts_with("model:\n  tensor_model_parallel_size: 8\n"));
  for (const char* line :
       {"  pipeline_model_parallel_layout: \"Et*3|(tttt|)*18t*3,L\"\n",
        "  virtual_pipeline_model_parallel_size: 5\n", "  overlap_p2p_comm: false\n",
        "train:\n  micro_batch_size: 1\n  global_batch_size: 64\n",
        "ddp:\n  use_distributed_optimizer: true\n", "  overlap_param_gather: false\n",
        "comm_overlap:\n  tp_comm_overlap: true\n", "mixed_precision: bf16_mixed\n"})
    CHECK_MESSAGE(has(flags, line), line);
}

// Megatron-Core's arguments of both, and the fields of Bridge's CommOverlapConfig.
TEST_CASE("launch flags: two microbatches in turn, with delayed gradients of weights") {
  const Scenario scenario =
      llama({R"(parallel.overlap=["ep_pairs"])", "parallel.delay_wgrad_compute=true"},
            "moe-parallel-folding");
  const LaunchFlags core = launch_flags(LaunchFramework::megatron, scenario);
  CHECK(has(core, "--overlap-moe-expert-parallel-comm \\\n"));
  CHECK(has(core, "--delay-wgrad-compute"));
  const LaunchFlags bridge = launch_flags(LaunchFramework::nemo, scenario);
  CHECK(has(bridge, "  overlap_moe_expert_parallel_comm: true\n"));
  CHECK(has(bridge, "  delay_wgrad_compute: true\n"));
}

// A pipeline's local batch is all of a replica's microbatches: 64 / 2 = 32, one sequence each.
TEST_CASE("launch flags: torchtitan") {
  const LaunchFlags flags =
      launch_flags(LaunchFramework::torchtitan,
                   deep({"parallel.zero=3", "parallel.sequence_parallel=true", "model.layers=78",
                         "parallel.short_edges=true", "parallel.recompute=every-second-product",
                         R"(parallel.overlap=["dp_gradients","dp_parameters","tp"])"}));
  for (const char* line :
       {"[training]\nlocal_batch_size = 32\nglobal_batch_size = 64\n",
        "data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 2\n",
        "tensor_parallel_degree = 8\nenable_async_tensor_parallel = true\n",
        "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"1F1B\"\n",
        // 78 + 2 over 4 stages
        "pipeline_parallel_layers_per_stage = 20\npipeline_parallel_first_stage_less_layers = 1\n",
        "mode = \"selective\"\nselective_ac_option = \"op\"\n", "[compile]\nenable = true\n"})
    CHECK_MESSAGE(has(flags, line), line);
  CHECK_FALSE(leaves_out(flags, "sequence parallelism"));
}

TEST_CASE("launch flags: torchtitan, what it cannot express") {
  const LaunchFlags flags =
      launch_flags(LaunchFramework::torchtitan,
                   llama({"parallel.dp=2", "parallel.tp=4", "parallel.pp=2", "parallel.vpp=1",
                          "parallel.cp=4", "parallel.schedule=zb-h1", "parallel.short_edges=false",
                          "parallel.global_batch=64", "parallel.overlap=[]",
                          "parallel.cp_kind=ulysses", "parallel.micro_batch=1", "parallel.zero=1",
                          "parallel.state.offload=true", "parallel.sequence_parallel=false"}));
  for (const char* what : {"ulysses", "zb-h1", "ZeRO-1", "offloaded", "without sequence"})
    CHECK_MESSAGE(leaves_out(flags, what), what);
}

// 8 nodes, ZeRO-3 in shards of 8 GPUs: 64 / 8 copies; 64 sequences over 64 ranks of one.
TEST_CASE("launch flags: DeepSpeed") {
  const LaunchFlags flags = launch_flags(
      LaunchFramework::deepspeed,
      llama({"parallel.dp=64", "parallel.tp=1", "parallel.pp=1", "parallel.vpp=1", "parallel.cp=1",
             "parallel.schedule=none", "parallel.short_edges=false", "parallel.global_batch=128",
             "parallel.overlap=[\"dp_gradients\"]", "parallel.micro_batch=1", "parallel.zero=3",
             "parallel.shard_ranks=8", "parallel.state.offload=true",
             "parallel.sequence_parallel=false", "parallel.recompute=none"}));
  for (const char* line :
       {"\"train_batch_size\": 128", "\"train_micro_batch_size_per_gpu\": 1",
        "\"gradient_accumulation_steps\": 2",  // 128 / 64 ranks / 1
        "\"stage\": 3", "\"overlap_comm\": true", "\"stage3_prefetch_bucket_size\": 0",
        "\"mics_shard_size\": 8", "\"device\": \"cpu\""})
    CHECK_MESSAGE(has(flags, line), line);
}

TEST_CASE("launch flags: DeepSpeed refuses gradients in shards under a pipeline") {
  const LaunchFlags flags = launch_flags(LaunchFramework::deepspeed,
                                         deep({"parallel.zero=2", "parallel.recompute=full"}));
  CHECK(has(flags, "\"stage\": 1"));
  CHECK(has(flags, "\"activation_checkpoint_interval\": 1"));
  for (const char* what : {"ZeRO-2 with a pipeline", "pp 4", "tp 8"})
    CHECK_MESSAGE(leaves_out(flags, what), what);
}
