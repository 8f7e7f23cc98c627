#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "strategies/step/build_program.hpp"
#include "tools/app/campaign/checkpoint_cost.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/metrics/rank_classes.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"
#include "tools/app/step/requested_scenario.hpp"
#include "tools/app/step/run_step.hpp"
#include "tools/app/topology/topology.hpp"
#include "tools/app/verify/verify_run.hpp"

namespace lockstep::app {
namespace {

TEST_CASE("a step is simulated from a scenario's name, with its figures") {
  TrainingStepRequest request;
  request.file = scenario_file("mlp-two-gpus");
  const TrainingStepResult done = run_step(request);
  CHECK(done.summary.step > Duration{});
  CHECK(done.throughput.step_s == doctest::Approx(done.summary.step.seconds()));
  CHECK(done.memory.fits());
}

TEST_CASE("a step reports what it is doing, and how much of the simulation is done") {
  TrainingStepRequest request;
  request.file = scenario_file("llama7b-256");
  request.simulation.fold = Folding::off;
  request.simulation.fidelity = Fidelity::all_ranks;
  request.speeds = {
      {{.intervals = {{0, std::nullopt}}, .text = "all"}, {app::SpeedDraw::Kind::same, 0.9}}};
  std::vector<std::string> names;
  std::vector<double> shares;
  std::vector<double> expanded;
  request.on_phase = [&](const Phase& phase) {
    if (!phase.part.empty()) {
      CHECK(phase.part == "expanding operations");
      expanded.push_back(phase.share);
    } else if (phase.name.empty()) {
      shares.push_back(phase.share);
    } else {
      names.push_back(phase.name);
      shares.clear();
      expanded.clear();
    }
  };
  (void)run_step(request);
  CHECK(names == std::vector<std::string>{"laying out the step", "simulating the step",
                                          "summarizing the step", "simulating the unchanged step"});
  // Of 256 ranks, one after the other.
  REQUIRE(expanded.size() == 256);
  CHECK(std::is_sorted(expanded.begin(), expanded.end()));
  CHECK(expanded.back() == 1);
  REQUIRE_FALSE(shares.empty());
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.front() > 0);
  CHECK(shares.back() <= 1);
}

TEST_CASE("a layout that does not fit is refused with data on what would") {
  TrainingStepRequest request;
  request.file = scenario_file("zero-7b5-0");
  request.overrides = {"ignore_memory=false", "stack=fused"};
  try {
    (void)run_step(request);
    FAIL("it fits");
  } catch (const DoesNotFit& error) {
    const MemoryShortfall& shortfall = error.shortfall();
    CHECK(error.code() == ErrorCode::negative_result);
    CHECK(shortfall.memory.needed() > *shortfall.memory.capacity);
    REQUIRE_FALSE(shortfall.changes.empty());
    for (const FittingChange& change : shortfall.changes)
      CHECK(change.needed <= *shortfall.memory.capacity);
  }
  request.ignore_memory = true;
  CHECK_FALSE(run_step(request).memory.fits());
}

// The memory that there is is what the layout needs with the change: the change fits, and the
// layout itself does not.
TEST_CASE("a refusal for lack of memory advises shorter lives of gradients and activations") {
  const auto needed = [](const TrainingStepRequest& request, const LayoutChange& change) {
    std::vector<std::string> overrides = request.overrides;
    overrides.insert(overrides.end(), change.begin(), change.end());
    const Scenario scenario = requested_scenario(request, overrides);
    return peak_in_order(
        build_program(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node()));
  };
  for (const auto& [file, overrides, change] :
       {std::tuple<std::string, std::vector<std::string>, LayoutChange>{
            "zero-7b5-2",
            {"parallel.reduce_gradients=last_microbatch", "parallel.global_batch=128"},
            {"parallel.reduce_gradients=every_microbatch"}},
        {"pipeline-gpipe", {}, {"parallel.schedule=1f1b", "parallel.vpp=1"}}}) {
    CAPTURE(file);
    TrainingStepRequest request;
    request.file = scenario_file(file);
    request.overrides = overrides;
    const Bytes capacity = needed(request, change);
    REQUIRE(capacity < needed(request, {}));
    const Scenario scenario = requested_scenario(request, request.overrides);
    const auto changes = fitting_changes(request, scenario, capacity);
    const auto is_it = [&](const FittingChange& each) {
      return each.change == change && each.needed == capacity;
    };
    CHECK(std::count_if(changes.begin(), changes.end(), is_it) == 1);
    for (const FittingChange& each : changes) {
      CHECK(each.needed <= capacity);
      CHECK(each.needed == needed(request, each.change));
    }
  }
}

TEST_CASE("less overlap is tried where memory is short, kind by kind") {
  TrainingStepRequest request;
  request.file = scenario_file("gpt-moe");
  Scenario scenario = requested_scenario(request, {});
  scenario.parallel.overlap = {Overlap::ep_pairs, Overlap::dp_parameters, Overlap::pp};
  const std::vector<LayoutChange> changes = memory_changes(scenario);
  for (const char* less :
       {R"(parallel.overlap=["dp_parameters","pp"])", R"(parallel.overlap=["ep_pairs","pp"])"}) {
    CAPTURE(less);
    CHECK(std::count(changes.begin(), changes.end(), LayoutChange{less}) == 1);
  }
}

// What is left out as too large without being laid out must be too large.
TEST_CASE("the least that a device holds is no more than what layouts need") {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator{config_folder() + "/scenarios"}) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().string());
    const Scenario shipped = load_scenario(entry.path().string(), {}, config_folder());
    std::vector<LayoutChange> changes = memory_changes(shipped);
    changes.emplace_back();  // as shipped
    for (const LayoutChange& change : changes) {
      std::optional<Scenario> scenario;
      try {
        scenario = load_scenario(entry.path().string(), change, config_folder());
      } catch (const Error&) {  // not possible
        continue;
      }
      if (scenario->parallel.microbatches() * scenario->parallel.pp > 64) continue;  // takes long
      const Program program = build_program(scenario->model, scenario->parallel,
                                            scenario->cluster.cluster.gpus_per_node());
      CHECK(least_bytes(scenario->model, scenario->parallel) <= peak_in_order(program));
      ++compared;
    }
  }
  CHECK(compared > 50);
}

