#include "sim/trace/summary_mean.hpp"

#include <doctest/doctest.h>

#include "tests/sim/trace/pipeline_step.hpp"

namespace lockstep {
namespace {

Duration total(const std::vector<PathShare>& path) {
  Duration sum;
  for (const PathShare& share : path) sum += share.length;
  return sum;
}

TEST_CASE("a mean step is the mean of every part, and its parts add up") {
  // Two replicas alike but for the second's first product: 120 or 227 ps.
  const TrainingStepSummary plain = summarise(two_replicas(120));
  const TrainingStepSummary last = summarise(two_replicas(227));
  for (const std::int64_t every : {2, 3, 7, 10}) {
    CAPTURE(every);
    const TrainingStepSummary mean = mean_summary(plain, last, every, last);
    CHECK(mean.step == mean_time(plain.step, last.step, every));
    CHECK(mean.busiest.step == mean.step);
    CHECK(mean.busiest.total() == mean.step);
    CHECK(total(mean.path) == mean.step);
    Duration purposes;
    for (const Duration each : mean.busiest.purpose) purposes += each;
    CHECK(purposes == mean.busiest.computation_total());
    REQUIRE(mean.stages.size() == 1);
    CHECK(mean.stages[0].rank.total() == mean.step);
  }
}

TEST_CASE("places in a timeline are those in the one that is shown, in whichever order means go") {
  const TrainingStepSummary shown = summarise(two_replicas(120));
  TrainingStepSummary other = summarise(two_replicas(227));
  // As of a longer program, other ranks of which are simulated.
  for (PathOperation& each : other.path_operations) each.operation += 1000;
  other.path_legs.clear();
  other.busiest.rank += 7;
  other.stages.at(0).rank.rank += 7;
  const TrainingStepSummary first = mean_summary(shown, other, 3, shown);
  const TrainingStepSummary last = mean_summary(other, shown, 3, shown);
  for (const TrainingStepSummary* mean : {&first, &last}) {
    REQUIRE(mean->path_operations.size() == shown.path_operations.size());
    for (std::size_t i = 0; i < shown.path_operations.size(); ++i)
      CHECK(mean->path_operations[i].operation == shown.path_operations[i].operation);
    CHECK(mean->path_legs.size() == shown.path_legs.size());
    CHECK(mean->busiest.rank == shown.busiest.rank);
    CHECK(mean->stages.at(0).rank.rank == shown.stages.at(0).rank.rank);
  }
}

TEST_CASE("what only one step of several does counts for its share") {
  const TrainingStepSummary last = summarise(two_replicas());
  TrainingStepSummary plain = last;
  plain.groups.clear();
  plain.busiest.exposed.clear();  // its 50 ps are computed instead
  plain.busiest.computation[static_cast<std::size_t>(OperationClass::matmul)] +=
      Duration::picoseconds(50);
  plain.busiest.purpose[static_cast<std::size_t>(Purpose::forward)] += Duration::picoseconds(50);
  const TrainingStepSummary mean = mean_summary(plain, last, 10, last);
  CHECK(mean.busiest.exposed.at("dp").ps() == 5);
  REQUIRE(mean.groups.size() == 1);
  CHECK(mean.groups[0].operations == doctest::Approx(0.1));
  CHECK(mean.groups[0].bytes == Bytes{1});  // 10 bytes, once in ten steps
  CHECK(mean.groups[0].transfer.ps() == 13);
  CHECK(mean.groups[0].exposed.ps() == 5);
}

/// Several classes of operations, each rounded for itself, have one purpose: the sum of the classes
/// may come to less, or to more, than the purpose.
TEST_CASE("means of classes and of purposes add up however they are rounded") {
  const TrainingStepSummary last = summarise(two_replicas());
  const auto forward = static_cast<std::size_t>(Purpose::forward);
  for (std::int64_t more = 0; more < 10; ++more) {
    for (std::size_t classes = 1; classes <= kOperationClasses; ++classes) {
      for (std::int64_t waits = 0; waits < 10; waits += 3) {
        CAPTURE(more);
        CAPTURE(classes);
        TrainingStepSummary plain = last;
        const auto add = [&](Duration& part, std::int64_t ps) {
          part += Duration::picoseconds(ps);
          plain.busiest.step += Duration::picoseconds(ps);
          plain.step += Duration::picoseconds(ps);
          plain.path.front().length += Duration::picoseconds(ps);
        };
        for (std::size_t i = 0; i < classes; ++i) {
          add(plain.busiest.computation[i], more);
          plain.busiest.purpose[forward] += Duration::picoseconds(more);
        }
        add(plain.busiest.waiting, waits);
        const TrainingStepSummary mean = mean_summary(plain, last, 10, last);
        Duration purposes;
        for (const Duration each : mean.busiest.purpose) purposes += each;
        CHECK(purposes == mean.busiest.computation_total());
        CHECK(mean.busiest.total() == mean.step);
        CHECK(total(mean.path) == mean.step);
      }
    }
  }
}

TEST_CASE("the mean of steps goes to the nearest picosecond") {
  const auto ps = [](std::int64_t count) { return Duration::picoseconds(count); };
  CHECK(mean_time(ps(10), ps(10), 3).ps() == 10);
  CHECK(mean_time(ps(10), ps(11), 3).ps() == 10);  // 10.33
  CHECK(mean_time(ps(10), ps(12), 3).ps() == 11);  // 10.67
}

}  // namespace
}  // namespace lockstep
