#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// Slow ranks and changed links in commands that simulate several steps. The oracle is `run` with
/// the same options.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kDraws = " --set-rank random:50%=0.7..0.9 --seed 3";
const std::string kPlan =
    "lockstep plan pipeline-1f1b --fix overlap=none --fix zero=0 --fix micro_batch=1";

const std::string kOneFigure = " --elasticities --no-layout --no-spreads --figure 'matmul rate'";

Json run_of(const std::string& scenario) {
  return json_of("lockstep run " + scenario + " --suggest 0 --no-variants");
}

const Json& step_row(const Json& compared) {
  for (const Json& row : compared.at("rows"))
    if (row.at("part") == "step") return row;
  FAIL("no row of the step");
  return compared;
}

}  // namespace

TEST_CASE("compare changes parts of both steps as run does, with what they cost each") {
  const Json compared = json_of("lockstep compare pipeline-gpipe pipeline-1f1b" + kDraws);
  for (const std::string side : {"a", "b"}) {
    CAPTURE(side);
    const Json run = run_of((side == "a" ? "pipeline-gpipe" : "pipeline-1f1b") + kDraws);
    REQUIRE(run.at("drawn_speeds").size() == 2);  // half of 4
    CHECK(step_row(compared).at(side + "_s") == run.at("step_time_s"));
    CHECK(compared.at("drawn_speeds_" + side) == run.at("drawn_speeds"));
    CHECK(compared.at("baseline_step_time_" + side + "_s") == run.at("baseline_step_time_s"));
    CHECK(compared.at("changes_" + side) == "--set-rank random:50% compute=0.7..0.9");
  }
  CHECK(compared.at("seed") == 3);
  const std::string table = output_of("lockstep compare pipeline-gpipe pipeline-1f1b" + kDraws);
  CHECK(contains(table, "\n# both: with --set-rank random:50% compute=0.7..0.9\n"));
  CHECK(contains(table, "\n# both: 2 of 4 GPUs drawn with seed 3: rank "));
  CHECK(contains(table, "\n# B: +"));
  CHECK(contains(table, " without the changes of GPU speeds, links and NICs"));
}

TEST_CASE("compare of one scenario is with the same one with changed parts") {
  const Json compared = json_of("lockstep compare zero-7b5-3 --set-rank 17=0.8 --fail rail3");
  CHECK(step_row(compared).at("a_s") == run_of("zero-7b5-3").at("step_time_s"));
  CHECK(step_row(compared).at("b_s") ==
        run_of("zero-7b5-3 --set-rank 17=0.8 --fail rail3").at("step_time_s"));
  CHECK(compared.at("changes_a") == "");
  CHECK(compared.at("changes_b") == "--set-rank 17 compute=0.8 --fail rail3");
  CHECK(compared.dump().find("\"name\":\"--set-rank 17 compute=0.8 --fail rail3\"") !=
        std::string::npos);
}

/// All ranks are quick without a slow one, representatives with it.
TEST_CASE("compare simulates both steps with one fidelity") {
  const Json chosen = json_of("lockstep compare llama7b-256 --set-rank 17=0.8 --shapley 0");
  CHECK(chosen.at("fidelity_a") == chosen.at("fidelity_b"));
  const Json run = run_of("llama7b-256 --set-rank 17=0.8");
  CHECK(step_row(chosen).at("a_s") == run.at("baseline_step_time_s"));
  CHECK(step_row(chosen).at("b_s") == run.at("step_time_s"));
}

TEST_CASE("sensitivity is that of the step with changed parts") {
  const std::string options = " --elasticities --no-layout --no-spreads" + kDraws;
  const Json result = json_of("lockstep sensitivity pipeline-1f1b" + options);
  const Json run = run_of("pipeline-1f1b" + kDraws);
  CHECK(result.at("step_time_s") == run.at("step_time_s"));
  CHECK(result.at("baseline_step_time_s") == run.at("baseline_step_time_s"));
  CHECK(result.at("drawn_speeds") == run.at("drawn_speeds"));
  CHECK(result.at("seed") == 3);
  CHECK(contains(output_of("lockstep sensitivity pipeline-1f1b" + options),
                 "\n# with --set-rank random:50% compute=0.7..0.9\n"));
  const Json found = json_of(
      "lockstep sensitivity pipeline-1f1b --set-rank 1=0.8 --find \"matmul rate\" --for "
      "'step_time <= 2 s'");
  CHECK(found.at("rows").at(0).at("step_time_s") ==
        run_of("pipeline-1f1b --set-rank 1=0.8").at("step_time_s"));
}

