#include <doctest/doctest.h>

#include <cmath>

#include "tests/tools/run_command.hpp"

/// What the shipped scenarios show.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kYear = 365.25 * 86'400;

Json run(const std::string& scenario, const std::string& options = "") {
  return json_of("lockstep run configs/scenarios/" + scenario + ".json " + options);
}

double bubble(const std::string& scenario, const std::string& options = "") {
  return run(scenario, options)["breakdown"]["bubble_s"];
}

/// Weights, gradients and optimizer states that a rank holds throughout, in GB of 1e9 bytes.
double model_states(const std::string& scenario) {
  return run(scenario)["memory"]["model_states_bytes"].get<double>() / 1e9;
}

}  // namespace

TEST_CASE("GPT-3 on one V100 takes 355 years by 6 N D, about 360 with all that it computes") {
  const Json result = run("gpt3-v100");
  // 3.14e23 FLOPs at 28 TFLOP/s are 1.12e16 s.
  CHECK(result["six_n_d_flops"].get<double>() == doctest::Approx(3.14e23).epsilon(0.005));
  CHECK(result["six_n_d_s"].get<double>() / kYear == doctest::Approx(355.4).epsilon(0.005));
  CHECK(result["training_s"].get<double>() / kYear == doctest::Approx(360).epsilon(0.01));
  CHECK(result["memory"]["fits"] == false);
  // 3.1418e23 / 28e12 / 3600 / 24 = 129,870 days by N of 174.6e9; in years where it is printed.
  const std::string table = output_of("lockstep run gpt3-v100");
  CHECK(contains(table, "6 N D rule of thumb   355.7 years (129,914 days) for 3.14e+23 FLOPs"));
}

TEST_CASE("scenarios without dp fill the cluster that they are given") {
  const std::string run = "lockstep run llama3-70b --suggest 0 --format json --set ";
  // 8 nodes are 64 GPUs = tp 4 * cp 2 * pp 4 * dp 2.
  CHECK(Json::parse(output_of(run + "seed=1"))["config"]["parallel"]["dp"] == 2);
  CHECK(Json::parse(output_of(run + "cluster.nodes=16"))["config"]["parallel"]["dp"] == 4);
  CHECK(Json::parse(output_of(run + "parallel.tp=8"))["config"]["parallel"]["dp"] == 1);
}

TEST_CASE("GPT-3 does not fit an A100: 16 bytes for each parameter, by part") {
  const CommandResult refused = run_command("lockstep run configs/scenarios/gpt3-a100-memory.json");
  CHECK(refused.status == 1);
  const Json held = run("gpt3-a100-memory", "--ignore-memory")["memory"]["categories_bytes"];
  const double parameters = held["weight"].get<double>() / 2;
  CHECK(parameters == doctest::Approx(174.6e9).epsilon(0.005));  // Brown et al., table 2.1
  CHECK(held["gradient"].get<double>() == 2 * parameters);
  CHECK(held["optimizer_state"].get<double>() == doctest::Approx(12 * parameters).epsilon(1e-6));
}

TEST_CASE("ZeRO's stages leave 120, 31.4, 16.6 and 1.9 GB of states for 7.5B on 64 GPUs") {
  // Of the paper's 7.5e9 parameters; the model has 7.46e9 (0.5 % fewer).
  CHECK(model_states("zero-7b5-0") == doctest::Approx(120).epsilon(0.01));
  CHECK(model_states("zero-7b5-1") == doctest::Approx(31.4).epsilon(0.01));
  CHECK(model_states("zero-7b5-2") == doctest::Approx(16.6).epsilon(0.01));
  CHECK(model_states("zero-7b5-3") == doctest::Approx(1.875).epsilon(0.01));  // 16 * 7.5 / 64
}

TEST_CASE("pipelines idle by their formulas") {
  // The ideal time of a stage: what it computes, without the optimizer. p = 4, m = 16; the loss
  // makes the last stage a little longer.
  const Json one = run("pipeline-1f1b");
  const Json purpose = one["breakdown"]["purpose_s"];
  const double ideal = purpose["forward"].get<double>() + purpose["backward"].get<double>();
  const double formula = 3.0 / 16 * ideal;
  CHECK(one["breakdown"]["bubble_s"].get<double>() == doctest::Approx(formula).epsilon(0.05));
  // The fraction is of the ideal time with what is exposed of messages, here 0.1 % of it.
  CHECK(one["breakdown"]["bubble_fraction_of_ideal"].get<double>() ==
        doctest::Approx(one["breakdown"]["bubble_s"].get<double>() / ideal).epsilon(0.005));
  CHECK(bubble("pipeline-gpipe") == doctest::Approx(formula).epsilon(0.05));
  // One microbatch of sixteen sequences, whose kernels are longer: of its own ideal time.
  const Json alone = run("pipeline-naive")["breakdown"];
  CHECK(alone["bubble_fraction_of_ideal"].get<double>() == doctest::Approx(3).epsilon(0.05));
  CHECK(bubble("pipeline-interleaved") == doctest::Approx(formula / 2).epsilon(0.15));  // v = 2
  // tF + tB - tW of tF + tB + tW: a third where all are equal; attention makes tB longer than tW.
  const double first = bubble("pipeline-zb");
  CHECK(first > formula / 3);
  CHECK(first < formula / 2);
  // ZB-H2's stages never idle, but begin one forward pass after the other, and a step ends with the
  // last of them: the first stage waits for (p-1) tF at the end.
  CHECK(bubble("pipeline-zb", "--set parallel.schedule=zb-h2") ==
        doctest::Approx(3.0 / 16 * purpose["forward"].get<double>()).epsilon(0.05));
}

