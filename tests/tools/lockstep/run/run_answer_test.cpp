#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// What `lockstep run` answers first, and what-ifs.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

Json run(const std::string& arguments) {
  return json_of("lockstep run " + arguments);
}

double step_of(const Json& result) {
  return result["step_time_s"].get<double>();
}

}  // namespace

TEST_CASE("a step's text begins with model, step, memory, limit and basis") {
  const auto lines = lines_of(output_of("lockstep run llama7b-256 --suggest 0"));
  std::vector<std::string> names;
  for (const std::string& line : lines) {
    if (line == "#") break;
    if (line.rfind("  ", 0) == 0 && line[2] != ' ') names.push_back(line.substr(2, 6));
  }
  CHECK(names == std::vector<std::string>{"model ", "step  ", "memory", "limit ", "basis "});
  const std::string text = output_of("lockstep run llama7b-256 --suggest 0");
  // 6,738,415,616 parameters: Touvron et al. 2023, table 2, 6.7B.
  CHECK(contains(text, "6.738 B parameters, 2048 tokens per sequence, bf16"));
  CHECK(contains(text, "32 nodes of 8 GPUs (dgx-a100), 8 NICs of 200 Gb/s per node"));
  CHECK(contains(text, "1 T tokens:"));
  CHECK(contains(text, "GPU-hours"));
}

TEST_CASE("a scenario's summary is not printed over changed values") {
  const std::string summary =
      Json::parse(text_of(LOCKSTEP_SOURCE_DIR "/configs/scenarios/mlp-two-gpus.json"))["summary"];
  CHECK(contains(output_of("lockstep run mlp-two-gpus"), summary));
  CHECK_FALSE(
      contains(output_of("lockstep run mlp-two-gpus --set parallel.micro_batch=1024"), summary));
  CHECK_FALSE(contains(output_of("lockstep run mlp-two-gpus --gpu-speed all=0.9"), summary));
  // The resolved scenario runs again: what it says of itself is true of it.
  CHECK(run("mlp-two-gpus")["config"]["summary"] == summary);
  CHECK_FALSE(run("mlp-two-gpus --set parallel.micro_batch=1024")["config"].contains("summary"));
}

TEST_CASE("a layout that does not fit is printed in every format for programs") {
  const std::string command =
      "lockstep run zero-7b5-0 --set ignore_memory=false --set stack=fused --format ";
  const CommandResult json = run_command(command + "json");
  CHECK(json.status == 1);
  const Json result = Json::parse(json.out);
  CHECK(result["memory"]["fits"] == false);
  CHECK(result["memory"]["verdict"] == "does not fit");
  CHECK(result["step_time_s"].is_null());
  CHECK(result["rows"][0]["fits"] == false);
  CHECK(result["rows"][0]["zero"] == 0);
  CHECK_FALSE(result["fitting_changes"].empty());
  const CommandResult csv = run_command(command + "csv");
  CHECK(csv.status == 1);
  CHECK(lines_of(csv.out).size() == 2);
  const CommandResult md = run_command(command + "md");
  CHECK(md.status == 1);
  CHECK(contains(md.out, "| fits | false |"));
}

// Peaks of validated runs are up to `margin_fraction` higher than simulated ones.
TEST_CASE("memory fits, is tight within the error of validated peaks, or does not fit") {
  for (const std::string of : {"llama7b-256", "zero-7b5-0", "gpt3-a100-memory --ignore-memory",
                               "llama3-70b-dgx-h100 --set parallel.pp=2 --set parallel.dp=4 "
                               "--set parallel.state.gradients=bf16"}) {
    CAPTURE(of);
    const Json memory = run(of)["memory"];
    const double needed = memory["peak_bytes"].get<double>();
    const double capacity = memory["capacity_bytes"].get<double>();
    const double margin = memory["margin_fraction"].get<double>();
    CHECK(margin > 0);
    const std::string expected = needed > capacity                  ? "does not fit"
                                 : needed * (1 + margin) > capacity ? "tight"
                                                                    : "fits";
    CHECK(memory["verdict"] == expected);
  }
}

