#include "strategies/step/lowering/class_partings.hpp"

#include <doctest/doctest.h>

namespace lockstep {
namespace {

/// A rank of role 0 whose operations end at these microseconds.
RankTimeline ending(int rank, const std::vector<std::int64_t>& ends) {
  RankTimeline out;
  out.rank = rank;
  for (const std::int64_t end : ends) out.operations.push_back({{}, TimePoint{} + 1_us * end});
  return out;
}

std::optional<ClassParting> parting(const std::vector<std::int64_t>& usual,
                                    const std::vector<std::int64_t>& own) {
  TrainingStepTimeline timeline;
  timeline.ranks = {ending(0, usual), ending(3, own)};
  std::vector<RankEquivalenceClass> classes{{0, 0, 3}, {3, 0, 1}};
  find_partings(timeline, classes);
  CHECK_FALSE(classes[0].parting);
  CHECK(distinct_histories(timeline) == (classes[1].parting ? 2 : 1));
  return classes[1].parting;
}

TimePoint at_us(std::int64_t us) {
  return TimePoint{} + 1_us * us;
}

}  // namespace

TEST_CASE("classes with the same times do not part") {
  CHECK_FALSE(parting({1, 2, 3}, {1, 2, 3}));
  CHECK_FALSE(parting({}, {}));
}

TEST_CASE(
    "a class parts at the first end that differs and meets the other where all are the same") {
  const auto of = parting({1, 2, 3, 8, 9}, {1, 4, 5, 8, 9});
  REQUIRE(of);
  CHECK(of->at == at_us(2));
  CHECK(of->operation == 1);
  CHECK(of->later_ps == 0);
  CHECK(of->again == at_us(8));
}

TEST_CASE("a class may meet the other apart from a shift, later or earlier") {
  const auto later = parting({1, 2, 3, 8, 9}, {1, 4, 5, 11, 12});
  REQUIRE(later);
  CHECK(later->later_ps == (3_us).ps());
  CHECK(later->again == at_us(11));
  const auto earlier = parting({5, 6, 7}, {3, 4, 5});
  REQUIRE(earlier);
  CHECK(earlier->at == at_us(3));
  CHECK(earlier->later_ps == -(2_us).ps());
  CHECK(earlier->again == at_us(3));  // from the beginning
}

TEST_CASE("where only the last end has its difference, a class does not meet the other again") {
  const auto of = parting({1, 2, 3}, {1, 3, 5});
  REQUIRE(of);
  CHECK(of->at == at_us(2));
  CHECK_FALSE(of->again);
}

TEST_CASE("ends are in the order of time, not of the program") {
  // On two streams: the second operation ends last.
  const auto of = parting({1, 9, 3}, {1, 9, 4});
  REQUIRE(of);
  CHECK(of->at == at_us(3));
  CHECK(of->operation == 2);
  CHECK_FALSE(of->again);
}

TEST_CASE("of more classes than are described each has its parting") {
  // A straggler among many classes of one rank: 9000 of 16,384, say.
  const std::size_t many = RankEquivalenceClass::kMaxDescribed + 2;
  TrainingStepTimeline timeline;
  std::vector<RankEquivalenceClass> classes;
  for (std::size_t c = 0; c < many; ++c) {
    const int rank = static_cast<int>(c);
    timeline.ranks.push_back(c + 1 == many ? ending(rank, {1, 4, 8, 9})
                                           : ending(rank, {1, 2, 8, 9}));
    classes.push_back({rank, 0, 1});
  }
  find_partings(timeline, classes);
  CHECK_FALSE(classes[many - 2].parting);
  REQUIRE(classes[many - 1].parting);
  CHECK(classes[many - 1].parting->at == at_us(2));
  CHECK(classes[many - 1].parting->again == at_us(8));
}

TEST_CASE("ranks of an unfolded step with the same times are a class, compared with the largest") {
  TrainingStepTimeline timeline;
  timeline.ranks = {ending(0, {1, 2}), ending(1, {1, 3}), ending(2, {1, 3}),
                    ending(3, {1, 2}), ending(4, {1, 3}), ending(5, {1, 2})};
  timeline.ranks[5].role = 1;  // the same times in another role
  const EqualTimes of = equal_times(timeline);
  REQUIRE(of.classes.size() == 3);
  CHECK(of.class_of == std::vector<std::uint32_t>{0, 1, 1, 0, 1, 2});
  CHECK(of.classes[0].members == 2);
  CHECK(of.classes[1].members == 3);
  CHECK(of.classes[1].representative == 1);
  CHECK_FALSE(of.classes[1].parting);
  CHECK_FALSE(of.classes[2].parting);
  REQUIRE(of.classes[0].parting);
  CHECK(of.classes[0].parting->at == at_us(2));
  CHECK(of.classes[0].parting->later_ps == -(1_us).ps());
}

}  // namespace lockstep