TEST_CASE("plan ranks layouts with changed parts, each next to its unchanged step") {
  const Json result = json_of(kPlan + kDraws);
  CHECK(result.at("config").at("run").at("set_rank").at(0).at(0) == "random:50%");
  for (std::size_t i = 0; i < 2; ++i) {
    std::string layout = "pipeline-1f1b";
    for (const Json& each : result.at("overrides").at(i).at(0))
      layout += " --set '" + each.get<std::string>() + "'";
    const Json run = run_of(layout + kDraws);
    const Json& row = result.at("rows").at(i);
    CHECK(row.at("step_time_s") == run.at("step_time_s"));
    CHECK(row.at("unchanged_step_time_s") == run.at("baseline_step_time_s"));
    CHECK(result.at("drawn_speeds") == run.at("drawn_speeds"));
  }
  const std::string table = output_of(kPlan + " --set-rank 1=0.8 --fail node0/gpu7");
  CHECK(contains(table, "\n# with --set-rank 1 compute=0.8 --fail node0/gpu7\n"));
  CHECK(contains(table, "bounds count no communication"));
  CHECK(contains(output_of(kPlan + " --set-rank 1=0.8"), "slower ones only take longer"));
  CHECK(contains(output_of(kPlan + " --set-rank 1=1.25"), "bounds are divided by 1.25"));
}

TEST_CASE("a store of a plan has the changes of parts") {
  const NewFile store;
  const std::string changed = kPlan + " --set-rank 1=0.8 --store " + store.path();
  const Json result = json_of(changed);
  CHECK(json_of("lockstep merge " + store.path()).at("rows") == result.at("rows"));
  const Json run = run_of(store.path() + ":rank1");
  CHECK(run.at("step_time_s") == result.at("rows").at(0).at("step_time_s"));
  CHECK(run.at("config").at("run").at("set_rank").at(0).at(1) == "compute=0.8");
  CHECK(json_of(changed + " --resume").at("rows") == result.at("rows"));
  for (const std::string other : {"", " --set-rank 1=0.9"}) {
    const CommandResult refused = run_command(kPlan + other + " --resume --store " + store.path());
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "is a store of another search: its changes is"));
  }
}

/// All 256 ranks are quick where equivalent ones are simulated once: auto is all.
TEST_CASE("plan simulates layouts at the fidelity asked for, and its store has that") {
  const std::string plan =
      "lockstep plan llama7b-256 --fix overlap=none --fix zero=0 --fix tp=8 --fix pp=4 --fix "
      "recompute=none --fix micro_batch=1 --top 1";
  const Json chosen = json_of(plan);
  CHECK_FALSE(chosen.at("config").contains("run"));
  CHECK(json_of(plan + " --fidelity auto").at("rows") == chosen.at("rows"));
  const NewFile store;
  const std::string asked = plan + " --fidelity representatives --store " + store.path();
  const Json result = json_of(asked);
  CHECK(result.at("config").at("run").at("fidelity") == "representatives");
  std::string layout = "llama7b-256";
  for (const Json& each : result.at("overrides").at(0).at(0))
    layout += " --set '" + each.get<std::string>() + "'";
  const Json& row = result.at("rows").at(0);
  CHECK(row.at("step_time_s") == run_of(layout + " --fidelity representatives").at("step_time_s"));
  CHECK(row.at("step_time_s") != chosen.at("rows").at(0).at("step_time_s"));
  CHECK_FALSE(row.contains("unchanged_step_time_s"));
  CHECK(json_of("lockstep merge " + store.path()).at("rows") == result.at("rows"));
  CHECK(run_of(store.path() + ":rank1").at("step_time_s") == row.at("step_time_s"));
  CHECK(contains(run_command(plan + " --resume --store " + store.path()).err,
                 "is a store of another search: its changes is"));
  const std::string table = output_of(kPlan + " --set-rank 1=0.8 --fidelity all");
  CHECK(contains(table, "\n# with --set-rank 1 compute=0.8 --fidelity all\n"));
  CHECK(contains(run_command(plan + " --fidelity some").err,
                 "--fidelity: expected auto, all or representatives, got \"some\""));
  CHECK(contains(output_of(plan + " --fidelity all --emit slurm"), "--fidelity all"));
}