TEST_CASE("pipelines hold activations by their schedule") {
  const auto activations = [](const std::string& scenario) {
    return run(scenario)["memory"]["categories_bytes"]["activation"].get<double>();
  };
  // 1F1B's first stage holds p = 4 microbatches, GPipe all m = 16.
  CHECK(activations("pipeline-gpipe") / activations("pipeline-1f1b") ==
        doctest::Approx(4).epsilon(0.05));
  // Interleaved: 1 + (p-1)/(p v) = 1.375 times as much.
  CHECK(activations("pipeline-interleaved") / activations("pipeline-1f1b") ==
        doctest::Approx(1.375).epsilon(0.05));
}

TEST_CASE("a parameter server's link carries more with every worker, a ring's does not") {
  const auto busiest = [](int ranks, const std::string& exchange) {
    const std::string options =
        "--set cluster.ranks=" + std::to_string(ranks) +
        " --set parallel.global_batch=" + std::to_string(32 * ranks) +
        " --set parallel.exchange=" + exchange +
        " --set parallel.algorithms.dp=" + (exchange == "all_reduce" ? "ring" : "parameter_server");
    return run("parameter-server", options)["links"][0]["bytes"].get<double>();
  };
  const double four = busiest(4, "parameter_server");
  CHECK(busiest(8, "parameter_server") == doctest::Approx(2 * four).epsilon(0.01));
  CHECK(busiest(16, "parameter_server") == doctest::Approx(4 * four).epsilon(0.01));
  // 2 (n-1)/n of the gradients: 1.5 for four, 1.875 for sixteen.
  CHECK(busiest(16, "all_reduce") / busiest(4, "all_reduce") ==
        doctest::Approx(1.25).epsilon(0.01));
}

TEST_CASE("video training on Summit scales nearly as far as it was measured") {
  // 211 times faster on 1,536 V100 than on 6: 82 % of 256 times. No data is loaded here.
  const double one = run("kinetics-summit",
                         "--set cluster.nodes=1 --set parallel.global_batch=48")["samples_per_s"];
  const double all = run("kinetics-summit")["samples_per_s"];
  CHECK(all / one > 211);
  CHECK(all / one <= 256);
}

TEST_CASE("the halves of an MLP meet in one all-reduce forward") {
  const Json communication = run("mlp-two-gpus")["breakdown"]["communication"];
  REQUIRE(communication.size() == 1);
  CHECK(communication[0]["group"] == "tp");
  // 2048 rows of 4096 in 16 bits. Nothing waits for the gradient of the data.
  CHECK(communication[0]["operations"] == 1);
  CHECK(communication[0]["bytes"] == 2048 * 4096 * 2);
}

TEST_CASE("the average over the host costs more than an all-reduce") {
  CHECK(run("host-average")["step_time_s"].get<double>() >
        run("host-average", "--set parallel.exchange=all_reduce")["step_time_s"].get<double>());
}

TEST_CASE("Llama 3 405B on 16,384 GPUs comes near what was measured") {
  const Json result = run("llama3-405b-16k-h100");
  CHECK(result["fidelity"] == "all");
  CHECK(result["model_flops_per_gpu_per_s"].get<double>() == doctest::Approx(400e12).epsilon(0.15));
  CHECK(result["memory"]["fits"] == true);
}

TEST_CASE("every scenario runs, and its shares are of the step") {
  for (const std::string name :
       {"attention-two-gpus", "data-parallel-from-scratch", "gpt-moe", "llama3-70b-dgx-h100",
        "llama7b-256", "sequence-2d", "sequence-all-gather", "sequence-ring", "sequence-ulysses"}) {
    CAPTURE(name);
    const Json result = run(name);
    CHECK(result["mfu_fraction"].get<double>() > 0);
    CHECK(result["mfu_fraction"].get<double>() < 0.8);
    CHECK(result["breakdown"]["bubble_s"].get<double>() < result["step_time_s"].get<double>());
  }
}

}  // namespace lockstep
