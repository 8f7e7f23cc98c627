#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>

#include "tests/tools/run_command.hpp"

/// `lockstep run` with ranks folded into classes.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

std::string run(const std::string& scenario, const std::string& options = "") {
  return "lockstep run configs/scenarios/" + scenario + ".json --ignore-memory --fidelity all " +
         options;
}

/// Exit code 2, nothing on stdout, this on stderr.
void check_refused(const std::string& command, const std::string& said) {
  CAPTURE(command);
  const CommandResult result = run_command(command);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err == "lockstep: error: " + said + "\n");
}

/// Every time, byte and number of both: the fingerprint is of every operation of every rank, of the
/// bytes on every link, of memory.
void check_folds_alike(const std::string& scenario, const std::string& options = "") {
  const Json folded = json_of(run(scenario, options + "--classes"));
  const Json unfolded = json_of(run(scenario, options + "--fold off"));
  CHECK(folded["fold"]["folded"] == true);
  CHECK(unfolded["fold"]["folded"] == false);
  CHECK(folded["fingerprint"] == unfolded["fingerprint"]);
  CHECK(folded["step_time_s"] == unfolded["step_time_s"]);
  CHECK(folded.value("averaging", Json{}) == unfolded.value("averaging", Json{}));
  CHECK(folded["memory"] == unfolded["memory"]);
  CHECK(folded["links"] == unfolded["links"]);
  CHECK(folded["breakdown"]["computation_s"] == unfolded["breakdown"]["computation_s"]);
}

}  // namespace

TEST_CASE("shipped scenarios, folded or not: the same times of all ranks, links and memory") {
  for (const std::string scenario :
       {"mlp-two-gpus", "attention-two-gpus", "data-parallel-from-scratch", "parameter-server",
        "host-average", "gpt3-v100", "pipeline-naive", "pipeline-gpipe", "pipeline-1f1b",
        "pipeline-interleaved", "pipeline-zb", "sequence-ring"}) {
    CAPTURE(scenario);
    check_folds_alike(scenario);
  }
}

TEST_CASE("racks of unequal numbers of trays, folded or not: the same times, links and memory") {
  // 76 GPUs are 40 and 36, 148 are 52, 48 and 48.
  const std::string racks =
      "--no-variants --set 'cluster={\"gpu\":\"gb200-nvl72\",\"gpus\":76}' --set parallel.";
  const std::string three =
      "--no-variants --set 'cluster={\"gpu\":\"gb200-nvl72\",\"gpus\":148}' --set parallel.";
  check_folds_alike("llama7b-256",
                    racks + "tp=4 --set parallel.pp=1 --set parallel.global_batch=76 ");
  check_folds_alike("llama7b-256",
                    racks + "tp=2 --set parallel.pp=2 --set parallel.global_batch=76 ");
  check_folds_alike("llama7b-256",
                    three + "tp=4 --set parallel.pp=1 --set parallel.global_batch=148 ");
}

TEST_CASE("two sites, folded or not: the same times of all ranks, links and memory") {
  const std::string small = "--no-variants --set cluster.nodes=2 --set parallel.global_batch=32 ";
  const std::string fourth = small + "--set parallel.average_every=4 ";
  const std::string fragments = fourth + "--set parallel.fragments=3 ";
  const std::string hidden = "--set parallel.overlap=dp_gradients,dp_parameters,outer ";
  for (const auto& [scenario, options] :
       {std::pair{"hsdp-two-sites", small + "--set parallel.shard_ranks=8 "},
        std::pair{"diloco-two-sites", fourth}, std::pair{"diloco-two-sites", fragments + hidden}}) {
    CAPTURE(options);
    check_folds_alike(scenario, options);
  }
}

TEST_CASE("Muon, folded or not: the same times of all ranks, links and memory") {
  const std::string small =
      "--no-variants --set cluster.nodes=2 --set parallel.global_batch=32 --set model.layers=3 ";
  for (const std::string more :
       {"", "--set parallel.zero=0 --set parallel.overlap=dp_gradients ",
        "--set parallel.tp=4 --set parallel.sequence_parallel=true ",
        "--set parallel.pp=2 --set parallel.zero=3 --set model.layers=4 "}) {
    CAPTURE(more);
    check_folds_alike("muon", small + more);
  }
}

