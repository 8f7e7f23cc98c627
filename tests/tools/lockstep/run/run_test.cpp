#include <doctest/doctest.h>

#include <map>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// `lockstep run`: one training step.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kMlp = "lockstep run configs/scenarios/mlp-two-gpus.json";

std::string run(const std::string& scenario, const std::string& options = "") {
  return "lockstep run configs/scenarios/" + scenario + ".json " + options;
}

double sum_of(const Json& object) {
  double sum = 0;
  for (const auto& [key, value] : object.items()) sum += value.get<double>();
  return sum;
}

/// Exit code 2, nothing on stdout, this on stderr.
void check_refused(const std::string& command, const std::string& said) {
  CAPTURE(command);
  const CommandResult result = run_command(command);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err == said + "\n");
}

}  // namespace

TEST_CASE("a step's JSON has every promised key, and its figures agree with each other") {
  for (const std::string scenario : {"mlp-two-gpus", "pipeline-1f1b", "llama7b-256"}) {
    CAPTURE(scenario);
    const Json result = json_of(run(scenario));
    CHECK(result["schema"] == "lockstep.run/2");
    CHECK(result["tool"]["name"] == "lockstep");
    CHECK(result["seed"] == 1);
    CHECK(result["fingerprint"].get<std::string>().size() == 16);
    const double step = result["step_time_s"];
    const Json& breakdown = result["breakdown"];
    // Every instant of the step counts once.
    CHECK(sum_of(breakdown["computation_s"]) + sum_of(breakdown["exposed_communication_s"]) +
              breakdown["bubble_s"].get<double>() + breakdown["launch_overhead_s"].get<double>() +
              breakdown["waiting_s"].get<double>() ==
          doctest::Approx(step).epsilon(1e-9));
    double path = 0;
    for (const Json& share : breakdown["critical_path"]) path += share["time_s"].get<double>();
    CHECK(path == doctest::Approx(step).epsilon(1e-9));
    const Json& memory = result["memory"];
    CHECK(sum_of(memory["categories_bytes"]) == memory["peak_bytes"].get<double>());
    CHECK(memory["fits"] == true);
    const Json& parallel = result["config"]["parallel"];
    const double ranks = parallel["dp"].get<double>() * parallel["tp"].get<double>() *
                         parallel["pp"].get<double>() * parallel["cp"].get<double>();
    CHECK(result["samples_per_s"].get<double>() ==
          doctest::Approx(parallel["global_batch"].get<double>() / step));
    CHECK(result["mfu_fraction"].get<double>() ==
          doctest::Approx(result["model_flops_per_step"].get<double>() / step / ranks /
                          result["peak_flops_per_gpu_per_s"].get<double>()));
    CHECK(contains(result["convention"].get<std::string>(), "causal attention"));
    CHECK_FALSE(result["links"].empty());
    for (const Json& link : result["links"]) CHECK(link["busy_fraction"].get<double>() <= 1.0);
  }
}

TEST_CASE("tokens per second are sequences times their length") {
  const Json result = json_of(run("llama7b-256"));
  CHECK(result["tokens_per_s"].get<double>() ==
        doctest::Approx(result["samples_per_s"].get<double>() * 2048));
  CHECK(result["training_s"].get<double>() ==
        doctest::Approx(1e12 / result["tokens_per_s"].get<double>()));
}

TEST_CASE("the same step prints the same bytes, in every format") {
  for (const std::string format : {"table", "json", "csv", "md"}) {
    const std::string first = output_of(kMlp + " --format " + format);
    CHECK(output_of(kMlp + " --format " + format) == first);
    CHECK(lines_of(first).size() > 1);
  }
  const Json rows = rows_of(kMlp);
  CHECK(lines_of(output_of(kMlp + " --format csv")).size() == 1 + rows.size());
  CHECK(contains(output_of(kMlp), "MFU"));
  CHECK(contains(output_of(kMlp + " --format md"), "| model |"));
  CHECK(contains(output_of(kMlp + " --format md"), "| step time |"));
}

TEST_CASE("the config of a result can be run again, and gives the same step") {
  const Json first = json_of(run("llama7b-256", "--set parallel.micro_batch=8"));
  CHECK(first["config"]["parallel"]["micro_batch"] == 8);
  const TemporaryFile file(first["config"].dump());
  const Json again = json_of("lockstep run " + file.path());
  CHECK(again["fingerprint"] == first["fingerprint"]);
  CHECK(again["step_time_s"] == first["step_time_s"]);
}