TEST_CASE(
    "an interval holds the simulated time, outside the validated domain with no known "
    "probability") {
  const Json inside = run("llama7b-256");
  CHECK(inside["prediction"]["extrapolated"] == false);
  CHECK(inside["prediction"]["step_time_low_s"].get<double>() <= step_of(inside));
  CHECK(inside["prediction"]["step_time_high_s"].get<double>() >= step_of(inside));
  const Json outside = run("parameter-server");  // no transformer was validated so
  CHECK(outside["prediction"]["extrapolated"] == true);
  CHECK(inside["prediction"]["probability_fraction"] == 0.8);
  CHECK(outside["prediction"]["probability_fraction"].is_null());
  CHECK(outside["prediction"]["step_time_low_s"].get<double>() <= step_of(outside));
  const auto width = [](const Json& of) {
    return of["prediction"]["step_time_high_s"].get<double>() /
           of["prediction"]["step_time_low_s"].get<double>();
  };
  CHECK(width(outside) > width(inside));
  CHECK(contains(output_of("lockstep run parameter-server --suggest 0"),
                 "extrapolated: precision fp32 (validated: "));
  CHECK(run("gpt3-v100")["prediction"].is_null());  // the user fixed its rate
}

// Validated runs are those of hardware as it was built (configs/validation).
TEST_CASE("a run on changed hardware is outside the validated domain") {
  const auto extrapolated = [](const std::string& options) {
    std::vector<std::string> out;
    const Json result = run("llama7b-256" + options);
    for (const Json& each : result["prediction"]["new"])
      out.push_back(each["property"].get<std::string>() + " " + each["value"].get<std::string>());
    return out;
  };
  using Found = std::vector<std::string>;
  CHECK(extrapolated("").empty());
  CHECK(extrapolated(" --gpu-speed all=1").empty());
  CHECK(extrapolated(" --gpu-speed 3=0.5") == Found{"hardware with GPUs at changed speeds"});
  CHECK(extrapolated(" --fail node0/nic0") == Found{"hardware with failed links"});
}

// Kernels take their time over the speed: computation at half the speed takes twice as long.
TEST_CASE("all GPUs may be uniformly slower") {
  const Json plain = run("mlp-two-gpus");
  const Json slow = run("mlp-two-gpus --gpu-speed all=0.5");
  const auto computation = [](const Json& of) {
    return of["rows"][0]["computation_s"].get<double>();
  };
  CHECK(computation(slow) == doctest::Approx(2 * computation(plain)).epsilon(1e-6));
  CHECK(slow["baseline_step_time_s"] == plain["step_time_s"]);
  CHECK(plain["baseline_step_time_s"].is_null());
  CHECK(run("mlp-two-gpus --gpu-speed 0..1=0.5")["step_time_s"] == slow["step_time_s"]);
  const CommandResult refused = run_command("lockstep run mlp-two-gpus --gpu-speed 0..2=0.5");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "the scenario has ranks 0 to 1"));
  CHECK(run_command("lockstep run mlp-two-gpus --gpu-speed half").status == 2);
}

TEST_CASE("a straggler is compared at its own fidelity") {
  const Json slow = run("llama3-70b-dgx-h100 --set-rank 17 compute=0.9");
  const std::string fidelity = slow["fidelity"];
  const Json plain = run("llama3-70b-dgx-h100 --fidelity " + fidelity);
  CHECK(slow["baseline_step_time_s"] == plain["step_time_s"]);
}

// The step is simulated again both ways; the numbers are those of runs that ask for either.
TEST_CASE("representatives that nobody asked for come with their error") {
  const std::string straggler = "llama3-70b-dgx-h100 --set-rank 17 compute=0.9";
  const Json same = run(straggler)["fidelity_check"];
  CHECK(same["ranks"] == 64);
  CHECK(same["all_step_time_s"] == run("llama3-70b-dgx-h100 --fidelity all")["step_time_s"]);
  CHECK(same["representatives_step_time_s"] ==
        run("llama3-70b-dgx-h100 --fidelity representatives")["step_time_s"]);
  const double error =
      same["representatives_step_time_s"].get<double>() / same["all_step_time_s"].get<double>() - 1;
  CHECK(contains(
      output_of("lockstep run --suggest 0 " + straggler),
      fmt::format("error of representatives: {:+.2f} % on the unchanged 64 ranks (", 100 * error)));
  CHECK(run(straggler + " --fidelity representatives")["fidelity_check"].is_null());
  CHECK(run("llama3-70b-dgx-h100")["fidelity_check"].is_null());
  const auto sized = [](int nodes) {
    return fmt::format(
        "llama3-70b-dgx-h100 --set cluster.nodes={} --set parallel.dp={} --set "
        "parallel.global_batch={}",
        nodes, nodes / 4, 8 * nodes);
  };
  // 2,048 GPUs: a quarter of the replicas, with 32 microbatches each as before.
  const Json fewer = run(sized(256))["fidelity_check"];
  CHECK(fewer["ranks"] == 512);
  CHECK(fewer["all_step_time_s"] == run(sized(64) + " --fidelity all")["step_time_s"]);
}

