#include "strategies/stacks/software_stack.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/topologies/files/schema_agreement.hpp"

using namespace lockstep;

namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";
const std::filesystem::path kStacks = kConfigs / "stacks";

SoftwareStack stack_from(std::string_view text) {
  return read_software_stack(parse_json(text, (kStacks / "s.json").string()), "s");
}

std::string good() {
  return text_of_file(kStacks / "fsdp.json");
}

}  // namespace

TEST_CASE("every figure of a software stack names its source") {
  for (const std::string& id : software_stack_ids(kStacks)) {
    CAPTURE(id);
    const SoftwareStack stack = find_software_stack(kStacks, id);
    CHECK(stack.id == id);
    CHECK_FALSE(stack.attention.empty());
    CHECK(stack.use.size() > 20);
    for (const FigureSource& figure : stack.sources) {
      CAPTURE(figure.pointer);
      CHECK(figure.source.size() >= 8);
      CHECK(figure.provenance.has_value());
    }
  }
}

TEST_CASE("an operation that a stack does not mention is one kernel that moves its tensors") {
  const SoftwareStack stack = find_software_stack(kStacks, "fused");
  const KindFigures& sum = stack.kinds[static_cast<std::size_t>(OperationKind::add)];
  CHECK(sum.kernels == 1);
  CHECK(sum.traffic == 1);
  CHECK_FALSE(sum.multiprocessor_rate.has_value());
  const KindFigures& norm = stack.kinds[static_cast<std::size_t>(OperationKind::normalization)];
  CHECK(norm.kernels == 1);
  REQUIRE(norm.multiprocessor_rate.has_value());  // fused.json: PyTorch's native kernels
  CHECK(norm.multiprocessor_rate->bytes_per_second() == doctest::Approx(15.5e9));
  const KindFigures& dropout = stack.kinds[static_cast<std::size_t>(OperationKind::dropout)];
  CHECK(dropout.kernels == 0);
}

TEST_CASE("a stack names the recipe of fp8") {
  CHECK(find_software_stack(kStacks, "transformer-engine").fp8 == "fp8-delayed");
  CHECK(find_software_stack(kStacks, "fsdp2").fp8 == "fp8-tensorwise");
  CHECK(find_software_stack(kStacks, "fsdp2-fp8-rows").fp8 == "fp8-rowwise");
}

TEST_CASE("gradients by the precision of the weights, or in one for all") {
  const auto gradients = [](const std::string& id) {
    return find_software_stack(kStacks, id).gradients;
  };
  // Megatron-LM training/arguments.py: bf16 turns accumulate_allreduce_grads_in_fp32 on.
  CHECK(gradients("transformer-engine") == std::map<Dtype, Dtype>{{Dtype::bf16, Dtype::fp32}});
  CHECK(gradients("deepspeed-bf16").at(Dtype::fp16) == Dtype::fp32);
  CHECK(gradients("fsdp").empty());
  const auto bridge = find_software_stack(kStacks, "megatron-bridge-performance");
  CHECK(bridge.gradients.at(Dtype::bf16) == Dtype::bf16);
  CHECK(bridge.gradient_passes == std::set<GradientPass>{GradientPass::zero});
}

// torchtitan: fused AdamW since 6e4988550 reads fp32 weights, gradients and two moments and writes
// all but gradients; activation_checkpoint.py has early_stop=False.
TEST_CASE("torchtitan since 2025 updates in one kernel and recomputes layers to their end") {
  const SoftwareStack before = find_software_stack(kStacks, "fsdp2");
  const SoftwareStack since = find_software_stack(kStacks, "fsdp2-2025");
  CHECK(before.form.stops_early);
  CHECK_FALSE(since.form.stops_early);
  const auto update = static_cast<std::size_t>(OperationKind::update);
  // Norm and clipping: 4 and 8 bytes, a kernel each, as before; in units of 4 + 24 bytes.
  const double fused = 4.0 * (4 + 3);
  CHECK(since.kinds[update].traffic == doctest::Approx((fused + 12) / 28).epsilon(0.002));
  CHECK(since.kinds[update].kernels == before.kinds[update].kernels - 8 + 1);
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    if (i == update) continue;
    CHECK(since.kinds[i].kernels == before.kinds[i].kernels);
    CHECK(since.kinds[i].traffic == before.kinds[i].traffic);
  }
}

// Megatron-LM, core/pipeline_parallel/combined_1f1b.py; DeepSeek has software of its own.
TEST_CASE("Megatron-Core pairs no microbatches whose experts it recomputes") {
  for (const char* id : {"transformer-engine", "megatron-bridge-performance", "nemo-2023"}) {
    CAPTURE(id);
    CHECK_FALSE(find_software_stack(kStacks, id).pairs_recompute_experts);
  }
  for (const char* id : {"hai-llm", "fsdp2"}) {
    CAPTURE(id);
    CHECK(find_software_stack(kStacks, id).pairs_recompute_experts);
  }
}

