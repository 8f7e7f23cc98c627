#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

#include "strategies/layout/scenario_names.hpp"
#include "tests/tools/run_command.hpp"

/// What `lockstep run` says of a step: its parts are of one step, and add up.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

Json run(const std::string& scenario, const std::string& options = "") {
  return json_of("lockstep run " + scenario + " " + options);
}

double sum_of(const Json& parts) {
  double sum = 0;
  for (const auto& [name, time] : parts.items()) sum += time.get<double>();
  return sum;
}

double breakdown_sum(const Json& result) {
  const Json& of = result["breakdown"];
  return sum_of(of["computation_s"]) + sum_of(of["exposed_communication_s"]) +
         of["bubble_s"].get<double>() + of["launch_overhead_s"].get<double>() +
         of["waiting_s"].get<double>();
}

double path_sum(const Json& result) {
  double sum = 0;
  for (const Json& share : result["breakdown"]["critical_path"])
    sum += share["time_s"].get<double>();
  return sum;
}

double on_path(const Json& result, const std::string& use) {
  for (const Json& share : result["breakdown"]["critical_path"])
    if (share["use"] == use) return share["time_s"];
  return 0;
}

std::string cell_of_csv(const std::vector<std::string>& lines, const std::string& column) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out{""};
    for (const char c : line) {
      if (c == ',') out.emplace_back();
      if (c != ',') out.back() += c;
    }
    return out;
  };
  const auto names = cells(lines.at(0));
  const auto at = std::find(names.begin(), names.end(), column);
  REQUIRE(at != names.end());
  return cells(lines.at(1)).at(static_cast<std::size_t>(at - names.begin()));
}

double of_csv(const std::vector<std::string>& lines, const std::string& column) {
  return std::stod(cell_of_csv(lines, column));
}

/// A Llama shape without vocabulary, so that stages are equal; sixteen microbatches.
constexpr const char* kEqualStages = R"({"cluster": {"file": "dgx-a100", "nodes": NODES},
  "model": {"name": "equal", "layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008,
            "gated_mlp": true, "seq": 2048, "vocab": 1},
  "parallel": {"tp": TP, "pp": PP, "micro_batch": 1, "global_batch": BATCH}})";

Json equal_stages(int nodes, int tp, int pp, const std::string& options = "") {
  std::string text = replaced(kEqualStages, "NODES", std::to_string(nodes));
  text = replaced(replaced(text, "TP", std::to_string(tp)), "PP", std::to_string(pp));
  text = replaced(text, "BATCH", std::to_string(16 * (8 * nodes / (tp * pp))));  // 16 each
  const TemporaryFile file{text};
  return run(file.path(), options);
}

TEST_CASE("rows of CSV name every precision of weights") {
  // Each with GEMMs that take it.
  const std::map<Dtype, std::string> precisions{{Dtype::fp32, "bf16"},
                                                {Dtype::fp16, "fp16"},
                                                {Dtype::bf16, "bf16"},
                                                {Dtype::fp8, "fp8-delayed"},
                                                {Dtype::fp8_block, "fp8-blockwise"},
                                                {Dtype::nvfp4, "nvfp4"}};
  for (const auto& [name, dtype] : stored_names()) {
    CAPTURE(name);
    const auto lines = lines_of(
        output_of("lockstep run precision-recipes --no-variants --suggest 0 --format csv "
                  "--set parallel.precision=" +
                  precisions.at(dtype) + " --set parallel.state.weights=" + std::string{name}));
    CHECK(cell_of_csv(lines, "weights") == name);
  }
}

}  // namespace

TEST_CASE("whatever the host waits for, bubbles are bubbles and the critical path goes on") {
  // p = 4, m = 16. Interleaved: v = 2. All stacks compute for far longer than their hosts launch.
  for (const std::string scenario : {"pipeline-1f1b", "pipeline-gpipe", "pipeline-interleaved"}) {
    const double formula = scenario == "pipeline-interleaved" ? 3.0 / 32 : 3.0 / 16;
    for (const std::string stack :
         {"fused", "transformer-engine", "unfused", "deepspeed-bf16", "blocking"}) {
      CAPTURE(scenario);
      CAPTURE(stack);
      const Json result = run(scenario, "--set stack=" + stack);
      const double step = result["step_time_s"];
      CHECK(breakdown_sum(result) == doctest::Approx(step).epsilon(1e-9));
      CHECK(path_sum(result) == doctest::Approx(step).epsilon(1e-9));
      CHECK(result["breakdown"]["bubble_fraction_of_ideal"].get<double>() ==
            doctest::Approx(formula).epsilon(0.12));
      CHECK(result["breakdown"]["launch_overhead_s"].get<double>() < 0.03 * step);
      CHECK(on_path(result, "kernel launch overhead") < 0.03 * step);
      CHECK(on_path(result, "matmul") > 0.5 * step);
      // Every stage idles alike, wherever it stands.
      for (const Json& stage : result["breakdown"]["stages"])
        CHECK(stage["bubble_s"].get<double>() > 0.7 * formula * step / (1 + formula));
    }
  }
}

TEST_CASE("the bubble is relative to the ideal time, its communication included") {
  // Narayanan et al. 2021, section 2.2: (p-1)/m of the ideal time with any tp.
  for (const auto& [nodes, tp, pp] :
       {std::array{1, 1, 4}, std::array{1, 2, 4}, std::array{4, 8, 4}, std::array{8, 8, 8}}) {
    CAPTURE(tp);
    CAPTURE(pp);
    const Json result = equal_stages(nodes, tp, pp);
    CHECK(result["breakdown"]["bubble_fraction_of_ideal"].get<double>() ==
          doctest::Approx((pp - 1) / 16.0).epsilon(0.1));
  }
}

