#include "strategies/collectives/schedules/compose.hpp"
#include "sim/base/check.hpp"

#include <doctest/doctest.h>

#include <tuple>
#include <vector>

#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

Chunk data(std::int64_t first, std::int64_t count) {
  return {Buffer::data, first, count};
}

/// Rank 0 of two sends block 0 to rank 1 `steps` times, in every one of `lanes` lanes.
SchedulePtr sends(std::size_t steps, std::size_t lanes = 1) {
  TableSchedule::Rank from(lanes);
  TableSchedule::Rank to(lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    ScheduleStep send;
    send.sends.push_back({1, data(0, 1), static_cast<int>(lane)});
    ScheduleStep receive;
    receive.receives.push_back({0, data(0, 1), Combine::copy, static_cast<int>(lane)});
    from[lane].assign(steps, send);
    to[lane].assign(steps, receive);
  }
  return std::make_shared<TableSchedule>(std::vector{from, to});
}

ScheduleStep step_of(const SchedulePtr& schedule, int rank, int lane, std::int64_t index) {
  ScheduleStep step;
  schedule->step(rank, lane, index, step);
  return step;
}

std::vector<std::pair<int, std::int64_t>> waits(const ScheduleStep& step) {
  std::vector<std::pair<int, std::int64_t>> refs;
  for (const ScheduleStepRef& ref : step.after) refs.emplace_back(ref.lane, ref.step);
  return refs;
}
using Waits = std::vector<std::pair<int, std::int64_t>>;

/// A part that uses whatever a step can hold.
SchedulePtr everything() {
  ScheduleStep step;
  step.send(1, std::vector{data(0, 1), data(2, 2)}, 3);
  step.locals.push_back({data(1, 1), {Buffer::scratch, 4, 1}});
  step.after.push_back({1, 0});
  return std::make_shared<TableSchedule>(
      std::vector<TableSchedule::Rank>{{{step}, {ScheduleStep{}}}, {{}, {}}}, 4, 0, 5);
}

}  // namespace

TEST_CASE("a stage is played by groups of ranks, each on its run of blocks") {
  // Six ranks, groups of two that are three apart: (0, 3), (1, 4), (2, 5); ranks 6 and 7 watch.
  const SchedulePtr whole = in_sequence(
      8, 12, {{.part = sends(1), .stride = 3, .members = 6, .scale = 2, .offset = [](int rank) {
                 return rank % 3 * 4;
               }}});
  CHECK(whole->ranks() == 8);
  CHECK(whole->blocks() == 12);
  const ScheduleStep step = step_of(whole, 2, 0, 0);
  REQUIRE(step.sends.size() == 1);
  CHECK(step.sends[0].peer == 5);
  CHECK(step.sends[0].chunk.first == 8);
  CHECK(step.sends[0].chunk.count == 2);
  const ScheduleStep other = step_of(whole, 4, 0, 0);
  REQUIRE(other.receives.size() == 1);
  CHECK(other.receives[0].peer == 1);
  CHECK(other.receives[0].chunk.first == 4);
  CHECK(step_of(whole, 6, 0, 0).sends.empty());
}

TEST_CASE("stages of one lane follow one another without waiting for anything else") {
  const SchedulePtr whole =
      in_sequence(2, 1, {{.part = sends(2), .members = 2}, {.part = sends(3), .members = 2}});
  CHECK(whole->lanes() == 1);
  CHECK(whole->steps(0, 0) == 5);
  for (std::int64_t i = 0; i < 5; ++i) CHECK(step_of(whole, 0, 0, i).after.empty());
  // Both stages on channels of their own.
  CHECK(step_of(whole, 0, 0, 1).sends[0].channel == 0);
  CHECK(step_of(whole, 0, 0, 2).sends[0].channel == 1);
}