// DeepSpeed runtime/zero/stage_1_and_2.py (0.19.6), allreduce_and_scatter: a bucket of ZeRO-1 is
// all-reduced, of which each rank copies its part. Megatron-LM's distributed optimizer scatters.
TEST_CASE("DeepSpeed's ZeRO-1 all-reduces gradients, Megatron-LM's scatters their sum") {
  for (const char* id : {"blocking", "blocking-bf16", "deepspeed-bf16"}) {
    CAPTURE(id);
    CHECK_FALSE(find_software_stack(kStacks, id).scatter_gradients);
  }
  for (const char* id : {"unfused", "unfused-2022", "transformer-engine"}) {
    CAPTURE(id);
    CHECK(find_software_stack(kStacks, id).scatter_gradients);
  }
}

/// Tensors that autograd reads and writes besides a GEMM's operands, with heads of 128 and 2048
/// tokens, where queries, keys, values and the context have a sixteenth of the numbers of scores.
TEST_CASE("Megatron-LM's unfused attention moves what autograd adds to its GEMMs") {
  const double head = 128.0 / 2048;
  for (const char* id : {"blocking", "unfused", "unfused-2022", "deepspeed-bf16"}) {
    CAPTURE(id);
    const SoftwareStack stack = find_software_stack(kStacks, id);
    const auto traffic = [&stack](OperationKind kind) {
      return stack.kinds[static_cast<std::size_t>(kind)].traffic;
    };
    // Probabilities and values read, the context written; its copy to the order of tokens.
    CHECK(traffic(OperationKind::attention_context) ==
          doctest::Approx(1 + 2 * head / (1 + 2 * head)).epsilon(0.002));
    // The scores' gradient, queries and keys read, two gradients written; the baddbmm's factor over
    // these two, and torch.cat of the gradients of queries, keys and values.
    const double own = 1 + 4 * head;
    CHECK(traffic(OperationKind::attention_scores_backward) ==
          doctest::Approx((own + 2 * 2 * head + 2 * 3 * head) / own));
  }
}

/// Additions of x and y to a third tensor are 6 bytes per element in bf16: two for queries, keys
/// and values, one for gate and up, over the two norms whose backward pass follows. A norm written
/// out in fp32 moves 76 bytes per element, of 6 that each tensor once would.
TEST_CASE("eager sums the gradients that separate linear layers give back to a norm") {
  const SoftwareStack stack = find_software_stack(kStacks, "eager");
  REQUIRE_FALSE(stack.form.joined_gemms);
  CHECK(stack.kinds[static_cast<std::size_t>(OperationKind::normalization_backward)].traffic ==
        doctest::Approx((76 + 3 * 6 / 2.0) / 6).epsilon(0.005));
}

TEST_CASE("Transformer Engine puts the gradients of queries and keys together") {
  const SoftwareStack stack = find_software_stack(kStacks, "transformer-engine");
  const auto& rotary = stack.kinds[static_cast<std::size_t>(OperationKind::rotary)];
  const auto& backward = stack.kinds[static_cast<std::size_t>(OperationKind::rotary_backward)];
  CHECK(backward.traffic == 2 * rotary.traffic);  // read and written by torch.cat once more
}

TEST_CASE("a stack that extends another only contains differences") {
  const auto stack = [](const std::string& members) {
    return read_software_stack(parse_json(R"({"extends": "fsdp", "name": "n")" + members + "}",
                                          (kStacks / "own.json").string()),
                               "own");
  };
  const SoftwareStack base = find_software_stack(kStacks, "fsdp");
  const SoftwareStack same = stack("");
  CHECK(same.id == "own");
  CHECK(same.host_time == base.host_time);
  CHECK(same.attention == base.attention);
  CHECK(same.overlap.sharded == base.overlap.sharded);
  const SoftwareStack other =
      stack(R"(, "host_time": {"value": "1 us", "source": "a test"}, "kinds": {"cast": )"
            R"({"value": {"kernels": 7, "traffic": 3}, "source": "a test"}})");
  CHECK(other.host_time == 1_us);
  CHECK(other.kinds[static_cast<std::size_t>(OperationKind::cast)].kernels == 7);
  const auto softmax = static_cast<std::size_t>(OperationKind::softmax);
  CHECK(other.kinds[softmax].traffic == base.kinds[softmax].traffic);
}

