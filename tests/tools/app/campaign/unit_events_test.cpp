#include "tools/app/campaign/replicate/unit_events.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tools/app/campaign/replicate/random_draws.hpp"

using namespace lockstep;
using namespace lockstep::app;

namespace {

/// Events up to `end` that strike one of the first `units`.
std::vector<UnitEvent> events_of(const std::vector<UnitProcess>& processes, LongTime end,
                                 std::int64_t units, std::uint64_t replicate) {
  std::vector<UnitEvent> out;
  for (UnitEvents events{processes, replicate}; events.next().at <= end; events.pop())
    if (events.next().unit < units) out.push_back(events.next());
  return out;
}

}  // namespace

TEST_CASE("unit events: portable_log is that of the C library, to the rounding") {
  for (const double x : {1e-300, 1e-16, 0.1, 0.5, 0.70710678, 0.99999, 1.0, 1.5, 10.0, 1e300})
    CHECK(portable_log(x) == doctest::Approx(std::log(x)).epsilon(1e-14));
}

// A Poisson process of n units with a mean of m each has n T / m events in a time T.
TEST_CASE("unit events: their number is that of a Poisson process") {
  const std::vector<UnitProcess> process{{draw_key(1, "GPU"), 1000, LongTime::seconds(1e6)}};
  double sum = 0;
  constexpr int kReplicates = 2000;
  for (int i = 0; i < kReplicates; ++i)
    sum += static_cast<double>(
        events_of(process, LongTime::seconds(2e4), 1000, static_cast<std::uint64_t>(i)).size());
  constexpr double kMean = 1000 * 2e4 / 1e6;
  CHECK(std::abs(sum / kReplicates - kMean) < 3 * std::sqrt(kMean / kReplicates));
}

TEST_CASE("unit events: clusters of different sizes share the events of their common units") {
  const auto process = [](std::int64_t units) {
    return std::vector<UnitProcess>{{draw_key(7, "node"), units, LongTime::seconds(5e5)},
                                    {draw_key(7, "NIC"), units, LongTime::seconds(9e5)}};
  };
  for (const std::int64_t units : {1, 2, 3, 5, 8, 33, 100}) {
    CAPTURE(units);
    const auto few = events_of(process(units), LongTime::seconds(1e5), units, 3);
    const auto many = events_of(process(1000), LongTime::seconds(1e5), units, 3);
    REQUIRE(few.size() == many.size());
    for (std::size_t i = 0; i < few.size(); ++i) {
      CHECK(few[i].at == many[i].at);
      CHECK(few[i].unit == many[i].unit);
    }
  }
}

// The maximum of n uniform draws has the mean n/(n+1) and the variance n/((n+1)^2 (n+2)).
TEST_CASE("unit events: the largest of n uniform draws, nested in n") {
  constexpr std::uint64_t kReplicates = 4000;
  for (const std::int64_t n : {1, 2, 3, 16, 1000, 1'000'000}) {
    CAPTURE(n);
    double sum = 0;
    for (std::uint64_t i = 0; i < kReplicates; ++i) {
      const double largest = largest_uniform(5, i, n);
      CHECK(largest <= largest_uniform(5, i, 2 * n));
      sum += largest;
    }
    const auto of = static_cast<double>(n);
    const double deviation = std::sqrt(of / ((of + 1) * (of + 1) * (of + 2)) / kReplicates);
    CHECK(std::abs(sum / kReplicates - of / (of + 1)) < 3 * deviation);
  }
}