TEST_CASE(
    "classes: eight GPUs in halves that are alike, in a ring that crosses from one to the "
    "other") {
  // DGX-1's CPUs stand between GPUs 3 and 4 and, round the end, between 7 and 0: rank r sits like
  // rank r + 4, and the four within a half are at different distances from the crossing.
  const Json fold = json_of(run("data-parallel-from-scratch", "--classes"))["fold"];
  CHECK(fold["classes"] == 4);
  REQUIRE(fold["members"].size() == 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(fold["members"][static_cast<std::size_t>(i)]["representative"] == i);
    CHECK(fold["members"][static_cast<std::size_t>(i)]["members"] ==
          Json::parse("[[" + std::to_string(i) + "," + std::to_string(i) + "],[" +
                      std::to_string(i + 4) + "," + std::to_string(i + 4) + "]]"));
  }
  CHECK(fold["members"][0]["difference"] == "");
  CHECK(fold["members"][1]["difference"] != "");
}

TEST_CASE("a straggler is named, and slows the step down") {
  const Json usual = json_of(run("mlp-two-gpus"));
  const Json slow = json_of(run("mlp-two-gpus", "--set-rank 1 compute=0.5 --classes"));
  CHECK(slow["fold"]["members"][1]["difference"] == "computes at 0.5 of the speed");
  CHECK(slow["step_time_s"].get<double>() > 1.2 * usual["step_time_s"].get<double>());
  const Json brief = json_of(run("mlp-two-gpus", "--set-rank 1=0.5 --classes"));
  CHECK(brief["step_time_s"] == slow["step_time_s"]);
  CHECK(brief["fold"] == slow["fold"]);
  CHECK(contains(run_command(run("mlp-two-gpus", "--set-rank 1=2x")).err, "\"compute=2x\""));
  // The others in the largest class of their role.
  const std::string text =
      output_of(run("data-parallel-from-scratch", "--set-rank 5 compute=0.8 --classes"));
  CHECK(contains(text, "all 8 ranks, no two of them equivalent"));
  CHECK(contains(text, "computes at 0.8 of the speed"));
}

TEST_CASE("classes are shown with the time at which theirs part and meet again") {
  // Both compute the same until 100 us; then rank 1 is behind at every end until they exchange.
  const Json usual = json_of(run("mlp-two-gpus", "--classes"))["fold"];
  CHECK(usual["distinct_times"] == 1);
  const std::string slow = "--set-rank 1 compute=0.5,from=100us,until=300us --classes";
  const Json fold = json_of(run("mlp-two-gpus", slow))["fold"];
  CHECK(fold["distinct_times"] == 2);
  CHECK(fold["members"][0]["parts"] == nullptr);
  const Json parts = fold["members"][1]["parts"];
  CHECK(parts["at_s"].get<double>() >= 100e-6);
  CHECK(parts["same_from_s"].get<double>() > parts["at_s"].get<double>());
  CHECK(parts["later_s"] == 0);
  CHECK(
      contains(output_of(run("mlp-two-gpus", slow)), "2 classes, 2 of them with different times"));
}

TEST_CASE("16,384 ranks of 16 stages are simulated, of a straggler's step one of each kind") {
  // Positions in a leaf of 32 nodes differ in how their gradients travel: 16 * 32 classes.
  const std::string large = "lockstep run configs/scenarios/llama3-405b-16k-h100.json";
  const std::string even = output_of(large);
  CHECK(contains(even, "all 16384 ranks, folded into 512 classes"));
  // 512 classes of some 6,200 operations each: 3 million.
  CHECK(contains(even,
                 "no changes of the layout are simulated for a step this large: --suggest 6 does"));
  // A straggler's replica is late for every ring of gradients, so all ranks differ; where only ends
  // of collectives count, each stage has the slow one (or whom it sends to), the seven beside it,
  // and those that add up gradients with the one and with the others.
  const std::string slow = large + " --set-rank 17 compute=0.8";
  const std::string text = output_of(slow);
  CHECK(contains(text, "64 of 16384 ranks, one of each kind"));
  CHECK(contains(text, "time breakdown of rank 17 (stage 0)"));
  // Four times as many microbatches as in the shipped step: 16,384 ranks of some 24,300 operations,
  // none of which follows another.
  const CommandResult refused = run_command(
      slow + " --fidelity all --fold off --ignore-memory --set parallel.global_batch=8192");
  CHECK(refused.status == 2);
  CHECK(refused.err ==
        "lockstep: error: 16384 ranks are simulated one by one, 398 million operations in all; at "
        "the most 250 million can be simulated; --fidelity auto simulates one rank of each kind\n");
}