TEST_CASE("a stack may extend one that extends another, of its folder or a shipped one") {
  const auto read = [](const std::string& name, const std::filesystem::path& file,
                       const std::filesystem::path& configs = {}) {
    return read_software_stack(
        parse_json(R"({"extends": ")" + name + R"(", "name": "n"})", file.string()), "own",
        configs);
  };
  const auto refused = [&](const std::string& name) {
    try {
      (void)read(name, kStacks / "own.json");
    } catch (const ConfigError& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  CHECK(refused("own").find("a file that extends itself") != std::string::npos);
  CHECK(refused("nothing").find("the file it extends cannot be used") != std::string::npos);
  // fsdp2 extends another one itself.
  const SoftwareStack fsdp2 = load_software_stack(kStacks / "fsdp2.json");
  CHECK(read("fsdp2", kStacks / "own.json").host_time == fsdp2.host_time);
  // From elsewhere, by name or alias.
  for (const char* name : {"fsdp2", "torchtitan"}) {
    const SoftwareStack own = read(name, "/elsewhere/own.json", kStacks.parent_path());
    CHECK(own.name == "n");
    CHECK(own.fp8 == fsdp2.fp8);
    CHECK(own.kinds.size() == fsdp2.kinds.size());
  }
}

TEST_CASE("an unknown stack is one error with the nearest name") {
  CHECK_THROWS_WITH_AS(
      (void)find_software_stack(kStacks, "fusd"),
      (kStacks.string() + ": error: no software stack named \"fusd\"; did you mean \"fused\"?\n"
                          "1 error; nothing was run")
          .c_str(),
      ConfigError);
}

TEST_CASE("schema and reader accept all shipped stacks and refuse the same changes") {
  const SchemaAgreement both{kConfigs / "schema/stack.schema.json",
                             [](std::string_view text) { (void)stack_from(text); }};
  for (const std::string& id : software_stack_ids(kStacks)) {
    CAPTURE(id);
    CHECK(both.verdict(text_of_file(kStacks / (id + ".json"))) == "both accept");
  }
  for (const Mutation& m : std::vector<Mutation>{
           {"unknown key", "/hosttime", "1"},
           {"missing name", "/name", ""},
           {"missing host time", "/host_time", ""},
           {"host time as number", "/host_time/value", "7"},
           {"missing source", "/bias/source", ""},
           {"recipe of fp8 without source", "/fp8", R"({"value": "fp8-delayed"})"},
           {"recipe of fp8 as number", "/fp8/value", "8"},
           {"missing sum of gradients", "/gradient_sum", ""},
           {"a rate without a unit", "/kinds/normalization_backward/value/multiprocessor_rate",
            "15"},
           {"no rate", "/kinds/normalization_backward/value/multiprocessor_rate", "\"0 GB/s\""},
           {"missing wait", "/host_waits_for", ""},
           {"unknown wait", "/host_waits_for/value", "\"messges\""},
           {"joined bias as number", "/joined_bias", R"({"value": 0, "source": "x"})"},
           {"no traffic of joined dropout", "/joined_dropout",
            R"({"value": {"kernels": 0}, "source": "x"})"},
           {"missing form of the loss", "/loss_keeps", ""},
           {"unknown form of the loss", "/loss_keeps/value", "\"wide\""},
           {"gradients in 8 bits", "/gradients", R"({"value": "fp8", "source": "x"})"},
           {"gradients without source", "/gradients", R"({"value": "fp32"})"},
           {"gradients of 8 bits", "/gradients", R"({"value": {"bf16": "fp8"}, "source": "x"})"},
           {"gradients of other weights", "/gradients",
            R"({"value": {"fp8": "fp32"}, "source": "x"})"},
           {"counts by another collective", "/token_counts",
            R"({"value": {"exchange": "broadcast", "host_waits": true}, "source": "x"})"},
           {"counts without a wait", "/token_counts",
            R"({"value": {"exchange": "all_gather"}, "source": "x"})"},
           {"weights of routers elsewhere", "/router_weights",
            R"({"value": "inputs", "source": "x"})"},
           {"unknown pass", "/gradient_passes", R"({"value": ["clip"], "source": "x"})"},
           {"pass without source", "/gradient_passes", R"({"value": ["zero"]})"},
           {"bucket as size alone", "/bucket/value", "\"25 MiB\""},
           {"bucket of nothing", "/bucket/value/size", "\"0 B\""},
           {"bucket with an unknown key", "/bucket/value/last", "\"1 MiB\""},
           {"reduction at another time", "/reduces_gradients/value/with_pipeline", "\"never\""},
           {"reduction without a time", "/reduces_gradients/value/with_pipeline", ""},
           {"reduction without source", "/reduces_gradients/source", ""},
           {"joined products as number", "/joined_products/value", "1"},
           {"missing end of recomputation", "/recomputation_stops_early", ""},
           {"wait as flag", "/host_waits_for/value", "true"},
           {"no attention", "/attention/value", "[]"},
           {"unknown attention", "/attention/value", "[\"flash\"]"},
           {"unknown operation", "/kinds/droput", R"({"value": {}, "source": "x"})"},
           {"communication", "/kinds/collective",
            R"({"value": {"kernels": 1, "traffic": 1}, "source": "x"})"},
           {"missing traffic", "/kinds/dropout/value/traffic", ""},
           {"fewer than no kernels", "/kinds/dropout/value/kernels", "-1"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(good(), m)) == "both refuse");
  }
}
