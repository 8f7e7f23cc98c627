#include "tools/app/work_estimate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <thread>
#include <vector>

#include "tools/app/progress.hpp"

namespace lockstep::app {

TEST_CASE("the share of a job is not known before every kind of part was timed") {
  WorkEstimate job({{0}, {1}, {0}, {1}});
  job.took(0, 1);
  CHECK(job.share() == 0);
  job.took(1, 3);
  // 4 s of 1 + 3 + 1 + 3.
  CHECK(job.share() == doctest::Approx(0.5));
  job.took(2, 1);
  job.took(3, 3);
  CHECK(job.share() == 1);
}

TEST_CASE("larger parts are estimated by the growth of the smaller ones") {
  // 1 s at 8, 4 s at 16: quadratic, so 16 s at 32 and 64 s at 64.
  WorkEstimate job({{0, 8}, {0, 16}, {0, 32}, {0, 64}});
  job.took(0, 1);
  job.took(1, 4);
  CHECK(job.share() == doctest::Approx(5.0 / 85));
}

TEST_CASE("a part in work counts by what it has done, before any of its kind has ended") {
  WorkEstimate job({{0}, {1}});
  job.took(0, 6);
  // A fifth in 2 s leaves 8 s: 6 + 2 of 16.
  job.during(1, 2, 8);
  CHECK(job.share() == doctest::Approx(0.5));
  job.took(1, 10);
  CHECK(job.share() == 1);
}

TEST_CASE("parts that nobody knew of change the share, not what was done") {
  WorkEstimate job({{0}, {0}, {0}, {0}});
  job.took(0, 2);
  job.took(1, 2);
  CHECK(job.share() == doctest::Approx(0.5));
  job.set_rest(2, {{0}, {0}, {0}, {0}, {0}, {0}});
  CHECK(job.share() == doctest::Approx(0.25));
  job.set_rest(2, {});
  CHECK(job.share() == 1);
}

TEST_CASE("the first of a spread order are spread over all, and each is there once") {
  std::vector<std::size_t> order = spread_order(100);
  std::vector<std::size_t> first(order.begin(), order.begin() + 4);
  std::sort(first.begin(), first.end());
  CHECK(first.front() < 25);
  CHECK(first.back() >= 50);
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  CHECK(order == all);
}

TEST_CASE("a counter reports every part it does") {
  std::vector<WorkProgress> seen;
  ProgressCounter counter([&seen](const WorkProgress& now) { seen.push_back(now); },
                          std::vector<WorkPart>{{0}, {0}});
  counter.run(0, [] {});
  counter.set_rest(1, {{0}, {0}});
  counter.run(1, [] {});
  counter.run(2, [] {});
  REQUIRE(seen.size() == 5);
  CHECK(seen.front().done == 0);
  CHECK(seen.front().total == 2);
  CHECK(seen[2].total == 3);
  CHECK(seen.back().done == 3);
  CHECK(seen.back().share == 1);
}

TEST_CASE("what a part does before its first report says nothing of the rest") {
  // 0.3 s of choosing, then 20 reports. When some twentieths are counted, more than these of the
  // time is over: the choice has a share of its own, and does not stretch what is left.
  double counted = 0;
  std::vector<double> beyond;
  ProgressCounter progress(
      [&](const WorkProgress& now) {
        if (now.share > 0 && now.done == 0) beyond.push_back(now.share - counted);
      },
      std::vector<WorkPart>{{0}});
  progress.run(0, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    for (int i = 1; i <= 20; ++i) {
      counted = i / 20.0;
      progress.during(0, counted, "auto");
      std::this_thread::sleep_for(std::chrono::milliseconds{15});
    }
  });
  REQUIRE(!beyond.empty());
  CHECK(beyond.front() > 0.05);
}

}  // namespace lockstep::app
