#include "tools/lockstep/terminal/time_left.hpp"

#include <doctest/doctest.h>

namespace lockstep::cli {

namespace {

/// A report every tenth of a second up to `seconds`.
template <class Share>
TimeLeft after(double seconds, Share&& share) {
  TimeLeft out;
  out.begin(0, share(0.0));
  for (int i = 1; i <= static_cast<int>(10 * seconds); ++i) out.add(0.1 * i, share(0.1 * i));
  return out;
}

}  // namespace

TEST_CASE("the time left of an even phase is in proportion, once a twentieth is done") {
  const auto even = [](double t) { return t / 600; };                // ten minutes
  CHECK_FALSE(after(1, [](double t) { return t / 10; }).seconds());  // too short to say
  CHECK_FALSE(after(29, even).seconds());
  CHECK(after(31, even).seconds().value() == doctest::Approx(569));
  CHECK(after(300, even).seconds().value() == doctest::Approx(300));  // of 3,000 reports, some
}

TEST_CASE("a phase that hardly moves is estimated after a minute") {
  const auto slow = [](double t) { return t / 36'000; };  // ten hours
  CHECK_FALSE(after(59, slow).seconds());
  CHECK(after(61, slow).seconds().value() == doctest::Approx(36'000 - 61));
  CHECK_FALSE(after(61, [](double) { return 0.5; }).seconds());  // stands still
}

/// As a straggler's step: nothing for 2 s, in which all collectives are simulated for the first
/// time, then an eighth per second. In proportion to all so far, 2.5 s would make it 40 s.
TEST_CASE("a slow beginning does not count for the rest") {
  const auto late = [](double t) { return t < 2 ? t / 2000 : 0.001 + (t - 2) / 8; };
  CHECK_FALSE(after(2, late).seconds());
  for (const double t : {3.0, 4.0, 6.0}) CHECK(after(t, late).seconds().value() < 3 * (8 + 2 - t));
}

TEST_CASE("another phase begins from its own share") {
  TimeLeft left = after(100, [](double t) { return t / 100; });
  left.begin(100, 0.5);
  CHECK_FALSE(left.seconds());
  left.add(110, 0.75);
  CHECK(left.seconds().value() == doctest::Approx(10));
}

}  // namespace lockstep::cli
