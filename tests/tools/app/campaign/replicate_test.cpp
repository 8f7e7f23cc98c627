#include "tools/app/campaign/replicate/replicate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tools/app/campaign/campaign.hpp"
#include "tools/app/campaign/intervals.hpp"
#include "tools/app/campaign/replicate/random_draws.hpp"

using namespace lockstep::app;

namespace {

LongTime s(double seconds) {
  return LongTime::seconds(seconds);
}

/// A training of 500,000 s with a save every 1,000 s, without failures.
CampaignJob quiet() {
  CampaignJob job;
  job.work = s(500'000);
  job.give_up = s(5e8);
  job.interval = s(1000);
  job.stall = s(40);
  return job;
}

/// Failures of the job as a whole, every `mtbf_s` on average.
void add_failures(CampaignJob& job, double mtbf_s, const JobCause& cause, std::int64_t units = 1) {
  job.causes.push_back(cause);
  job.failures.push_back({draw_key(11, "cause"), units, s(mtbf_s * static_cast<double>(units))});
}

template <class Of>
Spread over(const CampaignJob& job, std::uint64_t replicates, Of of) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < replicates; ++i) {
    const Replicate each = simulate_replicate(job, i);
    CHECK_FALSE(each.gave_up);
    values.push_back(of(each));
  }
  return spread_of(std::move(values));
}

double wall_s(const Replicate& each) {
  return each.wall().seconds();
}

}  // namespace

// 0, 1, ..., 10: a variance of 11, over 11 values.
TEST_CASE("replicate: quantiles are interpolated, the standard error is that of the mean") {
  const Spread spread = spread_of({10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5});
  CHECK(spread.mean == 5);
  CHECK(spread.standard_error == doctest::Approx(1));
  CHECK(spread.p10 == 1);
  CHECK(spread.p50 == 5);
  CHECK(spread.p90 == 9);
  CHECK(spread_of({1, 2}).p10 == doctest::Approx(1.1));
  CHECK(spread_of({3}).standard_error == 0);
}