// Llama 3 70B: 80 layers of hidden size 8192, MLPs of 28672, 8 heads of 128 for keys and values, a
// vocabulary of 128256. NVFP4: half a byte per number and one per 16. Linear layers alone are so
// narrow; both tables and the norms stay in bf16. Master weights and two moments: 12 bytes each,
// gradients 4 (Megatron-Core: fp32). ZeRO pads its shards, by less than a ten-thousandth.
TEST_CASE("checkpoints and least memory count weights in 4 bits as a step keeps them") {
  constexpr double kHidden = 8192;
  constexpr double kLinear = 80 * kHidden * (2 * kHidden + 2 * 1024 + 3 * 28672);
  constexpr double kWide = 2 * 128256 * kHidden + (2 * 80 + 1) * kHidden;
  TrainingStepRequest request;
  request.file = scenario_file("precision-recipes");
  for (const bool narrow : {false, true}) {
    CAPTURE(narrow);
    request.overrides = {"parallel.precision=nvfp4"};
    if (narrow) request.overrides.emplace_back("parallel.state.weights=nvfp4");
    const double weights = kLinear * (narrow ? 9.0 / 16 : 2) + kWide * 2;
    for (const char* zero : {"0", "1"}) {
      CAPTURE(zero);
      request.overrides.push_back(fmt::format("parallel.zero={}", zero));
      request.ignore_memory = true;
      const TrainingStepResult done = run_step(request);
      CHECK(static_cast<double>(checkpoint_size(done).count()) ==
            doctest::Approx(weights + 12 * (kLinear + kWide)).epsilon(1e-4));
      const double shards = *zero == '0' ? 1 : 8;
      CHECK(static_cast<double>(least_bytes(done.scenario.model, done.scenario.parallel).count()) ==
            doctest::Approx((weights + 12 * (kLinear + kWide) / shards) / 8).epsilon(1e-6));
      TrainingStepRequest alone = request;
      alone.step_only = true;
      CHECK(
          static_cast<double>(memory_shortfall(alone, done.scenario, done.memory).states.count()) ==
          doctest::Approx(weights + (4 + 12) * (kLinear + kWide)).epsilon(1e-6));
      request.overrides.pop_back();
    }
  }
}

