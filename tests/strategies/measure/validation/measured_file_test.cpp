#include "strategies/measure/validation/measured_file.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/topologies/files/schema_agreement.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kData = LOCKSTEP_SOURCE_DIR "/tests/data/validation";

const std::string kRun = R"([{"id": "a", "source": "a test", "group": "own", "core": true,
  "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8},
  "model": {"layers": 2, "hidden": 64, "heads": 4, "seq": 128, "attention": "flash"},
  "parallel": {"tp": 2, "micro_batch": 1, "global_batch": 4, "precision": "bf16", "cp_kind": null},
  "measured": {"step_time_s": 0.5, "peak_memory_bytes": 1000, "basis": "read"},
  "assumed": ["model.vocab"]}])";

std::vector<Measured> measured_in(std::string_view text) {
  return read_measured(parse_json(text, "m.json"));
}

std::string error_of(std::string_view text) {
  try {
    (void)measured_in(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

std::string changed(const Mutation& mutation) {
  return mutated(kRun, mutation);
}

}  // namespace

TEST_CASE("a training run keeps what was measured and the parts of its scenario") {
  const std::vector<Measured> all = measured_in(kRun);
  REQUIRE(all.size() == 1);
  const auto& run = std::get<MeasuredRun>(all[0]);
  CHECK(run.origin.id == "a");
  CHECK(run.group == "own");
  CHECK(run.core);
  CHECK(run.gpu == "h100-sxm5-80gb");
  CHECK(run.step_time == Duration::picoseconds(500'000'000'000));
  CHECK(run.peak_memory == Bytes{1000});
  CHECK_FALSE(run.layer_forward.has_value());
  CHECK(run.origin.assumed == std::vector<std::string>{"model.vocab"});
  // null says that it does not apply: no such member goes on.
  CHECK(find_member(*run.parallel.get_if<JsonObject>(), "cp_kind") == nullptr);
  CHECK(find_member(*run.parallel.get_if<JsonObject>(), "tp") != nullptr);
}

TEST_CASE("keys of experts come together") {
  const auto with = [](const std::string& keys) {
    std::string text = kRun;
    const std::string before = R"("attention": "flash")";
    text.replace(text.find(before), before.size(), before + ", " + keys);
    return error_of(text);
  };
  CHECK(with(R"("experts": 8, "experts_per_token": 2)") == "accepted");
  CHECK(with(R"("experts": 8)").find("experts_per_token") != std::string::npos);
  CHECK(with(R"("expert_ffn": 8)").find("experts") != std::string::npos);
  CHECK(with(R"("shared_experts": 0)").find("experts") != std::string::npos);
  CHECK(with(R"("experts": 1, "experts_per_token": 1)").find("2") != std::string::npos);
}

TEST_CASE("an element's keys tell which form it has") {
  const std::vector<Measured> all = load_measured(kData / "tables.json");
  std::size_t collectives = 0;
  std::size_t devices = 0;
  for (const Measured& each : all) {
    collectives += std::holds_alternative<CollectiveTable>(each) ? 1 : 0;
    devices += std::holds_alternative<DeviceTable>(each) ? 1 : 0;
  }
  CHECK(collectives == 2);
  CHECK(devices == all.size() - 2);
  for (const Measured& each : load_measured(kData / "runs.json"))
    CHECK(std::holds_alternative<MeasuredRun>(each));
}

TEST_CASE("what is wrong is reported with its place and with what is allowed") {
  CHECK(error_of("{}") ==
        "m.json:1:1: error: expected an array of measured results, got an object\n"
        "1 error; nothing was run");
  CHECK(error_of("[{\"id\": \"a\"}]").find("m.json:1:2: error: /0: expected a training run") == 0);
  CHECK(error_of(changed({"", "/0/model/layer", "2"}))
            .find("unknown key \"layer\"; did you mean "
                  "\"layers\"?") != std::string::npos);
  CHECK(error_of(changed({"", "/0/measured", "{}"})).find("nothing was measured") !=
        std::string::npos);
  CHECK(error_of(changed({"", "/0/parallel/tp", "null"})).find("/0/parallel/tp") !=
        std::string::npos);
}

TEST_CASE("all problems of all files are reported at once") {
  const std::vector<std::filesystem::path> files{kData / "runs.json", kData / "none.json",
                                                 kData / "nothing.json"};
  try {
    (void)load_measured(files);
    FAIL("two files are not there");
  } catch (const ConfigError& error) {
    CHECK(error.total() == 2);
  }
}

TEST_CASE("an id is there once") {
  std::string twice = kRun;
  twice.replace(twice.rfind(']'), 1, "," + kRun.substr(1));
  CHECK(error_of(twice).find("the id \"a\" is there already, in line 1") != std::string::npos);
}

TEST_CASE("schema and reader accept the same files and refuse the same changes of runs") {
  const SchemaAgreement both{LOCKSTEP_SOURCE_DIR "/configs/schema/measured.schema.json",
                             [](std::string_view text) { (void)measured_in(text); }};
  CHECK(both.verdict(text_of_file(kData / "runs.json")) == "both accept");
  CHECK(both.verdict(text_of_file(kData / "tables.json")) == "both accept");
  CHECK(both.verdict(kRun) == "both accept");
  CHECK(both.verdict(changed({"own stack", "/0/stack", "\"eager\""})) == "both accept");
  for (const Mutation& m : std::vector<Mutation>{
           {"missing id", "/0/id", ""},
           {"missing source", "/0/source", ""},
           {"missing group", "/0/group", ""},
           {"empty group", "/0/group", "\"\""},
           {"missing cluster", "/0/cluster", ""},
           {"unknown key of the cluster", "/0/cluster/gpu_count", "8"},
           {"no GPUs", "/0/cluster/gpus", "0"},
           {"GPUs as a text", "/0/cluster/gpus", "\"8\""},
           {"unknown way to join", "/0/cluster/intra", "\"ib\""},
           {"missing layers", "/0/model/layers", ""},
           {"layers with a point", "/0/model/layers", "2.5"},
           {"unknown attention", "/0/model/attention", "\"flash-2\""},
           {"null where it is not allowed", "/0/parallel/tp", "null"},
           {"unknown schedule", "/0/parallel/schedule", "\"1f2b\""},
           {"unknown overlap", "/0/parallel/overlap", "[\"dp\"]"},
           {"a tenth ZeRO", "/0/parallel/zero", "10"},
           {"nothing measured", "/0/measured", "{\"basis\": \"read\"}"},
           {"no time", "/0/measured/step_time_s", "0"},
           {"evaluation of nothing", "/0/measured/evaluations",
            R"({"every_sequences": 100, "sequences": 0})"},
           {"evaluation without an interval", "/0/measured/evaluations", R"({"sequences": 10})"},
           {"evaluations in no time", "/0/measured",
            R"({"layer_forward_s": 1, "evaluations": {"every_sequences": 9, "sequences": 9}})"},
           {"time as a text", "/0/measured/step_time_s", "\"0.5 s\""},
           {"unknown kind of memory", "/0/measured/memory_kind", "\"virtual\""},
           {"tolerance above all", "/0/tolerance", "2"},
           {"assumed is no list", "/0/assumed", "\"model.vocab\""},
           {"unknown key", "/0/colour", "1"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(changed(m)) == "both refuse");
  }
}

TEST_CASE("schema and reader refuse the same changes of tables") {
  const SchemaAgreement both{LOCKSTEP_SOURCE_DIR "/configs/schema/measured.schema.json",
                             [](std::string_view text) { (void)measured_in(text); }};
  const std::string collective = R"([{"id": "c", "source": "a test",
    "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8}, "collective": "all_reduce", "ranks": 8,
    "rows": [{"size_bytes": 512, "time_s": 1e-5}]}])";
  const std::string device = R"([{"id": "d", "source": "a test", "kind": "gemm-limit",
    "gpu": "h100-sxm5-80gb", "precision": "bf16",
    "rows": [{"m": 1, "n": 2, "k": 3, "flops_per_s": 1e12}]}])";
  CHECK(both.verdict(collective) == "both accept");
  const std::string moving = R"([{"id": "k", "source": "a test", "kind": "memory-bound",
    "gpu": "h100-sxm5-80gb", "stack": "fsdp2", "operation": "rotary_backward",
    "rows": [{"moved_bytes": 1000000, "time_s": 1e-5}]}])";
  const std::string grouped = R"([{"id": "g", "source": "a test", "kind": "grouped-gemm",
    "gpu": "h100-sxm5-80gb", "precision": "bf16",
    "rows": [{"groups": 8, "m": 1, "n": 2, "k": 3, "time_s": 1e-5}]}])";
  const std::string latent = R"([{"id": "l", "source": "a test", "kind": "attention",
    "gpu": "h100-sxm5-80gb", "precision": "bf16", "implementation": "flash-3", "causal": true,
    "heads": 128, "kv_heads": 128, "head_dim": 192, "value_head_dim": 128, "pass": "forward",
    "rows": [{"seq": 4096, "batch": 1, "time_s": 1e-3}]}])";
  CHECK(both.verdict(device) == "both accept");
  CHECK(both.verdict(grouped) == "both accept");
  CHECK(both.verdict(mutated(grouped, {"no groups", "/0/rows/0/groups", ""})) == "both refuse");
  CHECK(both.verdict(latent) == "both accept");
  CHECK(both.verdict(mutated(latent, {"no size", "/0/value_head_dim", "0"})) == "both refuse");
  CHECK(both.verdict(moving) == "both accept");
  for (const char* file :
       {"h100-single.json", "h100-kernels.json", "h100-memory.json", "h100-clocks.json"}) {
    CAPTURE(file);
    CHECK(both.verdict(text_of_file(kData / file)) == "both accept");
  }
  for (const Mutation& m :
       std::vector<Mutation>{{"no stack", "/0/stack", ""},
                             {"no operation", "/0/operation", ""},
                             {"unknown operation", "/0/operation", "\"rotary_forward\""},
                             {"a GEMM", "/0/operation", "\"matmul\""},
                             {"attention", "/0/operation", "\"attention_scores\""},
                             {"a message", "/0/operation", "\"send\""},
                             {"no bytes", "/0/rows/0/moved_bytes", ""},
                             {"half a byte", "/0/rows/0/moved_bytes", "0.5"},
                             {"no time", "/0/rows/0/time_s", ""}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(moving, m)) == "both refuse");
  }
  for (const Mutation& m : std::vector<Mutation>{{"no rows", "/0/rows", "[]"},
                                                 {"size alone", "/0/rows/0/time_s", ""},
                                                 {"time alone", "/0/rows/0/size_bytes", ""},
                                                 {"unknown collective", "/0/collective", "\"sum\""},
                                                 {"one rank", "/0/ranks", "1"},
                                                 {"unknown algorithm", "/0/algorithm", "\"x\""}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(collective, m)) == "both refuse");
  }
  for (const Mutation& m : std::vector<Mutation>{{"unknown kind", "/0/kind", "\"gem\""},
                                                 {"half a shape", "/0/rows/0/k", ""},
                                                 {"no rate", "/0/rows/0/flops_per_s", ""},
                                                 {"no precision", "/0/precision", ""},
                                                 {"heads of a product", "/0/heads", "8"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(device, m)) == "both refuse");
  }
}

TEST_CASE("heads of keys and values of a table divide those of the queries") {
  const std::string text = R"([{"id": "l", "source": "a test", "kind": "attention",
    "gpu": "h100-sxm5-80gb", "precision": "bf16", "implementation": "flash-3", "causal": true,
    "heads": 12, "kv_heads": 8, "head_dim": 128, "pass": "forward",
    "rows": [{"seq": 4096, "batch": 1, "time_s": 1e-3}]}])";
  CHECK_THROWS_WITH_AS((void)measured_in(text),
                       doctest::Contains("\"kv_heads\" 8 does not divide \"heads\" 12"),
                       ConfigError);
}

}  // namespace lockstep