TEST_CASE(
    "a stage of several lanes waits for all lanes of the stage before, and so does the next") {
  const SchedulePtr whole = in_sequence(2, 1,
                                        {{.part = sends(2), .members = 2},
                                         {.part = sends(3, 2), .members = 2},
                                         {.part = sends(1), .members = 2}});
  CHECK(whole->lanes() == 2);
  CHECK(step_of(whole, 0, 0, 0).after.empty());
  CHECK(waits(step_of(whole, 0, 1, 2)) == Waits{{0, 1}});
  CHECK(step_of(whole, 0, 0, 2).after.empty());
  CHECK(waits(step_of(whole, 0, 0, 5)) == Waits{{1, 4}});
  CHECK(step_of(whole, 0, 1, 5).sends.empty());
  CHECK(step_of(whole, 0, 1, 1).sends.empty());
}

TEST_CASE("phases are passed on where they still hold") {
  class Phased final : public Schedule {
   public:
    Phased(std::int64_t steps, int lanes) : steps_{steps}, lanes_{lanes} {}
    [[nodiscard]] int ranks() const override { return 2; }
    [[nodiscard]] int lanes() const override { return lanes_; }
    [[nodiscard]] std::int64_t blocks() const override { return 1; }
    [[nodiscard]] std::int64_t steps(int rank, int) const override { return steps_ + rank; }
    void step(int, int, std::int64_t, ScheduleStep&) const override {}
    [[nodiscard]] std::vector<Phase> phases() const override { return {{0, steps_ + 1}}; }

   private:
    std::int64_t steps_;
    int lanes_;
  };
  const auto stage = [](std::int64_t steps, int lanes) {
    return Stage{.part = std::make_shared<Phased>(steps, lanes), .members = 2};
  };
  using Phases = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto phases = [](const SchedulePtr& schedule) {
    Phases all;
    for (const Phase& phase : schedule->phases()) all.emplace_back(phase.first, phase.count);
    return all;
  };
  // Rank 0 has one step fewer, and an empty one then.
  CHECK(phases(in_sequence(2, 1, {stage(4, 1), stage(6, 1)})) == Phases{{0, 4}, {5, 6}});
  // The second stage's first step waits.
  CHECK(phases(in_sequence(2, 1, {stage(4, 2), stage(6, 1)})) == Phases{{0, 4}, {6, 5}});
  // What is a phase of both.
  const SchedulePtr stripes =
      side_by_side({{std::make_shared<Phased>(4, 1)}, {std::make_shared<Phased>(9, 1)}});
  CHECK(phases(stripes) == Phases{{0, 5}});
  CHECK(phases(in_pipeline(2, 1, {stage(4, 1)}, 2)).empty());
}

TEST_CASE("in a pipeline every stage has lanes of its own, and chunks follow one another") {
  const SchedulePtr whole = in_pipeline(
      2, 3, {{.part = sends(2, 2), .members = 2}, {.part = sends(1), .members = 2, .scale = 3}}, 4);
  CHECK(whole->lanes() == 3);
  CHECK(whole->blocks() == 12);
  CHECK(whole->steps(0, 0) == 8);
  CHECK(whole->steps(0, 2) == 4);
  CHECK(step_of(whole, 0, 1, 4).sends[0].chunk.first == 6);  // of chunk 2
  CHECK(step_of(whole, 0, 1, 4).after.empty());
  const ScheduleStep second = step_of(whole, 0, 2, 2);
  CHECK(second.sends[0].chunk.first == 6);
  CHECK(second.sends[0].chunk.count == 3);
  CHECK(waits(second) == Waits{{0, 5}, {1, 5}});
}

TEST_CASE("stripes have slices, lanes and channels of their own, and an order of ranks") {
  const RankOrder swapped{[](int place) { return 1 - place; }, [](int rank) { return 1 - rank; }};
  const SchedulePtr whole = side_by_side({{sends(1, 2)}, {sends(2), swapped}});
  CHECK(whole->lanes() == 3);
  CHECK(whole->blocks() == 2);
  CHECK(step_of(whole, 0, 1, 0).sends[0].channel == 2);
  CHECK(whole->steps(1, 2) == 2);
  const ScheduleStep step = step_of(whole, 1, 2, 1);
  REQUIRE(step.sends.size() == 1);
  CHECK(step.sends[0].peer == 0);
  CHECK(step.sends[0].channel == 1);
  CHECK(step.sends[0].chunk.first == 1);
}

