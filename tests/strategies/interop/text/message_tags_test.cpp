#include "strategies/interop/text/message_tags.hpp"

#include <doctest/doctest.h>

using namespace lockstep;

namespace {

MessageEnd send(int from, int to, std::uint32_t tag, Bytes size) {
  return {from, to, tag, size, true};
}
MessageEnd receive(int from, int to, std::uint32_t tag, Bytes size) {
  return {from, to, tag, size, false};
}

using Tags = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("messages of one size keep their tag, whoever else uses it") {
  const MessageTags plan = plan_tags({send(0, 1, 7, 8_B), send(0, 2, 7, 9_B), receive(0, 2, 7, 9_B),
                                      receive(0, 1, 7, 8_B), send(0, 1, 7, 8_B)});
  CHECK(plan.tags == Tags{7, 7, 7, 7, 7});
  CHECK(plan.conflicts.empty());  // a send too many is nobody's mistake here
}

TEST_CASE("of several sizes between two ranks the smallest keeps the tag") {
  const MessageTags plan =
      plan_tags({send(0, 1, 7, 8_B), send(0, 1, 7, 4_B), receive(0, 1, 7, 4_B),
                 receive(0, 1, 7, 8_B), send(5, 6, 7, 1_B), receive(5, 6, 7, 8_B)});
  CHECK(plan.tags[1] == 7);
  CHECK(plan.tags[2] == 7);
  CHECK(plan.tags[0] == plan.tags[3]);
  CHECK(plan.tags[0] == UINT32_MAX);
  CHECK(plan.tags[5] == UINT32_MAX);  // the same tag and size elsewhere
  REQUIRE(plan.conflicts.size() == 1);
  CHECK(plan.conflicts[0].send == 4);
  CHECK(plan.conflicts[0].receive == 5);
}

TEST_CASE("a tag that the trace uses is not made up") {
  const MessageTags plan =
      plan_tags({send(0, 1, UINT32_MAX, 1_B), send(0, 1, 3, 1_B), send(0, 1, 3, 2_B),
                 send(0, 1, 3, 4_B), send(2, 3, UINT32_MAX - 2, 1_B)});
  CHECK(plan.tags == Tags{UINT32_MAX, 3, UINT32_MAX - 1, UINT32_MAX - 3, UINT32_MAX - 2});
}

TEST_CASE("what is left over is reported once for two ranks and a tag") {
  const MessageTags plan =
      plan_tags({send(0, 1, 0, 1_B), send(0, 1, 0, 1_B), send(0, 1, 0, 2_B), receive(0, 1, 0, 1_B),
                 receive(0, 1, 0, 3_B), receive(0, 1, 0, 4_B)});
  REQUIRE(plan.conflicts.size() == 1);
  CHECK(plan.conflicts[0].send == 1);     // the second of one byte
  CHECK(plan.conflicts[0].receive == 4);  // the one of three bytes
}

TEST_CASE("nothing is planned for nothing") {
  CHECK(plan_tags({}).tags.empty());
}
