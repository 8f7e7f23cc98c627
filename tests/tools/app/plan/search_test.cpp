#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "sim/config/json/config_error.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "tests/tools/app/plan/space_of.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/plan/plan.hpp"
#include "tools/app/step/run_step.hpp"

// The expectation is always the same: every point of the space simulated as `run` does, one by one,
// and sorted. The search must find the same layouts in the same order, whatever the threads.

namespace lockstep::app {
namespace {

struct Exhaustive {
  std::vector<SimulatedLayout> fitting{};  // by step time, then index
  std::uint64_t layouts = 0;               // points that no rule is against
};

/// A layout as `run` sees it: by its overrides, through the reader of scenarios.
std::optional<SimulatedLayout> simulated(const PlanSpace& space, std::uint64_t index,
                                         const ParallelConfig& parallel,
                                         const PartChanges& changes) {
  TrainingStepRequest request;
  request.file = space.name;
  request.document = space.base;
  request.overrides = space.setting_overrides(index / space.layout_count());
  for (std::string& each : layout_overrides(parallel)) request.overrides.push_back(std::move(each));
  request.speeds = changes.speeds;
  request.links = changes.links;
  try {
    const TrainingStepResult result = run_step(request);
    SimulatedLayout out;
    out.index = index;
    out.step = result.throughput.step;
    out.step_s = out.step.seconds();
    out.memory = result.memory.needed();
    return out;
  } catch (const DoesNotFit&) {
    return std::nullopt;
  }
}

Exhaustive exhaustive(const PlanSpace& space, const PartChanges& changes = {}) {
  Exhaustive out;
  for (std::uint64_t setting = 0; setting < space.setting_count(); ++setting) {
    const PlanSetting of{space, setting, {}};
    SettingBounds bounds{of};
    LayoutWalk walk{space, of, bounds, {}};
    for (std::uint64_t i = 0; i < space.layout_count(); ++i) {
      const std::uint64_t index = setting * space.layout_count() + i;
      const auto layout = walk.at(index);
      if (!std::holds_alternative<ParallelConfig>(layout)) continue;
      ++out.layouts;
      const auto found = simulated(space, index, std::get<ParallelConfig>(layout), changes);
      if (found) out.fitting.push_back(*found);
    }
  }
  std::sort(out.fitting.begin(), out.fitting.end(), [](const auto& a, const auto& b) {
    return a.step != b.step ? a.step < b.step : a.index < b.index;
  });
  return out;
}

const std::vector<std::string> kPlain{"cp=1",
                                      "ep=1",
                                      "cp_kind=ring",
                                      "recompute=none",
                                      "shard_ranks=0",
                                      "offload=false",
                                      "order=tp-cp-dp-pp",
                                      "short_edges=false",
                                      "sequence_parallel=true",
                                      "schedule=1f1b",
                                      "vpp=1"};

SearchResult search(const PlanSpace& space, std::size_t top, std::size_t threads,
                    PlanMetric objective = PlanMetric::step_time, SearchOptions options = {},
                    const PartChanges& changes = {}) {
  std::vector<std::unique_ptr<PlanSetting>> settings;
  for (std::uint64_t i = 0; i < space.setting_count(); ++i)
    settings.push_back(std::make_unique<PlanSetting>(space, i, Calibration{}, changes));
  options.objective = objective;
  options.top = top;
  options.threads = threads;
  return search_space(space, settings, options);
}

void hold(const SpaceRequest& request, std::uint64_t least_layouts,
          const PartChanges& changes = {}) {
  const PlanSpace space = make_space(request);
  const Exhaustive all = exhaustive(space, changes);
  CAPTURE(space.size());
  CHECK(all.layouts >= least_layouts);
  constexpr std::size_t kTop = 4;
  for (const std::size_t threads : {1, 2}) {
    SearchOptions looks{.first_look = first_look(space)};
    if (threads == 2) looks.large = 0;  // a first look changes nothing
    const SearchResult found = search(space, kTop, threads, PlanMetric::step_time, looks, changes);
    REQUIRE(found.best.size() == std::min(kTop, all.fitting.size()));
    for (std::size_t i = 0; i < found.best.size(); ++i) {
      CHECK(found.best[i].index == all.fitting[i].index);
      CHECK(found.best[i].step == all.fitting[i].step);
      CHECK(found.best[i].memory == all.fitting[i].memory);
    }
    // Every point is decided once.
    const SearchCertificate& certificate = found.certificate;
    std::uint64_t sum = certificate.memory + certificate.limits + certificate.bounded +
                        certificate.simulated + certificate.not_simulated;
    std::uint64_t by_rule = 0;
    for (const std::uint64_t count : certificate.rules) by_rule += count;
    CHECK(sum + by_rule == space.size());
    CHECK(by_rule == space.size() - all.layouts);
    CHECK(found.complete);
    CHECK(certificate.simulated <= all.layouts);
  }
}

}  // namespace

TEST_CASE(
    "a search finds what simulating every point finds: data, tensor and pipeline parallelism") {
  std::vector<std::string> fix = kPlain;
  hold(space_of("gpt2-small", "dgx-h100", 1, 16,
                {"tp=1,2,4", "pp=1,2,4", "micro_batch=1,2", "zero=0,1,2,3", "overlap=none,all"},
                fix),
       100);
}

TEST_CASE("a search finds what simulating every point finds: schedules, chunks and recomputation") {
  hold(space_of("gpt2-small", "dgx-a100", 1, 16,
                {"tp=1,2", "pp=2,4", "vpp=1,2,3", "schedule=1f1b,interleaved,zb-h1,zb-h2,gpipe",
                 "recompute=none,selective,full", "short_edges=false,true", "micro_batch=1,2"},
                {"cp=1", "ep=1", "cp_kind=ring", "zero=1", "shard_ranks=0", "offload=false",
                 "order=tp-cp-dp-pp", "sequence_parallel=true", "overlap=pp"}),
       80);
}

TEST_CASE("a search finds what simulating every point finds: context parallelism and rank orders") {
  hold(space_of("gpt2-small", "dgx-h100", 2, 16,
                {"tp=1,2", "pp=1,2", "cp=1,2,4", "cp_kind=ring,ulysses,2d", "zero=0,3",
                 "order=tp-cp-dp-pp,tp-cp-pp-dp,dp-tp-cp-pp", "shard_ranks=0,4",
                 "sequence_parallel=true,false"},
                {"ep=1", "vpp=1", "schedule=1f1b", "recompute=none", "offload=false",
                 "short_edges=false", "micro_batch=1", "overlap=all"}),
       60);
}

TEST_CASE("a search finds what simulating every point finds: experts, offload, several clusters") {
  SpaceRequest request = space_of(
      "gpt-125m", "dgx-h100", 1, 16,
      {"cluster.nodes=1,2", "tp=1,2", "pp=1,2", "offload=false,true", "zero=0,1",
       "micro_batch=1,2"},
      {"cp=1", "ep=1", "cp_kind=ring", "vpp=1", "schedule=1f1b", "recompute=none", "shard_ranks=0",
       "short_edges=false", "sequence_parallel=true", "order=tp-cp-dp-pp", "overlap=dp_gradients"});
  hold(request, 50);
  request = space_of("gpt-1.3b-moe-128", "dgx-h100", 1, 8,
                     {"tp=1,2,4", "etp=0,1,2", "ep=1,2,4,8", "zero=1,2", "overlap=none,all"},
                     {"pp=1", "cp=1", "cp_kind=ring", "vpp=1", "schedule=1f1b", "recompute=none",
                      "shard_ranks=0", "offload=false", "short_edges=false",
                      "sequence_parallel=true", "order=tp-cp-dp-pp", "micro_batch=1"});
  request.overrides = {"ignore_memory=true", "model.layers=4"};
  hold(request, 10);
}

TEST_CASE("a search finds what simulating every point finds: two microbatches in turn") {
  SpaceRequest request = space_of(
      "gpt-1.3b-moe-128", "dgx-h100", 1, 16,
      {"pp=1,2", "vpp=1,2", "schedule=1f1b,interleaved", "ep=1,4", "zero=1,3",
       "overlap=none,ep,ep_pairs,ep+ep_pairs+pp", "delay_wgrad_compute=false,true"},
      {"tp=1", "cp=1", "etp=0", "cp_kind=ring", "recompute=none", "shard_ranks=0", "offload=false",
       "short_edges=false", "sequence_parallel=true", "order=tp-cp-dp-pp", "micro_batch=1"});
  request.overrides = {"ignore_memory=true", "model.layers=4"};
  hold(request, 20);
}

/// Ranks of a speed.
RankSpeedRange at_speed(int first, int last, double speed) {
  RankSpeedRange out;
  out.ranks.intervals = {{first, last}};
  out.speed.first = speed;
  out.option = "set_rank";
  return out;
}

// Ranks faster than the device, and links that are faster or of other routes, would undercut bounds
// of the unchanged cluster.
TEST_CASE("a search finds what simulating every point finds: slow and fast ranks, other links") {
  const SpaceRequest request =
      space_of("gpt2-small", "dgx-h100", 2, 16,
               {"tp=1,2", "pp=1,2,4", "micro_batch=1,2", "zero=0,1,3", "overlap=none,all"}, kPlain);
  hold(request, 30, {.speeds = {at_speed(3, 3, 0.7)}});
  hold(request, 30, {.speeds = {at_speed(0, 15, 1.6), at_speed(5, 5, 0.9)}});
  hold(request, 30, {.links = {.failed = {"rail3", "node1/nic0"}}});
  hold(request, 30,
       {.speeds = {at_speed(9, 9, 0.8)},
        .links = {.set_links = {{"node0", "bandwidth=400%"}, {"rail1", "bandwidth=10%"}}}});
  RankSpeedRange late = at_speed(2, 2, 0.5);
  late.window = SlowWindow{TimePoint{5_ms}, SlowWindow::kNoEnd};
  hold(request, 30, {.speeds = {late}});
}

struct SmallSpace {
  const char* model;
  const char* cluster;
  std::int64_t nodes;
  std::int64_t batch;
  std::vector<std::string> vary;
  const char* gpu = "";
};

/// LOCKSTEP_PLAN_WIDE=1 makes them spaces of thousands of points.
void hold_small(const SmallSpace& small) {
  std::vector<std::string> vary = small.vary;
  if (std::getenv("LOCKSTEP_PLAN_WIDE") != nullptr)
    for (const char* axis :
         {"zero=0,1,2,3", "overlap=none,dp_gradients+dp_parameters,all", "micro_batch=1,2,4",
          "recompute=none,every-second-layer,full", "sequence_parallel=true,false",
          "shard_ranks=0,4", "offload=false,true", "order=tp-cp-dp-pp,tp-cp-pp-dp"})
      vary.emplace_back(axis);
  std::vector<std::string> fix;
  std::vector<std::string> pinned = kPlain;
  for (const char* each : {"tp=1", "pp=1", "zero=1", "micro_batch=1", "overlap=none"})
    pinned.emplace_back(each);
  for (const std::string& each : pinned) {
    const std::string key = each.substr(0, each.find('=') + 1);
    const auto is_it = [&](const std::string& of) { return of.rfind(key, 0) == 0; };
    if (std::none_of(vary.begin(), vary.end(), is_it)) fix.push_back(each);
  }
  CAPTURE(small.model);
  CAPTURE(small.cluster);
  SpaceRequest request =
      space_of(small.model, small.cluster, small.nodes, small.batch, std::move(vary), fix);
  request.gpu = small.gpu;
  if (request.cluster == "dgx1") request.precision = "fp16";  // V100
  request.overrides = {"model.layers=4"};
  hold(request, 4);
}

TEST_CASE("a search finds what simulating every point finds: models on DGX") {
  for (const SmallSpace& each : std::vector<SmallSpace>{
           {"llama3-8b", "dgx-h100", 1, 8, {"tp=1,2,4,8", "zero=1,3", "overlap=none,all"}},
           {"llama3-70b", "dgx-h100", 1, 8, {"tp=2,8", "pp=1,2,4", "recompute=none,full"}},
           {"gpt3-175b", "dgx-a100", 1, 8, {"tp=4,8", "pp=1,2", "sequence_parallel=true,false"}},
           {"llama2-7b", "dgx-a100", 2, 16, {"pp=1,2,4", "vpp=1,2", "schedule=1f1b,interleaved"}},
           {"mixtral-8x7b", "dgx-h100", 1, 8, {"ep=1,2,4,8", "tp=1,2", "zero=1,2"}},
           {"deepseek-v3", "dgx-h100", 1, 8, {"ep=4,8", "tp=1,2", "overlap=none,ep"}},
           {"gpt2-large", "dgx1", 1, 16, {"tp=1,2", "zero=0,1", "micro_batch=1,2"}},
       })
    hold_small(each);
}

TEST_CASE("a search finds what simulating every point finds: other clusters") {
  for (const SmallSpace& each : std::vector<SmallSpace>{
           {"gpt2-small", "fat-tree", 2, 16, {"tp=1,2", "pp=1,2", "zero=0,1,3"}, "a100-sxm4-80gb"},
           {"gpt2-small",
            "rail-optimised",
            2,
            16,
            {"tp=1,4", "cp=1,2", "cp_kind=ring,ulysses"},
            "h100-sxm5-80gb"},
           {"gpt2-small", "dgx1", 1, 8, {"tp=1,2", "pp=1,2,4", "schedule=1f1b,zb-h1,zb-h2"}},
           {"gpt2-small", "dgx-a100", 2, 16, {"zero=1,2,3", "shard_ranks=0,8", "overlap=none,all"}},
           {"gpt2-small", "dgx-h100", 1, 8, {"offload=false,true", "tp=1,2", "zero=0,1"}},
           {"llama3-8b", "dgx-a100", 1, 8, {"tp=2,4", "cp=1,2", "recompute=none,full"}},
           {"llama3-8b",
            "rail-optimised",
            2,
            8,
            {"tp=4,8", "order=tp-cp-dp-pp,dp-tp-cp-pp"},
            "h100-sxm5-80gb"},
       })
    hold_small(each);
}

TEST_CASE("of equal layouts those of the smallest index win, and the others are not simulated") {
  // All layouts of one number of GPUs are equal by that number: the first that fit are the best.
  const PlanSpace space = make_space(space_of("gpt2-small", "dgx-h100", 1, 16,
                                              {"cluster.nodes=1,2", "tp=1,2", "pp=1,2",
                                               "zero=0,1,2", "micro_batch=1,2", "overlap=none,all"},
                                              kPlain));
  Exhaustive all = exhaustive(space);
  const auto gpus = [&](const SimulatedLayout& of) { return of.index / space.layout_count(); };
  std::sort(all.fitting.begin(), all.fitting.end(), [&](const auto& a, const auto& b) {
    return gpus(a) != gpus(b) ? gpus(a) < gpus(b) : a.index < b.index;
  });
  for (const std::size_t threads : {1, 2}) {
    const SearchResult found = search(space, 3, threads, PlanMetric::gpus);
    REQUIRE(found.best.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(found.best[i].index == all.fitting[i].index);
    CHECK(found.certificate.simulated == 3);
  }
}

TEST_CASE("a planted optimum is found: only one layout does not recompute") {
  // Recomputation always adds work; all else is the same.
  const PlanSpace space = make_space(
      space_of("gpt2-small", "dgx-h100", 1, 8, {"recompute=full,none,every-second-layer"},
               {"tp=1", "pp=1", "cp=1", "ep=1", "cp_kind=ring", "vpp=1", "schedule=1f1b",
                "shard_ranks=0", "offload=false", "short_edges=false", "sequence_parallel=true",
                "order=tp-cp-dp-pp", "micro_batch=1", "zero=0", "overlap=none"}));
  const SearchResult found = search(space, 1, 1);
  REQUIRE(found.best.size() == 1);
  CHECK(space.digits(found.best.front().index)[static_cast<std::size_t>(LayoutKey::recompute)] ==
        static_cast<std::int64_t>(Recompute::none));
  CHECK(found.certificate.simulated == 1);
}

TEST_CASE("shards of a space decide each of its points once, and find its best layout") {
  PlanRequest request;
  request.space = space_of("gpt2-small", "dgx-h100", 1, 16,
                           {"tp=1,2", "pp=1,2", "zero=0,1", "overlap=none,all"}, kPlain);
  request.space.fix.emplace_back("micro_batch=1");
  const PlanResult whole = plan(request);
  std::uint64_t points = 0;
  RuleCounts rules{};
  Duration best = Duration::picoseconds(INT64_MAX);
  request.shards = 3;
  for (request.shard = 0; request.shard < 3; ++request.shard) {
    const PlanResult part = plan(request);
    points += part.certificate.points;
    for (std::size_t i = 0; i < kPlanRules; ++i) rules[i] += part.certificate.rules[i];
    for (const SimulatedLayout& each : part.simulated)
      if (each.fits) best = std::min(best, each.step);
  }
  CHECK(points == whole.space.size());
  CHECK(rules == whole.certificate.rules);
  CHECK(best == whole.rows.front().step->throughput.step);
}

TEST_CASE("a front has no layout that another is at least as good as in everything") {
  PlanRequest request;
  request.space = space_of("gpt2-small", "dgx-h100", 1, 32,
                           {"tp=1,2", "pp=1", "micro_batch=1,2,4", "zero=0,1,3"}, kPlain);
  std::erase(request.space.fix, "recompute=none");
  request.space.vary.emplace_back("recompute=none,full");
  request.space.fix.emplace_back("overlap=all");
  request.pareto = {"step_time", "memory"};
  const PlanResult result = plan(request);
  const Exhaustive all = exhaustive(result.space);
  std::set<std::pair<std::int64_t, std::int64_t>> front;
  for (const SimulatedLayout& a : all.fitting) {
    const auto beats = [&](const SimulatedLayout& b) {
      return b.step <= a.step && b.memory <= a.memory && (b.step < a.step || b.memory < a.memory);
    };
    if (std::none_of(all.fitting.begin(), all.fitting.end(), beats))
      front.insert({a.step.ps(), a.memory.count()});
  }
  std::set<std::pair<std::int64_t, std::int64_t>> found;
  for (const PlanRow& row : result.rows)
    found.insert({row.step->throughput.step.ps(), row.step->memory.needed().count()});
  CHECK(front.size() > 1);
  CHECK(found == front);
}

TEST_CASE("limits hold, and one that no layout holds is a refusal with counts") {
  PlanRequest request;
  request.space =
      space_of("gpt2-small", "dgx-h100", 1, 32, {"tp=1,2", "pp=1,2", "zero=0,1,3"}, kPlain);
  request.space.fix.emplace_back("overlap=all");
  request.space.fix.emplace_back("micro_batch=1");
  const PlanResult any = plan(request);
  const double best = any.rows.front().step->throughput.step_s;
  const Bytes memory = any.rows.front().step->memory.needed();
  request.where = {fmt::format("memory < {} B", memory.count())};
  const PlanResult less = plan(request);
  REQUIRE(!less.rows.empty());
  CHECK(less.rows.front().step->memory.needed() < memory);
  CHECK(less.rows.front().step->throughput.step_s >= best);
  request.where = {"step_time < 1 ns"};
  CHECK_THROWS_AS((void)plan(request), Refusal);
  request.where = {"step_time < 1 s", "step_time >= 2 s"};
  CHECK_THROWS_AS((void)plan(request), RequestError);
}

TEST_CASE("what is unknown is refused as an objective") {
  PlanRequest request;
  request.space = space_of("gpt2-small", "dgx-h100", 1, 32, {"tp=1,2"}, kPlain);
  for (const char* objective : {"usd", "energy", "days", "gpu_hours"}) {
    request.objective = objective;
    CHECK_THROWS_AS((void)plan(request), RequestError);
  }
}

TEST_CASE("money and energy come from flags, then the cluster's file, then the device's") {
  PlanRequest request;
  request.space = space_of("gpt2-small", "dgx-h100", 1, 32, {"tp=1,2"}, kPlain);
  request.space.tokens = "1B";
  for (const char* each : {"zero=1", "micro_batch=1", "pp=1", "overlap=none"})
    request.space.fix.emplace_back(each);
  const auto metric = [](const PlanResult& of, PlanMetric which) {
    return of.rows.front().metrics[static_cast<std::size_t>(which)];
  };
  const PlanResult device = plan(request);
  const double hours = *metric(device, PlanMetric::gpu_hours);
  // configs/devices/h100-sxm5-80gb.json: 700 W, no price.
  CHECK(metric(device, PlanMetric::energy) == doctest::Approx(hours * 0.7));
  CHECK(!metric(device, PlanMetric::usd));
  CHECK(device.assumed_power == std::vector<AssumedPower>{{"h100-sxm5-80gb", 700}});
  request.space.overrides = {"cluster.price=2.5", "cluster.watts=1000", "cluster.pue=1.5",
                             "cluster.price_kwh=0.1"};
  const PlanResult cluster = plan(request);
  CHECK(metric(cluster, PlanMetric::energy) == doctest::Approx(hours * 1.5));
  CHECK(metric(cluster, PlanMetric::usd) == doctest::Approx(hours * 2.5 + hours * 1.5 * 0.1));
  request.prices.usd_per_gpu_hour = 4;
  request.prices.watts_per_gpu = 500;
  request.prices.pue = 1;
  request.prices.usd_per_kwh = 0;
  const PlanResult flags = plan(request);
  CHECK(metric(flags, PlanMetric::energy) == doctest::Approx(hours * 0.5));
  CHECK(metric(flags, PlanMetric::usd) == doctest::Approx(hours * 4));
}

TEST_CASE("the cheapest of clusters with prices of their own: several values of one axis") {
  PlanRequest request;
  request.space =
      space_of("gpt2-small", "dgx-h100", 1, 32, {"cluster.price=3,1,2", "tp=1", "pp=1"}, kPlain);
  for (const char* each : {"zero=1", "micro_batch=1", "overlap=none"})
    request.space.fix.emplace_back(each);
  request.space.tokens = "1B";
  request.objective = "usd";
  const PlanResult result = plan(request);
  REQUIRE(!result.rows.empty());
  CHECK(result.rows.front().overrides.front() == "cluster.price=1");
}

TEST_CASE("settings that go together are one axis of a space") {
  const PlanSpace space = make_space(
      space_of("gpt2-small", "dgx-h100", 1, 32, {"nodes:global_batch=1,2:32,64"}, kPlain));
  REQUIRE(space.setting_count() == 2);
  CHECK(space.setting_overrides(1) ==
        std::vector<std::string>{"cluster.nodes=2", "parallel.global_batch=64"});
  CHECK_THROWS_WITH_AS(
      (void)make_space(space_of("gpt2-small", "dgx-h100", 1, 32, {"nodes:tp=1,2:1,2"}, {})),
      doctest::Contains("is a key of layouts"), RequestError);
  CHECK_THROWS_WITH_AS(
      (void)make_space(space_of("gpt2-small", "dgx-h100", 1, 32,
                                {"nodes:global_batch=1,2:32,64", "nodes=1,2"}, {})),
      doctest::Contains("varied twice"), RequestError);
}

TEST_CASE("a value that is twice on an axis is an error: its points would count twice") {
  for (const char* axis : {"cluster.nodes=1,2,1", "tp=2,2"}) {
    SpaceRequest request;
    request.scenario = "llama7b-256";
    request.vary = {axis};
    CHECK_THROWS_WITH_AS((void)make_space(request), doctest::Contains("is there twice"),
                         RequestError);
  }
}

}  // namespace lockstep::app