TEST_CASE("a straggler and a slow NIC among 512 GPUs: nodes that follow each other end as alone") {
  // 4 replicas of 16 stages of a node each. The oracle replays every operation of every rank.
  const std::string step = "--set cluster.nodes=64 --set parallel.global_batch=64 ";
  for (const std::string unequal :
       {"--set-rank 17 compute=0.8 ", "--set-link node2/nic1 bandwidth=50% "}) {
    CAPTURE(unequal);
    const Json once = json_of(run("llama3-405b-16k-h100", step + unequal));
    const Json each = json_of(run("llama3-405b-16k-h100", step + unequal + "--fold off"));
    CHECK(once["fold"]["folded"] == false);
    CHECK(once["fingerprint"] == each["fingerprint"]);
    CHECK(once["step_time_s"] == each["step_time_s"]);
    CHECK(once["links"] == each["links"]);
  }
}

/// All 256 ranks of its rings differ, and a step of more than 6 million messages: all of them are
/// simulated, of which the classes are reported.
TEST_CASE("classes of a large step in which all ranks differ are those of an unfolded one") {
  check_folds_alike("llama7b-256", "--set-rank 17=0.8 --suggest 0 ");
  const Json fold = json_of(run("llama7b-256", "--set-rank 17=0.8 --suggest 0 --classes"))["fold"];
  CHECK(fold["classes"] == 256);
  bool named = false;
  for (const Json& each : fold["members"]) {
    if (each["representative"] != 17) continue;
    named = true;
    CHECK(each["difference"] == "computes at 0.8 of the speed");
    CHECK(each["parts"]["at_s"].get<double>() > 0);
  }
  CHECK(named);
}

TEST_CASE("a share of the ranks is slowed at random, as drawn with the scenario's seed") {
  const auto of = [](const std::string& options) {
    return run("data-parallel-from-scratch", options);
  };
  const Json drawn = json_of(of("--gpu-speed random:25%=0.5"));
  CHECK(drawn["fingerprint"] == json_of(of("--set-rank random:25% compute=0.5"))["fingerprint"]);
  CHECK(drawn["fingerprint"] != json_of(of(""))["fingerprint"]);
  // Two of eight ranks at half their speed, one of the 28 pairs.
  bool found = false;
  for (int a = 0; a < 8 && !found; ++a)
    for (int b = a + 1; b < 8 && !found; ++b)
      found = drawn["fingerprint"] ==
              json_of(of(fmt::format("--set-rank {} compute=0.5 --set-rank {} compute=0.5", a,
                                     b)))["fingerprint"];
  CHECK(found);
  CHECK(json_of(of("--gpu-speed random:100%=0.5"))["fingerprint"] ==
        json_of(of("--gpu-speed all=0.5"))["fingerprint"]);
  CHECK(contains(output_of(of("--gpu-speed random:25%=0.5 --set seed=7")),
                 "2 of 8 GPUs drawn with seed 7: rank "));
  CHECK(drawn["drawn_ranks"].size() == 2);
  // Draws are of different ranks: two halves are all.
  CHECK(json_of(of("--gpu-speed random:50%=0.5 --gpu-speed random:50%=0.5"))["fingerprint"] ==
        json_of(of("--gpu-speed all=0.5"))["fingerprint"]);
  check_refused(of("--gpu-speed random:60%=0.5 --gpu-speed random:60%=0.6"),
                "--gpu-speed random:60%: 5 of the 8 ranks are drawn before, which leaves 3");
  check_refused(of("--gpu-speed random:0%=0.5"),
                "--gpu-speed: expected a share of all ranks such as random:1%, above 0 and up to "
                "100 %, got \"random:0%\"");
  check_refused(of("--set-rank random:3 compute=0.5"),
                "--set-rank: expected a share of all ranks such as random:1%, above 0 and up to "
                "100 %, got \"random:3\"");
}