TEST_CASE("the config folder can be chosen") {
  const std::string before = config_folder();
  use_config_folder("/nowhere");
  CHECK(config_folder() == "/nowhere");
  CHECK_THROWS_AS((void)scenario_file("mlp-two-gpus"), Error);
  use_config_folder("");
  CHECK(config_folder() == before);
}

// 8 GPUs on one switch: every one of 8 * 7 pairs is two links apart.
TEST_CASE("a topology is summarized, a route found and exported") {
  const ClusterRequest star{.cluster = "star", .ranks = 8};
  const TopologySummary summary = summarize_topology(star);
  CHECK(summary.loaded.cluster.ranks() == 8);
  CHECK(summary.diameter.hops == 2);
  REQUIRE(summary.bisection);
  CHECK(summary.bisection->is_even());
  const RouteResult found = find_route({star, 0, 7});
  CHECK(found.route.hops.size() == 2);
  CHECK_THROWS_AS((void)find_route({star, 0, 8}), RequestError);
  CHECK(export_topology(star, "dot").find("graph") != std::string::npos);
  CHECK_THROWS_AS((void)export_topology(star, "svg"), RequestError);
}

TEST_CASE("schedules are verified, right ones and those that cannot be had") {
  VerifyCollectiveRequest request;
  request.algorithms = parse_specs("ring", Collective::all_reduce).specs;
  request.ranks = {2, 3};
  const VerifyCollectiveResult done = verify_collective(request);
  REQUIRE(done.schedules.size() == 2);
  CHECK(done.first_wrong() == nullptr);
  CHECK(done.schedules[1].contract.ranks == 3);
}

// Neighbor exchange pairs ranks: of 3 there is nothing to verify. all_gather_test.cpp has the
// message.
TEST_CASE("a schedule that cannot be had is skipped, with the algorithm and the reason apart") {
  VerifyCollectiveRequest request;
  request.algorithms = parse_specs("neighbour_exchange", Collective::all_gather).specs;
  request.ranks = {3};
  const VerifyCollectiveResult done = verify_collective(request);
  CHECK(done.schedules.empty());
  REQUIRE(done.skipped.size() == 1);
  CHECK(done.skipped[0].ranks == 3);
  REQUIRE(done.skipped[0].problem);
  CHECK(done.skipped[0].problem->algorithm == "neighbour_exchange");
  CHECK(done.skipped[0].problem->message == "needs an even number of ranks, got 3");
}

TEST_CASE("classes that part first come first, and those with the same reason are one group") {
  const auto of = [](int rank, std::int64_t members, const std::string& difference,
                     std::optional<ClassParting> parting) {
    return ShownClass{{rank, 0, members, difference, parting}, "stage 0", {}};
  };
  const auto at_us = [](std::int64_t us, std::uint32_t operation) {
    ClassParting out;
    out.at = TimePoint{} + 1_us * us;
    out.operation = operation;
    return out;
  };
  // Rank 9 is slow; 8 waits for it in its operation 3, ranks 1 to 6 exchange gradients in 7.
  const std::vector<ClassGroup> groups = class_groups(
      {of(0, 20, "", {}), of(1, 2, "sends over 2 links", at_us(90, 7)),
       of(3, 4, "receives over 3 links", at_us(80, 7)), of(8, 1, "different peers", at_us(5, 3)),
       of(9, 1, "computes at 0.8 of the speed", at_us(5, 3)), of(30, 5, "", {})});
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].first.of.representative == 9);
  CHECK(groups[1].first.of.representative == 8);
  CHECK(groups[2].first.of.representative == 3);
  CHECK(groups[2].classes == 2);
  CHECK(groups[2].ranks == 6);
  CHECK(groups[3].first.of.representative == 0);
  CHECK(groups[3].ranks == 25);
}

}  // namespace
}  // namespace lockstep::app