TEST_CASE("overrides are applied, and reported where they are wrong") {
  CHECK(json_of(kMlp + " --set parallel.micro_batch=1024")["config"]["parallel"]["micro_batch"] ==
        1024);
  check_refused(kMlp + " --set parallel.tq=4",
                "--set parallel.tq=4: error: /parallel/tq: unknown key \"tq\"; did you mean "
                "\"tp\"?\n1 error; nothing was run");
  check_refused(kMlp + " --set parallel.tp=x",
                "--set parallel.tp=x: error: /parallel/tp: expected an integer from 1 to "
                "16777216, got \"x\"\n1 error; nothing was run");
  check_refused(kMlp + " --set model.layers",
                "--set model.layers: error: expected KEY=VALUE such as parallel.tp=4\n"
                "1 error; nothing was run");
}

TEST_CASE("what is no scenario is refused once") {
  check_refused(
      "lockstep run",
      "lockstep: error: expected a scenario: scenario file, name of a shipped one, result of "
      "`run --format json`, or point of a store: plan.db:rank1 or plan.db:17");
  check_refused("lockstep run no-such.json",
                "no-such.json: error: no such file\n1 error; nothing was run");
  check_refused("lockstep run configs/scenarios",
                "configs/scenarios: error: this is a directory; expected a JSON file\n"
                "1 error; nothing was run");
  check_refused("lockstep run mlp-tow-gpus",
                "lockstep: error: no scenario named \"mlp-tow-gpus\"; did you mean "
                "\"mlp-two-gpus\"?");
  const TemporaryFile model(R"({"model_type": "llama", "hidden_size": 4096})");
  check_refused("lockstep run " + model.path(),
                model.path() +
                    ":1:1: error: this is a model's config.json of Hugging Face, not a scenario; "
                    "a scenario names it as \"model\": {\"file\": \"config.json\"}, next to "
                    "\"cluster\" and \"parallel\"\n1 error; nothing was run");
  check_refused(kMlp + " --network fluyd",
                "lockstep: error: --network: expected fluid, alpha-beta or queue, got \"fluyd\"");
  check_refused(kMlp + " --fidelity some",
                "lockstep: error: --fidelity: expected auto, all or representatives, got "
                "\"some\"");
  check_refused(
      kMlp + " --trace-ranks 0",
      "lockstep: error: --trace-ranks, --trace-window and --trace-detail need --trace FILE");
}

TEST_CASE("a zero-bubble schedule on one stage is the step as it is without") {
  const std::string zero = run("zero-7b5-3", "--fidelity representatives");
  CHECK(json_of(zero + " --set parallel.schedule=zb-1p")["fingerprint"] ==
        json_of(zero)["fingerprint"]);
}

TEST_CASE("a plan that does not fit says which rank, by how much, why, and what would fit") {
  const std::string command = run("zero-7b5-0", "--set ignore_memory=false --set stack=fused");
  const CommandResult result = run_command(command);
  CHECK(result.status == 1);
  CHECK(result.out.empty());
  CHECK(contains(result.err, "rank 0 needs 113.1 GiB of memory"));
  CHECK(contains(result.err, "more than the 80 GiB of a100-sxm4-80gb"));
  CHECK(contains(result.err, "optimizer_state"));
  CHECK(contains(result.err, "smallest change that fits: --set parallel.zero=1 ("));
  CHECK(json_of(command + " --set parallel.zero=1")["memory"]["fits"] == true);
  CHECK(json_of(command + " --ignore-memory")["memory"]["fits"] == false);
}