/// The classes that folding finds in advance may have the same times; those of an unfolded step are
/// by their times.
TEST_CASE("classes of an unfolded step are the ranks with the same times") {
  for (const std::string more : {"--set-rank 3=0.5 ", "--set-rank random:25%=0.5..0.9 ", ""}) {
    CAPTURE(more);
    const std::string command = run("data-parallel-from-scratch", more + "--classes ");
    const Json folded = json_of(command)["fold"];
    const Json unfolded = json_of(command + "--fold off")["fold"];
    CHECK(unfolded["folded"] == false);
    CHECK(unfolded["distinct_times"] == folded["distinct_times"]);
    CHECK(unfolded["members"].size() == unfolded["distinct_times"]);
    std::int64_t usual = 0;
    for (const Json& each : unfolded["members"])
      if (each["parts"].is_null()) usual += each["ranks"].get<std::int64_t>();
    const std::int64_t reached =
        unfolded["reach"].empty() ? 0 : unfolded["reach"].back()["ranks"].get<std::int64_t>();
    CHECK(usual + reached == 8);
  }
  const Json slow =
      json_of(run("data-parallel-from-scratch", "--set-rank 3=0.5 --classes --fold off"))["fold"];
  CHECK(slow["reach"][0]["rank"] == 3);
  CHECK(slow["reach"][0]["ranks"] == 1);
  bool named = false;
  for (const Json& each : slow["members"])
    named = named || each["difference"] == "computes at 0.5 of the speed";
  CHECK(named);
  CHECK(contains(
      output_of(run("data-parallel-from-scratch", "--set-rank 3=0.5 --classes --fold off")),
      "classes of ranks with the same times, which nothing was folded by"));
  CHECK(contains(output_of("lockstep run data-parallel-from-scratch --ignore-memory --classes "
                           "--fidelity representatives"),
                 "--fidelity all has others"));
}

TEST_CASE("classes of a step with changes are compared with the step without them") {
  CHECK_FALSE(
      json_of(run("data-parallel-from-scratch", "--classes"))["fold"].contains("from_unchanged"));
  const std::string slow = run("data-parallel-from-scratch", "--set-rank 3=0.5 --classes ");
  const Json folded = json_of(slow);
  const Json changed = folded["fold"]["from_unchanged"];
  // Nobody is late before the slow rank is; all wait for it in the first all-reduce.
  CHECK(changed["reach"][0]["rank"] == 3);
  CHECK(changed["reach"][0]["ranks"] == 1);
  CHECK(changed["reach"].back()["ranks"] == 8);
  std::int64_t ranks = 0;
  for (const Json& each : changed["members"]) {
    CHECK_FALSE(each["parts"].is_null());
    ranks += each["ranks"].get<std::int64_t>();
  }
  CHECK(ranks == 8);
  CHECK(json_of(slow + "--fold off")["fold"]["from_unchanged"]["reach"] == changed["reach"]);
  const std::string text = output_of(slow);
  CHECK(contains(text, "their own without the changes, rank 3 first: 1 from "));
  CHECK(contains(text, "computes at 0.5 of the speed"));
}

TEST_CASE("slow ranks are named though all of their role are as slow, or most") {
  const auto members = [](const std::string& of) {
    return json_of(of + " --classes")["fold"]["from_unchanged"]["members"];
  };
  for (const Json& each : members(run("data-parallel-from-scratch", "--set-rank all=0.9")))
    CHECK(each["difference"] == "computes at 0.9 of the speed");
  int others = 0;
  for (const Json& each : members(run("data-parallel-from-scratch", "--set-rank 0..6=0.8"))) {
    const bool unchanged = each["members"] == Json::parse("[[7,7]]");
    CHECK(each["difference"] == (unchanged ? "" : "computes at 0.8 of the speed"));
    others += unchanged ? 1 : 0;
  }
  CHECK(others == 1);
}

TEST_CASE("ranks that a change does not reach have the times of the step without it") {
  // A GPU that is slow after the last kernel of the step changes nothing; one that is slow while it
  // waits neither.
  const Json fold =
      json_of(run("mlp-two-gpus", "--set-rank 1 compute=0.5,from=3s,until=4s --classes"))["fold"];
  CHECK(fold["from_unchanged"]["reach"].empty());
  for (const Json& each : fold["from_unchanged"]["members"]) CHECK(each["parts"].is_null());
  // The first part at which rank 1 is late is at most as early as its window, and both meet again
  // behind it by the same, since they exchange.
  const Json window = json_of(run("mlp-two-gpus",
                                  "--set-rank 1 compute=0.5,from=100us,until=300us "
                                  "--classes"))["fold"]["from_unchanged"];
  CHECK(window["reach"].size() == 2);
  CHECK(window["reach"][0]["rank"] == 1);
  CHECK(window["reach"][0]["at_s"].get<double>() >= 100e-6);
  CHECK(window["merged"]["shifted_ranks"] == 2);
  CHECK(window["members"][0]["parts"]["later_s"] == window["members"][1]["parts"]["later_s"]);
}

