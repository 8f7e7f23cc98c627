#include "sim/program/operation_times.hpp"

#include <doctest/doctest.h>

#include "tests/sim/trace/pipeline_step.hpp"

namespace lockstep::test {

namespace {

TimePoint at(std::int64_t ps) {
  return TimePoint{Duration::picoseconds(ps)};
}

/// Of two_stages(), launched at the start of the step.
struct Stages {
  TrainingStepTimeline step = two_stages();
  std::vector<HostLaunch> launches = std::vector<HostLaunch>(4);

  [[nodiscard]] OperationTimes from_ends(std::size_t rank) const {
    const auto ends = step.ranks[rank].operations.ends();
    return {{ends.begin(), ends.end()},
            std::make_shared<OperationWaits>(step.roles[rank], launches)};
  }
};

}  // namespace

TEST_CASE("starts and reasons that follow from the ends are those of the timeline by hand") {
  const Stages stages;
  for (const std::size_t rank : {0, 1})
    CHECK(stages.from_ends(rank) == stages.step.ranks[rank].operations);
}

TEST_CASE("an operation starts with its launch where that comes last") {
  Stages stages;
  stages.launches[kF0].at = at(20);
  stages.launches[kSend0].at = at(100);        // not later than what it waits for
  stages.launches[kB0] = {at(40), kReceive0};  // 40 ps after 460
  const OperationTimes times = stages.from_ends(0);
  CHECK(times.start_of(kF0) == at(20));
  CHECK(times.bound_by(kF0) == OperationWaits::kHost);
  CHECK(times.bound_by(kSend0) == kF0);
  CHECK(times[kB0] == Interval{at(500), at(660)});
  CHECK(times.bound_by(kB0) == OperationWaits::kHost);
}

TEST_CASE("of several that end together the first of the list is the reason") {
  Stages stages;
  OperationTimes& given = stages.step.ranks[1].operations;
  given.set(kReceive1, interval(0, 430));  // before the send in its stream; B ends at 430 too
  const OperationTimes times = stages.from_ends(1);
  CHECK(times.start_of(kSend1) == at(430));
  CHECK(times.bound_by(kSend1) == kReceive1);
}

TEST_CASE("times that follow from ends are kept where one of them is changed") {
  const Stages stages;
  OperationTimes times = stages.from_ends(0);
  times.set(kB0, interval(470, 670));
  CHECK(times[kB0] == interval(470, 670));
  CHECK(times.bound_by(kB0) == kReceive0);
  CHECK(times[kReceive0] == interval(130, 460));
  CHECK_FALSE(times == stages.from_ends(0));
  times.set(kB0, interval(460, 660));
  CHECK(times == stages.from_ends(0));
  times.set_bound_by(kB0, OperationWaits::kPeer);
  CHECK_FALSE(times == stages.from_ends(0));
  times.pop_back();
  CHECK(times.size() == 3);
}

}  // namespace lockstep::test