TEST_CASE("replicate: without failures, training and saves") {
  const Replicate one = simulate_replicate(quiet(), 0);
  CHECK(one.wall() == s(500'000 + 500 * 40));
  CHECK(one.saves == 500);
  CampaignJob odd = quiet();
  odd.work = s(500'500);  // half an interval more: a save at the end
  CHECK(simulate_replicate(odd, 0).wall() == s(500'500 + 501 * 40));
}

// A save begins when the one before it is durable: cycles of max(interval, write) + stall, and the
// last write is awaited.
TEST_CASE("replicate: asynchronous saves that are slower than the interval stall training") {
  CampaignJob job = quiet();
  job.asynchronous = true;
  job.write = s(300);
  CHECK(simulate_replicate(job, 0).wall() == s(500'000 + 500 * 40 + 300));
  job.write = s(1500);
  CHECK(simulate_replicate(job, 0).wall() == s(1040 + 499 * 1540 + 1500));
}

// Daly 2006, complete solution: N tau / tau * M e^(R/M) (e^((tau + C)/M) - 1), exponential failures
// also in saves and restarts.
TEST_CASE("replicate: the mean wall time is Daly's closed form, within 3 standard errors") {
  struct Case {
    double mtbf;
    double restart;
  };
  for (const Case each : {Case{20'000, 600}, Case{5000, 1200}, Case{2000, 300}, Case{1500, 2000}}) {
    CAPTURE(each.mtbf);
    CampaignJob job = quiet();
    add_failures(job, each.mtbf, {s(each.restart / 4), s(each.restart * 3 / 4)});
    const Spread wall = over(job, 2000, wall_s);
    const double expected = 500'000 * exponential_time(1000, {each.mtbf, 40, each.restart});
    CHECK(std::abs(wall.mean - expected) < 3 * wall.standard_error);
  }
}

// The same with the rate spread over 1,000 units, and with a quarter of the restart as repair.
TEST_CASE("replicate: only the rate of the job matters, and repairs count as restart") {
  CampaignJob job = quiet();
  job.ranks = 1000;
  add_failures(job, 5000, {s(100), s(800), s(300), FailurePolicy::rollback, true, 1, 1}, 1000);
  const Spread wall = over(job, 2000, wall_s);
  const double expected = 500'000 * exponential_time(1000, {5000, 40, 1200});
  CHECK(std::abs(wall.mean - expected) < 3 * wall.standard_error);
}

// Work lost per failure that finds training or saving: the mean of tau + C given that a failure is
// in it, M - (tau + C) / (e^((tau + C)/M) - 1), of which a failure in the save loses tau alone.
// With C = 0 and without restarts: lost time = failures * that.
TEST_CASE("replicate: the work lost per failure is that of a truncated exponential") {
  CampaignJob job = quiet();
  job.stall = {};
  add_failures(job, 4000, {{}, {}});
  double lost = 0;
  double failures = 0;
  const Spread each_lost = over(job, 2000, [&](const Replicate& each) {
    lost += each.times[TimeBucket::wasted_progress].seconds();
    failures += static_cast<double>(each.failures[0]);
    return each.times[TimeBucket::wasted_progress].seconds();
  });
  const double expected = 4000 - 1000 / std::expm1(1000.0 / 4000);
  const double error = each_lost.standard_error / each_lost.mean;
  CHECK(std::abs(lost / failures / expected - 1) < 3 * error);
}

// With enough spare nodes a failure costs the swap instead of the repair.
TEST_CASE("replicate: spare nodes replace failed ones until they are used up") {
  CampaignJob job = quiet();
  job.ranks = 64;
  job.spare_swap = s(60);
  add_failures(job, 10'000, {s(30), s(210), s(20'000), FailurePolicy::hot_spare, true, 1, 8}, 8);
  job.spare_nodes = 50;
  const Spread many = over(job, 1000, wall_s);
  const double expected = 500'000 * exponential_time(1000, {10'000, 40, 300});
  CHECK(std::abs(many.mean - expected) < 3 * many.standard_error);
  job.spare_nodes = 2;
  const Spread few = over(job, 200, wall_s);
  job.spare_nodes = 0;
  const Spread none = over(job, 200, wall_s);
  CHECK(many.mean < few.mean);
  CHECK(few.mean < none.mean);
}

// 16 replicas of one node: one that is missing makes the others work 16/15 of the time; no work is
// repeated.
TEST_CASE("replicate: ragged continue loses pace instead of progress") {
  CampaignJob job = quiet();
  job.ranks = 128;
  job.replicas = 16;
  job.ranks_per_replica_block = 8;
  job.load = s(5);
  add_failures(job, 20'000, {s(30), s(60), s(4000), FailurePolicy::ragged_continue, true, 1, 8},
               16);
  const Spread ragged = over(job, 200, [](const Replicate& each) {
    CHECK(each.times[TimeBucket::wasted_progress] == LongTime{});
    CHECK(each.replicas_left == each.failures[0]);
    CHECK(each.times[TimeBucket::other] > LongTime{});
    return each.wall().seconds();
  });
  // A replica is missing for 4,030 s or 4,090 s; of that all but the pause runs at 15/16.
  const double each_failure = 90 + 5 + (4090 - 90) / 16.0;
  const double failures = ragged.mean / 20'000;
  CHECK(ragged.mean == doctest::Approx(520'000 + failures * each_failure).epsilon(0.003));
  // Failures in restarts of the whole job make replicas leave, too: the job waits for no repair.
  job.causes.push_back({s(30), s(600), std::nullopt, FailurePolicy::rollback, false});
  job.failures.push_back({draw_key(11, "software"), 1, s(20'000)});
  const Spread recovery = over(job, 200, [](const Replicate& each) {
    CHECK(each.replicas_left == each.failures[0]);
    const double at_most = static_cast<double>(each.failures[0]) * (90 + 690) +
                           static_cast<double>(each.failures[1]) * 690;
    CHECK(each.times[TimeBucket::infrastructure_recovery].seconds() <= at_most);
    return wall_s(each);
  });
  CHECK(recovery.mean > ragged.mean);
  for (JobCause& cause : job.causes) cause.policy = FailurePolicy::rollback;
  CHECK(over(job, 200, wall_s).mean > ragged.mean);
}

TEST_CASE("replicate: slow GPUs and stalls of data loading stretch all steps") {
  CampaignJob job = quiet();
  job.ranks = 16;
  job.slow_classes = {{0, SlowdownSteps{1} << 31U}};  // all GPUs: half as long again
  job.data_stall = SlowdownSteps{1} << 30U;           // a quarter
  const Replicate one = simulate_replicate(job, 0);
  CHECK(one.times[TimeBucket::other] == s(250'000));
  CHECK(one.times[TimeBucket::data_loading_async] == s(125'000));
  CHECK(one.wall() == s(895'000));
  // A GPU in 1,000 is slow: 16 GPUs have one with probability 1 - 0.999^16.
  job.slow_classes = {{0.999, SlowdownSteps{1} << 31U}};
  job.data_stall = 0;
  const Spread slow = over(job, 4000, [](const Replicate& each) {
    return each.times[TimeBucket::other] > LongTime{} ? 1.0 : 0.0;
  });
  CHECK(std::abs(slow.mean - (1 - std::pow(0.999, 16))) < 3 * slow.standard_error);
}

// At least one of Poisson(rho) slowdowns is active with probability 1 - e^-rho, rho = rate *
// duration; from an empty start the mean over a horizon H is ((H - d)(1 - e^-rho) + d - (1 -
// e^-rho)/rate) / H (M/G/infinity queue, Takacs 1962).
TEST_CASE("replicate: transient slowdowns overlap as in an M/G/infinity queue") {
  CampaignJob job = quiet();
  job.work = LongTime::never();
  job.horizon = s(100'000);
  job.stall = {};
  job.ranks = 10;
  job.transients = {{s(2000), SlowdownSteps{1} << 32U}};  // twice as long
  job.slowdowns = {{draw_key(3, "heat"), 10, s(40'000)}};
  const Spread slow = over(job, 2000, [](const Replicate& each) {
    return 2 * each.times[TimeBucket::other].seconds() / 100'000;
  });
  const double rate = 10 / 40'000.0;
  const double busy = 1 - std::exp(-rate * 2000);
  const double expected = ((100'000 - 2000) * busy + 2000 - busy / rate) / 100'000;
  CHECK(std::abs(slow.mean - expected) < 3 * slow.standard_error);
}

TEST_CASE("replicate: planned maintenance saves first and loses nothing") {
  CampaignJob job = quiet();
  job.startup.program_startup = s(100);
  job.load = s(20);
  job.maintenance = {{"updates", s(100'500), s(3600)}};
  const Replicate one = simulate_replicate(job, 0);
  CHECK(one.maintenances == 5);
  CHECK(one.times[TimeBucket::wasted_progress] == LongTime{});
  CHECK(one.times[TimeBucket::custom] == s(5 * 3600));
  CHECK(one.times[TimeBucket::program_startup] == s(6 * 100));  // with the first start
  CHECK(one.times[TimeBucket::checkpoint_restore] == s(5 * 20));
}

TEST_CASE("replicate: times sum to the wall time, with everything at once") {
  CampaignJob job = quiet();
  job.asynchronous = true;
  job.write = s(123.456789);
  job.ranks = 64;
  job.replicas = 8;
  job.ranks_per_replica_block = 8;
  job.data_stall = 12'345'678;
  job.transients = {{s(333.333333), 999'999'999}};
  job.slowdowns = {{draw_key(3, "heat"), 64, s(400'000)}};
  job.maintenance = {{"updates", s(77'777), s(3600)}};
  job.startup = {s(1), s(2), s(3), s(4)};
  job.spare_nodes = 1;
  job.spare_swap = s(60);
  int number = 0;
  for (const FailurePolicy policy :
       {FailurePolicy::rollback, FailurePolicy::hot_spare, FailurePolicy::ragged_continue}) {
    job.causes.push_back({s(30), s(60), s(5000), policy, true, 1, 8});
    job.failures.push_back({draw_key(9, std::to_string(++number)), 8, s(100'000)});
  }
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Replicate each = simulate_replicate(job, i);
    CHECK(each.times[TimeBucket::productive] == job.work);
    CHECK(each.executed == job.work + each.times[TimeBucket::wasted_progress]);
    CHECK(each.times.total() == each.wall());
  }
}