TEST_CASE("what --fold and --set-rank do not take is refused") {
  const std::string mlp = "lockstep run configs/scenarios/mlp-two-gpus.json ";
  check_refused(mlp + "--fold on", "--fold: expected auto or off, got \"on\"");
  check_refused(
      mlp + "--set-rank x compute=1",
      "--set-rank: expected ranks such as 17, 0..7, 3,9,12..15, all, or random:1%, got \"x\"");
  check_refused(mlp + "--set-rank 2 compute=0.5", "--set-rank 2: the scenario has ranks 0 to 1");
  check_refused(mlp + "--set-rank 1 compute=0",
                "--set-rank 1: expected compute=SPEED such as 0.8, 0.9..0.99 or normal(0.95,0.02), "
                "with a speed of 0.001 to 1000, 1 being that of the others, got \"compute=0\"");
  check_refused(mlp + "--set-rank 1 speed=2",
                "--set-rank 1: expected compute, from or until, got \"speed=2\"");
  check_refused(mlp + "--set-rank 1 compute=2 --set-rank 1 compute=3",
                "--set-rank 1: the rank is given twice");
  const auto refused = [&](const std::string& settings, const std::string& why) {
    check_refused(mlp + "--set-rank 1 " + settings, "--set-rank 1: " + why);
  };
  refused("from=1ms",
          "expected compute=SPEED such as 0.8, 0.9..0.99 or normal(0.95,0.02), with a speed of "
          "0.001 to 1000, 1 being that of the others, got \"from=1ms\"");
  refused("compute=0.5,from=2",
          "from: expected a time such as \"1 s\", at most 9223372 s, got \"2\"");
  refused("compute=0.5,from=1e30s",
          "from: expected a time such as \"1 s\", at most 9223372 s, without an exponent, got "
          "\"1e30s\"");
  refused("compute=0.5,form=2ms",
          "expected compute, from or until, got \"form=2ms\"; did you mean "
          "\"from\"?");
  refused("compute=0.5,from=2ms,from=3ms", "from is given twice");
  refused("compute=0.5,from=2ms,until=2ms",
          "until must be later than from, got until=2 ms and from=2 ms");
  refused("compute=1.5,until=2ms",
          "with from or until, a speed of 0.001 to 1 is expected, got 1.5");
  refused("compute=0.5,from=1ms --set-rank 1 compute=0.9,until=2ms",
          "slow windows of rank 1 overlap: 1 ms to the end, and the start to 2 ms");
  check_refused("lockstep run diloco-two-sites --set-rank 0 compute=0.5,from=1us",
                "--set-rank 0: from and until are times of a single step; this scenario averages "
                "parameters, and its result is the mean of several steps");
}

TEST_CASE("a straggler that comes and goes costs its window, and ranks may be ranges") {
  const auto time = [](const std::string& options) {
    return json_of(run("mlp-two-gpus", options))["step_time_s"].get<double>();
  };
  const double even = time("");
  const double always = time("--set-rank 1 compute=0.5");
  CHECK(time("--set-rank 1 compute=0.5,from=0s") == always);
  const double half = time(fmt::format("--set-rank 1 compute=0.5,until={:.0f}us", 1e6 * even / 2));
  CHECK(even < half);
  CHECK(half < always);
  CHECK(time("--set-rank 0..1 compute=0.5") == time("--gpu-speed all=0.5"));
  CHECK(time("--set-rank all compute=0.5") == time("--gpu-speed all=0.5"));
  // Later ranges override earlier ones, single ranks all ranges.
  CHECK(time("--set-rank 1 compute=0.5 --set-rank all compute=1") == always);
  const Json idle = json_of(run("mlp-two-gpus", "--set-rank 1 compute=0.5,from=9s"));
  CHECK(idle["step_time_s"] == even);
  CHECK(idle["without_effect"][0]["key"] == "set_rank 1");
  CHECK(contains(idle["without_effect"][0]["reason"].get<std::string>(),
                 "its slow window begins at 9 s, after the end of the step"));
}

}  // namespace lockstep