TEST_CASE("causal attention is the same work however the sequence is cut") {
  const auto hardware = [](const std::string& parallel) {
    const TemporaryFile file{
        R"({"cluster": {"file": "dgx-h100", "nodes": 1}, "model": {"file": "llama2-7b",
            "seq": 32768, "layers": 4}, "ignore_memory": true, "parallel": )" +
        parallel + "}"};
    const Json result = run(file.path());
    return result["hardware_flops_per_step"].get<double>() /
           result["model_flops_per_step"].get<double>();
  };
  const double zigzag = hardware(R"({"cp": 8, "global_batch": 1})");
  CHECK(hardware(R"({"cp": 8, "zigzag": false, "global_batch": 1})") ==
        doctest::Approx(zigzag).epsilon(1e-6));
  CHECK(hardware(R"({"cp": 8, "cp_kind": "ulysses", "global_batch": 1})") ==
        doctest::Approx(zigzag).epsilon(1e-6));
}

TEST_CASE("of parameter averaging everything is reported of the mean step") {
  const std::string options =
      "--set parallel.exchange=parameter_averaging --set parallel.average_every=10";
  const Json result = run("data-parallel-from-scratch", options);
  const double step = result["step_time_s"];
  const double with = result["averaging"]["step_with_average_s"];
  const double without = result["averaging"]["step_without_average_s"];
  CHECK(result["averaging"]["every"] == 10);
  CHECK(step == doctest::Approx((9 * without + with) / 10).epsilon(1e-9));
  CHECK(breakdown_sum(result) == doctest::Approx(step).epsilon(1e-9));
  CHECK(path_sum(result) == doctest::Approx(step).epsilon(1e-9));
  // Every tenth step exchanges: a tenth of the bytes of averaging each time, and of the links'.
  const Json each =
      run("data-parallel-from-scratch", "--set parallel.exchange=parameter_averaging");
  CHECK(each["averaging"].is_null());
  const auto bytes = [](const Json& of) {
    return of["breakdown"]["communication"][0]["bytes"].get<double>();
  };
  CHECK(bytes(result) == doctest::Approx(bytes(each) / 10).epsilon(1e-6));
  CHECK(result["links"][0]["bytes"].get<double>() ==
        doctest::Approx(each["links"][0]["bytes"].get<double>() / 10).epsilon(1e-6));
  // The row says the same.
  const auto lines = lines_of(
      output_of("lockstep run data-parallel-from-scratch --no-variants --format csv " + options));
  CHECK(of_csv(lines, "computation_s") + of_csv(lines, "exposed_communication_s") +
            of_csv(lines, "bubble_s") + of_csv(lines, "launch_overhead_s") +
            of_csv(lines, "waiting_s") ==
        doctest::Approx(of_csv(lines, "step_time_s")).epsilon(1e-9));
  const std::string table = output_of("lockstep run data-parallel-from-scratch " + options);
  CHECK(contains(table, "all times and bytes are means over 10 steps"));
}

TEST_CASE("a model needs as many GPUs as its states fill, however many replicas there are") {
  // 174.6e9 parameters of 16 bytes are 2.541 TiB; 80 GiB each: 32.5.
  for (const std::string options :
       {"", "--set cluster.gpus=2 --set parallel.global_batch=2",
        "--set cluster.gpus=8 --set parallel.global_batch=8",
        "--set cluster.gpus=8 --set parallel.global_batch=8 --set parallel.zero=1"}) {
    CAPTURE(options);
    const CommandResult refused = run_command("lockstep run gpt3-a100-memory " + options);
    CHECK(refused.status == 1);
    CHECK(contains(refused.err, "need 33 GPUs at least"));
  }
}

// Of 128 experts one has twice the mean, the other 127 share what is left: (128 - 2) / 127 =
// 0.9921. Two experts a rank: (2 + 126 / 127) / 2 = 1.496.
TEST_CASE("run says what skew of experts assumes of the other ranks") {
  const std::string skewed =
      "--no-variants --set parallel.capacity_factor=0 --set parallel.expert_skew=2";
  const Json notes = run("gpt-moe", skewed + " --set parallel.ep=64")["experts"];
  REQUIRE(notes.size() == 2);
  CHECK(contains(notes[0].get<std::string>(), "1.496 times the mean comes to the busiest rank"));
  CHECK(contains(notes[1].get<std::string>(), "the first rank of each group of 64 has it"));
  CHECK(contains(notes[1].get<std::string>(), "the others 0.9921 times the mean"));
  // All experts on every rank: nobody has more.
  CHECK(run("gpt-moe", skewed + " --set parallel.ep=1 --ignore-memory")["experts"].size() == 1);
}

TEST_CASE("tables of run have the headline's numbers and words") {
  const std::string text = output_of("lockstep run gpt-moe --suggest 0");
  CHECK(contains(text, "extrapolated: expert parallelism 128 (validated up to 8)"));
  // 512 sequences of 2048 tokens in 505.9 ms.
  CHECK(contains(text, "  tokens per second     2,072,493\n"));
  CHECK(contains(text, "  kernel launch overhead"));
  CHECK_FALSE(contains(text, "host issue"));
}

}  // namespace lockstep