TEST_CASE("a trace leaves the result as it is") {
  const NewFile file;
  for (const std::string scenario : {"pipeline-1f1b", "zero-7b5-0"}) {
    const Json plain = run(scenario);
    const CommandResult result = run_command(
        "lockstep run " + scenario +
        " --trace-detail microbatch --trace-ranks 0 --format json --trace " + file.path());
    REQUIRE(result.status == 0);
    const Json traced = Json::parse(result.out);
    CHECK(traced["step_time_s"] == plain["step_time_s"]);
    CHECK(traced["fidelity"] == plain["fidelity"]);
    CHECK(traced["fingerprint"] == plain["fingerprint"]);
  }
}

TEST_CASE("counters of a trace are thinned with its detail, and keep their peaks") {
  struct Counter {
    std::size_t points = 0;
    std::int64_t peak = 0;  // of the sum of categories
  };
  const NewFile file;
  const auto counters = [&file](const std::string& detail) {
    const std::string command = "lockstep run llama3-70b --suggest 0 --trace-ranks 0 --trace ";
    REQUIRE(run_command(command + file.path() + " --trace-detail " + detail).status == 0);
    std::map<std::string, Counter> out;
    const Json trace = Json::parse(text_of(file.path()));
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "C") continue;
      Counter& counter = out[event["name"]];
      ++counter.points;
      std::int64_t sum = 0;
      for (const auto& [category, bytes] : event["args"].items()) sum += bytes.get<std::int64_t>();
      counter.peak = std::max(counter.peak, sum);
    }
    return out;
  };
  const std::string name = "device memory, bytes";
  const std::int64_t peak = counters("kernel").at(name).peak;
  for (const auto& [detail, most] :
       {std::pair{"kernel", 4096U}, {"layer", 1024U}, {"microbatch", 256U}}) {
    CAPTURE(detail);
    const Counter counter = counters(detail).at(name);
    CHECK(counter.points <= most);
    CHECK(counter.points > most / 4);  // the memory changes more often than that
    CHECK(counter.peak == peak);
  }
}

TEST_CASE("links, NICs and keys of a named cluster can be changed") {
  const Json plain = run("llama7b-256");
  const Json nic = run("llama7b-256 --nic 100G");
  const Json set = run("llama7b-256 --set cluster.fabric.link.bandwidth='\"100 Gb/s\"'");
  CHECK(nic["fingerprint"] == set["fingerprint"]);
  CHECK(step_of(nic) > step_of(plain));
  const TemporaryFile again(set["config"].dump());
  CHECK(run(again.path())["fingerprint"] == set["fingerprint"]);
  const Json failed = run("llama7b-256 --fail rail0/leaf0");
  CHECK_FALSE(failed["link_changes"].empty());
  const Json same = run("llama7b-256 --fidelity " + failed["fidelity"].get<std::string>());
  CHECK(failed["baseline_step_time_s"] == same["step_time_s"]);
  const Json slow = run("llama7b-256 --set-link 'node0/gpu0 -> node0/nvswitch0' bandwidth=10%");
  CHECK(step_of(slow) > step_of(plain));
  const CommandResult refused =
      run_command("lockstep run llama7b-256 --set cluster.fabric.link.bandwidth=fast");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--set cluster.fabric.link.bandwidth=fast"));
  CHECK(run_command("lockstep run llama7b-256 --nic fast").status == 2);
}

// ConnectX-8 has PCIe 6, 16 lanes of it 128 GB/s; a B200 has PCIe 5, of which 48 GB/s are usable.
TEST_CASE("NICs that PCIe holds back are reported, and PCIe can be set") {
  const std::string cluster =
      "llama7b-256 --suggest 0 --set "
      "'cluster={\"gpu\": \"b200-sxm-180gb\", \"gpus\": 256, \"nic_gbps\": NIC}'";
  const std::string fast = replaced(cluster, "NIC", "800");
  CHECK(
      contains(output_of("lockstep run " + fast),
               "warning: 800 Gb/s NICs (100 GB/s) behind PCIe (48 GB/s): no faster than 384 Gb/s"));
  CHECK_FALSE(contains(output_of("lockstep run " + fast + " --set cluster.pcie=6"), "warning"));
  CHECK_FALSE(contains(output_of("lockstep run " + replaced(cluster, "NIC", "400")), "warning"));
}