TEST_CASE("a trace opens, and holds the ranks and the time that were asked for") {
  const NewFile file;
  const std::string command = run("pipeline-1f1b", "--trace " + file.path());
  CHECK_FALSE(output_of(command).empty());
  const auto spans = [&file] {
    Json out = Json::array();
    const Json trace = Json::parse(text_of(file.path()));
    for (const Json& event : trace["traceEvents"])
      if (event["ph"] == "X") out.push_back(event);
    return out;
  };
  CHECK(contains(text_of(file.path()), "node0/gpu0 -> node0/nvswitch0"));  // a track for each link
  const std::size_t all = spans().size();
  CHECK(all > 1000);
  (void)output_of(command + " --trace-ranks 2");
  const Json of_one = spans();
  CHECK(of_one.size() < all);
  for (const Json& event : of_one) CHECK(event["pid"] == 3);  // rank + 1
  (void)output_of(command + " --trace-window '100 ms..200 ms'");
  for (const Json& event : spans()) {
    CHECK(event["ts"].get<double>() < 200e3);  // microseconds
    CHECK(event["ts"].get<double>() + event["dur"].get<double>() >= 100e3);
  }
  check_refused(command + " --trace-ranks 9",
                "lockstep: error: --trace-ranks: rank 9 was not simulated (only 0, 1, 2, 3, ... "
                "stand for the others; --fidelity all simulates every rank)");
  check_refused(command + " --trace-window 5ms",
                "lockstep: error: --trace-window: expected two times, the first before the "
                "second, such as \"10 ms..12.5 ms\", got \"5ms\"");
  CHECK(run_command(run("mlp-two-gpus", "--trace /no/such/folder/t.json")).status == 4);
}

TEST_CASE("a trace of a folded step says that it has no link counters") {
  const NewFile file;
  // --classes folds whatever the size of the step.
  const std::string command = run("pipeline-1f1b", "--trace " + file.path());
  CHECK(contains(run_command(command + " --classes").err, "no link counters"));
  CHECK(run_command(command).err.empty());
}

TEST_CASE("a trace has passes of microbatches and layers above the kernels") {
  const NewFile file;
  const std::string command = run("pipeline-1f1b", "--trace " + file.path());
  const auto by_category = [&file] {
    std::map<std::string, std::size_t> out;
    const Json trace = Json::parse(text_of(file.path()));
    for (const Json& event : trace["traceEvents"])
      if (event["ph"] == "X") ++out[event["cat"].get<std::string>()];
    return out;
  };
  (void)output_of(command);
  const auto kernels = by_category();
  // Gradients are zeroed, 16 microbatches go forward and backward, and weights are updated, on each
  // of 4 stages; 32 layers.
  CHECK(kernels.at("pass") == 4 * (1 + 2 * 16 + 1));
  CHECK(kernels.at("layer") >= 2 * 16 * 32);
  CHECK(kernels.at("matmul") > kernels.at("layer"));
  (void)output_of(command + " --trace-detail layer");
  CHECK(by_category().at("layer") == kernels.at("layer"));
  CHECK(by_category().size() == 2);
  (void)output_of(command + " --trace-detail microbatch");
  CHECK(by_category() == std::map<std::string, std::size_t>{{"pass", kernels.at("pass")}});
  check_refused(command + " --trace-detail bit",
                "lockstep: error: --trace-detail: expected microbatch, layer or kernel, got "
                "\"bit\"");
}

TEST_CASE("a trace that ends in .gz is the same text, compressed") {
  const NewFile plain;
  const NewFile packed;
  (void)output_of(run("mlp-two-gpus", "--trace " + plain.path()));
  (void)output_of(run("mlp-two-gpus", "--trace " + packed.path() + ".json.gz"));
  const CommandResult text = run_command("gzip -dc " + packed.path() + ".json.gz");
  std::filesystem::remove(packed.path() + ".json.gz");
  CHECK(text.out == text_of(plain.path()));
}

TEST_CASE("a collective is traced message by message") {
  const NewFile file;
  const std::string command =
      "lockstep collective all_reduce --cluster star --ranks 4 --sizes 1M "
      "--algorithm ring --trace " +
      file.path();
  const std::string table = output_of(command);
  std::map<std::string, std::size_t> events;
  double end = 0;
  const Json trace = Json::parse(text_of(file.path()));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++events[event["cat"].get<std::string>()];
    end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
  }
  // Each of 4 ranks sends 2 (4 - 1) blocks.
  CHECK(events == std::map<std::string, std::size_t>{{"send", 24}, {"receive", 24}});
  const double time = rows_of(command)[0]["time_s"].get<double>();
  CHECK(end == doctest::Approx(time * 1e6).epsilon(1e-3));
  check_refused(
      "lockstep collective all_reduce --cluster star --ranks 4 --sizes 1M,2M --algorithm "
      "ring --trace " +
          file.path(),
      "lockstep: error: --trace: one algorithm at one size is traced, got 1 algorithm "
      "and 2 sizes");
}

}  // namespace lockstep
