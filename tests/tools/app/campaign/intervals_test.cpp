#include "tools/app/campaign/intervals.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tools/app/campaign/interval_search.hpp"
#include "tools/app/campaign/replicate/random_draws.hpp"

using namespace lockstep::app;

namespace {

constexpr double kMtbf = 3.093 * 3600;  // of Llama 3's 16,384 GPUs: 54 d / 419

}  // namespace

// sqrt(2 * 5 * 11134.8) = 333.7, and so on.
TEST_CASE("intervals: Young's and Daly's") {
  CHECK(young_interval({kMtbf, 5, 0}) == doctest::Approx(334).epsilon(0.002));
  CHECK(young_interval({kMtbf, 30, 0}) == doctest::Approx(817).epsilon(0.002));
  CHECK(young_interval({kMtbf, 60, 0}) == doctest::Approx(1156).epsilon(0.002));
  CHECK(young_interval({kMtbf, 300, 0}) == doctest::Approx(2585).epsilon(0.002));
  CHECK(daly_interval({kMtbf, 30, 600}) ==
        doctest::Approx(std::sqrt(2 * 30 * (kMtbf + 600))).epsilon(1e-12));
}

// The period of arXiv 2410.18124: Tc = Ts + sqrt(2 (Tf + Tr) Ts + Ts^2); less the save, Tc - Ts.
TEST_CASE("intervals: the availability optimum grows with the time to restart") {
  const double period = 30 + std::sqrt(2 * (kMtbf + 600) * 30 + 30.0 * 30);
  CHECK(availability_interval({kMtbf, 30, 600}) + 30 == doctest::Approx(period).epsilon(1e-12));
}

// Lambert's W: x = tau/M solves (1 - x) e^(x + C/M) = 1, from the derivative of Daly's formula.
TEST_CASE("intervals: the exact exponential optimum is the minimum of Daly's complete formula") {
  for (const double save : {0.001, 1.0, 30.0, 3000.0, 1e5}) {
    CAPTURE(save);
    const IntervalInputs in{kMtbf, save, 600};
    const double best = exponential_interval(in);
    const double x = best / kMtbf;
    CHECK((1 - x) * std::exp(x + save / kMtbf) == doctest::Approx(1).epsilon(1e-9));
    CHECK(exponential_time(best, in) < exponential_time(best * 1.01, in));
    CHECK(exponential_time(best, in) < exponential_time(best / 1.01, in));
  }
  // Young's is its limit for short saves.
  CHECK(exponential_interval({kMtbf, 0.1, 0}) ==
        doctest::Approx(young_interval({kMtbf, 0.1, 0})).epsilon(0.002));
}

TEST_CASE("intervals: the simulated optimum is as good as the exact one") {
  IntervalSearchRequest request;
  CampaignJob& job = request.job;
  job.work = LongTime::seconds(40 * 86400);
  job.give_up = LongTime::seconds(4000 * 86400.0);
  job.stall = LongTime::seconds(60);
  job.causes = {{{}, LongTime::seconds(300)}};
  job.failures = {{draw_key(1, "any"), 1, LongTime::seconds(kMtbf)}};
  request.inputs = {kMtbf, 60, 300};
  request.step_s = 10;
  request.most_steps = 345'600;
  request.replicates = 200;
  const IntervalSearch found = search_interval(request);
  const double exact = exponential_interval(request.inputs);
  const double from = static_cast<double>(found.flat_from) * 10;
  const double to = static_cast<double>(found.flat_to) * 10;
  CHECK(from < exact);
  CHECK(exact < to);
  // goodput = 1 / exponential_time, here 1/1.138; its standard error over 200 campaigns of 310
  // failures is about 0.0005.
  CHECK(found.points[found.best].goodput ==
        doctest::Approx(1 / exponential_time(exact, request.inputs)).epsilon(0.002));
}