TEST_CASE("a GPU of a rack implies the rack") {
  const Json result =
      run("llama7b-256 --set 'cluster={\"gpu\": \"gb200-nvl72\", \"gpus\": 72}' "
          "--set parallel.dp=9 --set parallel.global_batch=288 --set parallel.pp=1 "
          "--set parallel.schedule=none");
  CHECK(result["config"]["cluster"]["intra"] == "nvl72");
  CHECK(result["config"]["cluster"]["gpus_per_node"] == 72);
}

TEST_CASE("a scenario's variants run along") {
  const Json result = run("data-parallel-from-scratch");
  CHECK(result["rows"].size() == 5);
  CHECK(result["rows"][1]["variant"] == "averaged through the host");
  const Json one =
      run("data-parallel-from-scratch --set parallel.exchange=host_average --no-variants");
  CHECK(one["rows"].size() == 1);
  CHECK(result["rows"][1]["step_time_s"] == one["step_time_s"]);
  CHECK(contains(output_of("lockstep run data-parallel-from-scratch --suggest 0"),
                 "averaged through the host"));
}

TEST_CASE("rows are appended to a file under one heading") {
  const NewFile file;
  const std::string command = "lockstep run mlp-two-gpus --suggest 0 --append " + file.path();
  (void)output_of(command);
  (void)output_of(command + " --set parallel.micro_batch=1024");
  const auto lines = lines_of(text_of(file.path()));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].rfind("scenario,variant,model,", 0) == 0);
  for (const char* column :
       {"vpp", "schedule", "recompute", "overlap", "stack", "fidelity", "gpu_hours"})
    CHECK(contains(lines[0], column));
  CHECK(lines[1] != lines[2]);
  const TemporaryFile other("a,b\n1,2\n");
  CHECK(run_command("lockstep run mlp-two-gpus --append " + other.path()).status == 2);
}

// With everything in the open, overlapping gradients hides part of their all-reduce.
TEST_CASE("suggested changes were simulated, fit, and give the step that is printed") {
  const Json result = run("data-parallel-from-scratch --no-variants --suggest 4");
  const Json& best = result["suggestions"]["best"];
  REQUIRE_FALSE(best.empty());
  CHECK(best.size() <= 3);
  CHECK(result["suggestions"]["simulated"].get<int>() <= 4);
  std::string set;
  for (const Json& each : best[0]["set"]) set += " --set '" + each.get<std::string>() + "'";
  const Json changed = run("data-parallel-from-scratch --no-variants" + set);
  CHECK(changed["step_time_s"] == best[0]["step_time_s"]);
  CHECK(step_of(changed) < step_of(result));
  CHECK(run("data-parallel-from-scratch --no-variants")["suggestions"]["simulated"] == 0);
}

// p = 4, m = 16; equal stages but for the last, which has the loss and is busy longest.
TEST_CASE("fill and drain stand apart from waiting for slower stages") {
  const Json breakdown = run("pipeline-1f1b")["breakdown"];
  CHECK(breakdown["bubble_formula"]["fraction_of_ideal"].get<double>() ==
        doctest::Approx(3.0 / 16));
  CHECK(breakdown["fill_drain_s"].get<double>() + breakdown["slower_stages_s"].get<double>() ==
        doctest::Approx(breakdown["bubble_s"].get<double>()));
  double longest = 0;
  for (const Json& stage : breakdown["stages"])
    longest = std::max(longest, stage["computation_s"].get<double>() +
                                    stage["exposed_communication_s"].get<double>() +
                                    stage["launch_overhead_s"].get<double>());
  double shown = breakdown["launch_overhead_s"].get<double>();
  for (const auto& [name, time] : breakdown["computation_s"].items()) shown += time.get<double>();
  for (const auto& [name, time] : breakdown["exposed_communication_s"].items())
    shown += time.get<double>();
  CHECK(shown == doctest::Approx(longest).epsilon(1e-9));
}

// Qi et al. 2024, section 4: norms are validated after the update. Stages of 1F1B wait for each
// other before it.
TEST_CASE("zero-bubble schedules say how long one of many steps takes") {
  const std::string words = "; steps in a row, validated after their updates: ";
  CHECK(contains(output_of("lockstep run pipeline-zb --set parallel.schedule=zb-h2"), words));
  CHECK_FALSE(contains(output_of("lockstep run pipeline-1f1b"), words));
  const Json step = json_of("lockstep run pipeline-zb --set parallel.schedule=zb-h2");
  CHECK(step["step_in_a_row_s"].get<double>() < step["step_time_s"].get<double>());
  CHECK(json_of("lockstep run pipeline-1f1b")["step_in_a_row_s"].is_null());
}

}  // namespace lockstep
