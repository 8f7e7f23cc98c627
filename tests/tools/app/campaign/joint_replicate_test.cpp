#include "tools/app/campaign/replicate/joint_replicate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tools/app/campaign/campaign.hpp"
#include "tools/app/campaign/replicate/random_draws.hpp"

using namespace lockstep::app;

namespace {

LongTime s(double seconds) {
  return LongTime::seconds(seconds);
}

/// One GPU of a cluster of `gpus`, with saves that take no time.
CampaignJob job_on(std::int64_t gpu, std::int64_t gpus, double work_s) {
  CampaignJob job;
  job.work = s(work_s);
  job.give_up = s(1e8);
  job.interval = s(100);
  job.rank_of_gpu.assign(static_cast<std::size_t>(gpus), -1);
  job.rank_of_gpu[static_cast<std::size_t>(gpu)] = 0;
  return job;
}

/// A cause with one unit for each entry: whether it stops the job, and its nodes.
void add_cause(CampaignJob& job, const char* name, double mtbf_s, const JobCause& cause,
               const std::vector<UnitUse>& units) {
  job.causes.push_back(cause);
  job.failures.push_back({draw_key(7, name), static_cast<std::int64_t>(units.size()), s(mtbf_s)});
  job.unit_uses.push_back(units);
}

/// Both of two jobs are slower by these fractions while the other trains.
TrafficSlowdowns slower_by(double a, double b) {
  return {{{0, 0}, {0, 0}, {0, 0}, {slowdown_steps(a), slowdown_steps(b)}}};
}

bool is_near(LongTime a, LongTime b) {
  return std::abs(a.us() - b.us()) <= 2000;  // pieces of a millisecond
}

}  // namespace

// Both at half the speed until B's 500 s of work are done at 1,000 s; A has 500 s of its 1,000 s
// left, which it does alone until 1,500 s. Its 500 s next to B took 500 s longer.
TEST_CASE("joint campaigns: a job is slower while the other trains, and not after it") {
  const JointReplicate both =
      simulate_joint_replicate({job_on(0, 2, 1000), job_on(1, 2, 500)}, slower_by(1, 1), 0);
  CHECK(is_near(both.jobs[0].wall(), s(1500)));
  CHECK(is_near(both.jobs[1].wall(), s(1000)));
  CHECK(is_near(both.jobs[0].times[TimeBucket::other], s(500)));
  CHECK(both.jobs[0].times[TimeBucket::productive] == s(1000));
  CHECK(both.shared_stops == 0);
}

// A's step doubles next to B, B's is not slower next to A. B pauses for 200 s at 300, 600, 900
// s...; A has no maintenance and is at full speed in B's pauses.
TEST_CASE("joint campaigns: a job is at full speed while the other stands still") {
  CampaignJob b = job_on(1, 2, 1e6);
  b.horizon = s(5000);
  b.maintenance = {{"pause", s(300), s(200)}};
  const JointReplicate both = simulate_joint_replicate({job_on(0, 2, 500), b}, slower_by(1, 0), 0);
  // 300 s at half speed: 150. 200 s at full speed: 350. 100 s at half speed: 400. The last 100 s
  // of work from 600 s on, in the second pause.
  CHECK(is_near(both.jobs[0].wall(), s(700)));
}

// B is an alternating renewal process: up for M on average, then down until R passes without a
// failure, (exp(R/M) - 1) M on average; so it is up for the fraction exp(-R/M) of the time, and the
// mean speed of A is 1 - exp(-R/M) s/(1+s).
TEST_CASE("joint campaigns: the pace next to a job that fails is that of renewal theory") {
  constexpr double kMtbf = 5000;
  constexpr double kRestart = 2000;
  constexpr double kWork = 1e6;
  CampaignJob a = job_on(0, 2, kWork);
  CampaignJob b = job_on(1, 2, 1e9);
  b.horizon = s(1e7);
  add_cause(a, "failure", kMtbf, {{}, s(kRestart)}, {{1, false}});
  add_cause(b, "failure", kMtbf, {{}, s(kRestart)}, {{1, true}});
  std::vector<double> walls;
  for (std::uint64_t i = 0; i < 200; ++i)
    walls.push_back(
        simulate_joint_replicate({a, b}, slower_by(0.5, 0), i).jobs[0].wall().seconds());
  const Spread spread = spread_of(walls);
  const double speed = 1 - std::exp(-kRestart / kMtbf) * 0.5 / 1.5;
  // The bias of a finite training is at most one cycle: 7,000 s of slowdown s/(1+s).
  CHECK(std::abs(spread.mean - kWork / speed) < 3 * spread.standard_error + 7000 * 0.5 / 1.5);
  CHECK(spread.standard_error < 0.005 * kWork);
}