TEST_CASE("slices are equally long whatever blocks the stripes have") {
  // Blocks of 4 and 1: slices of 4.
  const SchedulePtr whole = side_by_side({{everything()}, {sends(1)}});
  CHECK(whole->blocks() == 8);
  const ScheduleStep step = step_of(whole, 0, 2, 0);
  CHECK(step.sends[0].chunk.first == 4);
  CHECK(step.sends[0].chunk.count == 4);
}

TEST_CASE("runs of blocks, local work, scratch and waiting are renamed too") {
  const auto check = [](const ScheduleStep& step, std::int64_t first, std::int64_t scratch,
                        int lane, std::int64_t before) {
    REQUIRE(step.sends.size() == 1);
    CHECK(step.sends[0].chunk.first == first);
    const auto more = step.more(step.sends[0].more);
    REQUIRE(more.size() == 1);
    CHECK(more[0].first == first + 4);
    CHECK(more[0].count == 4);
    REQUIRE(step.locals.size() == 1);
    CHECK(step.locals[0].from.first == first + 2);
    CHECK(step.locals[0].to.first == scratch + 8);
    CHECK(step.locals[0].to.count == 2);
    REQUIRE(!step.after.empty());
    CHECK(waits(step)[0] == std::pair{lane, before});
  };
  // Twice as many blocks for each of the part's; the stage before has a step and 5 of scratch.
  const SchedulePtr part = everything();
  const std::vector<Stage> stages{{.part = part, .members = 2},
                                  {.part = part, .members = 2, .scale = 2}};
  const SchedulePtr sequence = in_sequence(2, 8, stages);
  CHECK(sequence->scratch_blocks(0) == 15);
  check(step_of(sequence, 0, 0, 1), 0, 5, 1, 1);
  // Lanes 2 and 3; chunk 1 of 8 blocks and 15 of scratch.
  const SchedulePtr pipeline = in_pipeline(2, 8, stages, 3);
  CHECK(pipeline->scratch_blocks(0) == 45);
  check(step_of(pipeline, 0, 2, 1), 8, 20, 3, 1);
  // Slices of 8; behind 10 of scratch.
  const auto wide = std::make_shared<TableSchedule>(
      std::vector<TableSchedule::Rank>{{{ScheduleStep{}}}, {{}}}, 8, 0, 10);
  const SchedulePtr stripes = side_by_side({{wide}, {part}});
  CHECK(stripes->scratch_blocks(1) == 20);
  check(step_of(stripes, 0, 1, 0), 8, 10, 2, 0);
}

TEST_CASE("compositions can be parts again") {
  const SchedulePtr pair = side_by_side({{sends(1)}, {sends(1)}});
  const SchedulePtr whole = in_sequence(
      4, 4, {{.part = pair, .members = 4, .scale = 2}, {.part = pair, .stride = 2, .members = 4}});
  CHECK(whole->lanes() == 2);
  CHECK(waits(step_of(whole, 0, 1, 1)) == Waits{{0, 0}});
  const ScheduleStep step = step_of(whole, 1, 1, 1);
  CHECK(step.sends[0].peer == 3);
  CHECK(step.sends[0].channel == 3);
  CHECK(step.sends[0].chunk.first == 1);
}

TEST_CASE("parts that cannot be composed are caught") {
  const auto slotted =
      std::make_shared<TableSchedule>(std::vector<TableSchedule::Rank>{{{}}, {{}}}, 1, 1);
  CHECK_THROWS_AS((void)side_by_side({{slotted}}), InternalError);
  CHECK_THROWS_AS((void)in_sequence(2, 1, {{.part = slotted, .members = 2}}), InternalError);
  CHECK_THROWS_AS((void)in_sequence(3, 1, {{.part = sends(1), .members = 3}}), InternalError);
  CHECK_THROWS_AS((void)side_by_side({}), InternalError);
}