/// zero-7b5-3 gathers its weights over the network: NICs of half the speed take longer.
TEST_CASE("compare and sensitivity take the NIC speed that run has") {
  const std::string slow = "zero-7b5-3 --nic 50G";
  const Json run = run_of(slow);
  const Json plain = run_of("zero-7b5-3");
  REQUIRE(run.at("step_time_s") > plain.at("step_time_s"));
  const Json compared = json_of("lockstep compare " + slow);  // the second step alone has it
  CHECK(step_row(compared).at("a_s") == plain.at("step_time_s"));
  CHECK(step_row(compared).at("b_s") == run.at("step_time_s"));
  CHECK(compared.at("changes_b") == "--nic 50G");
  // One change, of the fabric, which makes all of the difference.
  CHECK(contains(output_of("lockstep compare " + slow), "cluster.fabric"));
  CHECK_FALSE(contains(output_of("lockstep compare " + slow), "Shapley"));
  const Json sensitive = json_of("lockstep sensitivity " + slow + kOneFigure);
  CHECK(sensitive.at("step_time_s") == run.at("step_time_s"));
}

TEST_CASE("compare and sensitivity take network, calibration and ignored memory, as run does") {
  const TemporaryFile slow(R"({"name": "slow", "summary": "a test",
    "stacks": {"fsdp2": {"host_time": "1 ms", "source": "a test"}}})");
  // Between two sites, replicas share links, which alpha-beta leaves out.
  for (const auto& [scenario, option] :
       {std::pair<std::string, std::string>{"hsdp-two-sites", " --network alpha-beta"},
        {"zero-7b5-3", " --calibration " + slow.path()}}) {
    CAPTURE(option);
    const Json run = run_of(scenario + option);
    REQUIRE(run.at("step_time_s") != run_of(scenario).at("step_time_s"));
    const Json compared =
        json_of("lockstep compare " + scenario + " zero-7b5-2 --shapley 0" + option);
    CHECK(step_row(compared).at("a_s") == run.at("step_time_s"));
    CHECK(step_row(compared).at("b_s") == run_of("zero-7b5-2" + option).at("step_time_s"));
    CHECK(json_of("lockstep sensitivity " + scenario + kOneFigure + option).at("step_time_s") ==
          run.at("step_time_s"));
  }
  const std::string misfit = "gpt3-a100-memory";
  for (const std::string& command :
       {"compare " + misfit + " --change seed=2", "sensitivity " + misfit + kOneFigure}) {
    CAPTURE(command);
    CHECK(run_command("lockstep " + command).status == 1);
    CHECK(run_command("lockstep " + command + " --ignore-memory").status == 0);
    CHECK(contains(run_command("lockstep " + command + " --network tcp").err, "--network: "));
    CHECK(contains(run_command("lockstep " + command + " --nic fast").err, "--nic: expected"));
    CHECK(run_command("lockstep " + command + " --calibration /no.json").status == 2);
  }
}

/// Folded or not, times are the same to the picosecond; the largest steps are possible only folded.
TEST_CASE("campaign takes --fold") {
  const std::string campaign =
      "lockstep campaign pipeline-1f1b typical-failures --replicates 2 --set-campaign steps=1000";
  CHECK(json_of(campaign + " --fold off").at("outcomes") == json_of(campaign).at("outcomes"));
  CHECK(contains(run_command(campaign + " --fold on").err, "--fold: expected auto or off"));
  const std::string large =
      "--set-rank 17=0.8 --fidelity all --fold off "
      "--ignore-memory --set parallel.global_batch=8192";
  const std::string refusal = "16384 ranks are simulated one by one";
  CHECK(
      contains(run_command("lockstep campaign llama3-405b-16k-h100 typical-failures " + large).err,
               refusal));
}

TEST_CASE("a campaign has the changes of parts in every step") {
  const std::string options = " typical-failures --replicates 2 --set-campaign steps=1000";
  const Json result = json_of("lockstep campaign pipeline-1f1b" + options + kDraws);
  const Json run = run_of("pipeline-1f1b" + kDraws);
  CHECK(result.at("outcomes").at(0).at("step_time_s") == run.at("step_time_s"));
  CHECK(result.at("outcomes").at(0).at("drawn_speeds") == run.at("drawn_speeds"));
  CHECK(result.at("changes") == "--set-rank random:50% compute=0.7..0.9");
  CHECK(contains(output_of("lockstep campaign pipeline-1f1b" + options + kDraws),
                 "\n# 2 of 4 GPUs drawn with seed 3: rank "));
}

TEST_CASE("a seed without draws is noted") {
  for (const std::string command : {"compare pipeline-gpipe pipeline-1f1b --shapley 0",
                                    "sensitivity pipeline-1f1b --figure "
                                    "\"matmul rate\" --elasticities --no-layout --no-spreads"}) {
    CAPTURE(command);
    CHECK(contains(run_command("lockstep " + command + " --seed 7").err,
                   "note: --seed: nothing is drawn"));
    CHECK(run_command("lockstep " + command + kDraws).err.empty());
  }
}

}  // namespace lockstep
