#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/jobs/run_jobs.hpp"

/// Several training jobs on one cluster.
namespace lockstep::app {

namespace {

TrainingStepRequest job_of(const std::string& name, std::vector<std::string> overrides = {}) {
  TrainingStepRequest out;
  out.file = scenario_file(name);
  out.overrides = std::move(overrides);
  out.step_only = true;
  return out;
}

Cluster dgx(int nodes) {
  ClusterRequest request;
  request.cluster = "dgx-a100";
  request.nodes = nodes;
  return request.load().cluster;
}

std::vector<std::vector<EndpointId>> placed(PlacementPolicy policy, const std::vector<int>& sizes,
                                            int nodes, std::uint64_t seed = 1) {
  return place_jobs({policy, seed, {}}, sizes, dgx(nodes));
}

/// Two GPUs whose step is nothing but the all-reduce of gradients: kernels take no time. Leaves of
/// two hosts have one uplink, as fast as the cable of one host.
TrainingStepRequest exchange() {
  TrainingStepRequest out = job_of(
      "mlp-two-gpus",
      {R"(cluster={"file": "fat-tree-2to1", "ranks": 2, "gpu": "a100-sxm4-80gb", "topology": {"radix": 4, "hosts_per_leaf": 2}})",
       "parallel.tp=1", "parallel.dp=2", "parallel.global_batch=4096"});
  out.factors.rates.fill(1e6);
  return out;
}

JobsResult together(const TrainingStepRequest& a, const TrainingStepRequest& b,
                    const PlacementRequest& placement, int steps = 0) {
  return run_jobs({.jobs = {a, b}, .placement = placement, .steps = steps});
}

}  // namespace

// The oracle is the step of `run`, which folds equal ranks.
TEST_CASE(
    "a job alone takes what its step takes, and others on links of their own change nothing") {
  for (const char* name :
       {"pipeline-1f1b", "pipeline-zb", "zero-7b5-3", "sequence-2d", "llama7b-256"}) {
    CAPTURE(name);
    const TrainingStepRequest job = job_of(name);
    const Duration step = run_step(job).throughput.step;
    const JobsResult result = together(job, job_of("pipeline-1f1b"), {});
    CHECK(result.jobs.front().alone == step);
    CHECK(result.shared.empty());
    for (const JobResult& each : result.jobs) {
      CHECK(each.together == each.alone);
      CHECK(std::ranges::all_of(each.each, [&](Duration of) { return of == each.alone; }));
    }
  }
}

// Max-min fair shares of one uplink: half of it for each of two flows, all of it for one. So a step
// alone lacks half of the time in which the uplink is busy; what no link takes is the same.
TEST_CASE("two jobs that communicate at the same time get half of an uplink each") {
  const JobsResult crossed =
      together(exchange(), exchange(), {PlacementPolicy::listed, 1, {{0, 2}, {1, 3}}}, 3);
  REQUIRE(!crossed.shared.empty());
  const double busy = crossed.shared.front().busiest;
  CHECK(busy > 0.9);
  for (const JobResult& each : crossed.jobs)
    CHECK(each.alone.seconds() ==
          doctest::Approx(each.together.seconds() * (1 - busy / 2)).epsilon(1e-3));
  const JobsResult apart = together(exchange(), exchange(), {PlacementPolicy::packed, 1, {}}, 3);
  for (const JobResult& each : apart.jobs) CHECK(each.slowdown() == 0);
  CHECK(apart.shared.empty());
}

TEST_CASE("short jobs run as long as the longest") {
  const JobsResult result = together(job_of("pipeline-1f1b"),
                                     job_of("pipeline-1f1b", {"parallel.global_batch=64"}), {}, 2);
  const JobResult& first = result.jobs.front();
  const JobResult& second = result.jobs.back();
  CHECK(second.steps == 2);
  CHECK(first.steps * first.alone.seconds() >= second.steps * second.alone.seconds());
  CHECK((first.steps - 2) * first.alone.seconds() < second.steps * second.alone.seconds());
}

TEST_CASE("packed jobs follow each other, spread ones get nodes in turn") {
  CHECK(placed(PlacementPolicy::packed, {8, 16}, 3) ==
        std::vector<std::vector<EndpointId>>{
            {0, 1, 2, 3, 4, 5, 6, 7},
            {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}});
  const auto spread = placed(PlacementPolicy::spread, {16, 16}, 4);
  CHECK(spread[0].front() == 0);
  CHECK(spread[1].front() == 8);
  CHECK(spread[0].back() == 23);
  CHECK(spread[1].back() == 31);
  // Less than a node: of what is left.
  CHECK(placed(PlacementPolicy::spread, {2, 8, 2}, 2) ==
        std::vector<std::vector<EndpointId>>{{8, 10}, {0, 1, 2, 3, 4, 5, 6, 7}, {9, 11}});
}

TEST_CASE("random placement has every GPU once, whole nodes, and one order per seed") {
  const std::vector<int> sizes{16, 24, 4};
  std::set<std::vector<std::vector<EndpointId>>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto now = placed(PlacementPolicy::random, sizes, 6, seed);
    CHECK(now == placed(PlacementPolicy::random, sizes, 6, seed));
    orders.insert(now);
    std::set<EndpointId> all;
    for (std::size_t job = 0; job < sizes.size(); ++job) {
      CHECK(now[job].size() == static_cast<std::size_t>(sizes[job]));
      all.insert(now[job].begin(), now[job].end());
      if (sizes[job] % 8 == 0)
        for (std::size_t i = 0; i < now[job].size(); i += 8) {
          CHECK(now[job][i] % 8 == 0);
          CHECK(now[job][i + 7] == now[job][i] + 7);
        }
    }
    CHECK(all.size() == 44);
  }
  CHECK(orders.size() > 15);
}

TEST_CASE("placements that cannot be are refused with what is wrong") {
  const Cluster cluster = dgx(1);
  const auto says = [&](const PlacementRequest& request, const std::vector<int>& sizes,
                        const std::string& text) {
    CHECK_THROWS_WITH_AS((void)place_jobs(request, sizes, cluster), text.c_str(), RequestError);
  };
  says({}, {8, 4}, "gpus: the jobs have 12 ranks, the cluster 8 GPUs");
  says({PlacementPolicy::listed, 1, {{0, 1}}}, {2, 2}, "place: 1 lists of GPUs for 2 jobs");
  says({PlacementPolicy::listed, 1, {{0, 1}, {2}}}, {2, 2},
       "place: 1 GPUs for the 2 ranks of job 2");
  says({PlacementPolicy::listed, 1, {{0, 1}, {1, 2}}}, {2, 2}, "place: GPU 1 is given twice");
  says({PlacementPolicy::listed, 1, {{0, 1}, {2, 8}}}, {2, 2},
       "place: no GPU 8: the cluster has GPUs 0 to 7");
  CHECK_THROWS_AS((void)together(job_of("pipeline-1f1b"), job_of("parameter-server"), {}),
                  RequestError);
}

}  // namespace lockstep::app