// Without traffic and common hardware the others do not matter.
TEST_CASE("joint campaigns: jobs that share nothing are those of campaigns of their own") {
  std::vector<CampaignJob> jobs;
  for (std::int64_t i = 0; i < 3; ++i) {
    CampaignJob job = job_on(i, 3, 40'000 + 7000 * static_cast<double>(i));
    job.stall = s(2);
    job.load = s(30);
    std::vector<UnitUse> units(3, {1, false});
    units[static_cast<std::size_t>(i)].mine = true;
    add_cause(job, "gpu", 6000, {s(20), s(200)}, units);
    job.maintenance = {{"pause", s(9000), s(700)}};
    jobs.push_back(job);
  }
  TrafficSlowdowns none;
  none.by_set.assign(8, std::vector<SlowdownSteps>(3));
  for (std::uint64_t i = 0; i < 20; ++i) {
    const JointReplicate all = simulate_joint_replicate(jobs, none, i);
    for (std::size_t job = 0; job < 3; ++job) {
      const Replicate alone = simulate_replicate(jobs[job], i);
      CHECK(all.jobs[job].wall() == alone.wall());
      CHECK(all.jobs[job].failures == alone.failures);
      CHECK(all.jobs[job].saves == alone.saves);
    }
    CHECK(all.shared_stops == 0);
  }
}

// Unit 0 is a switch of both, units 1 and 2 are of one job each: 2 of 3 failures stop a job, a
// third of all stops both.
TEST_CASE("joint campaigns: failures of a common switch stop both jobs") {
  CampaignJob a = job_on(0, 2, 1e9);
  CampaignJob b = job_on(1, 2, 1e9);
  a.horizon = b.horizon = s(2e6);
  add_cause(a, "switch", 3e4, {}, {{2, true}, {1, true}, {1, false}});
  add_cause(b, "switch", 3e4, {}, {{2, true}, {1, false}, {1, true}});
  for (std::uint64_t i = 0; i < 10; ++i) {
    const JointReplicate both = simulate_joint_replicate({a, b}, slower_by(0, 0), i);
    EventTrace trace{a.failures, i};
    std::int64_t of[3] = {};
    for (std::size_t k = 0; trace.at(k).at < s(2e6); ++k) ++of[trace.at(k).unit];
    CHECK(both.shared_stops == of[0]);
    CHECK(both.jobs[0].failures[0] == of[0] + of[1]);
    CHECK(both.jobs[1].failures[0] == of[0] + of[2]);
  }
}

// A switch with two nodes, one of each job: two spare nodes replace them at once, with one both
// jobs wait for the repair.
TEST_CASE("joint campaigns: a failure takes its spare nodes once, whatever the number of jobs") {
  const auto waits = [](std::int64_t spares) {
    CampaignJob a = job_on(0, 2, 1e9);
    CampaignJob b = job_on(1, 2, 1e9);
    JobCause cause{{}, {}, s(1e5), FailurePolicy::hot_spare};
    cause.nodes = 2;
    for (CampaignJob* each : {&a, &b}) {
      each->horizon = s(4e5);
      each->spare_nodes = spares;
      add_cause(*each, "switch", 1e6, cause, {{2, true}});
    }
    std::int64_t out = 0;
    std::int64_t stops = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const JointReplicate both = simulate_joint_replicate({a, b}, slower_by(0, 0), i);
      if (both.shared_stops != 1) continue;  // repaired before another one
      ++stops;
      out += both.jobs[0].waits_for_repair + both.jobs[1].waits_for_repair;
    }
    REQUIRE(stops > 3);
    return static_cast<double>(out) / static_cast<double>(stops);
  };
  CHECK(waits(2) == 0);
  CHECK(waits(1) == 2);
}
