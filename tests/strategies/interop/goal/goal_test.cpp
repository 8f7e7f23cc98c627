#include "strategies/interop/goal/goal.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/strategies/interop/text/corpus.hpp"
#include "tests/strategies/interop/text/refused.hpp"

using namespace lockstep;

namespace {

using Lines = std::vector<std::string>;

Lines problems_of(const std::string& text) {
  return test::refused([&text] { return parse_goal(text, "f"); });
}

/// One rank of two with these statements; they begin in line 3.
std::string in_rank(const std::string& statements) {
  return "num_ranks 2\nrank 0 {\n" + statements + "\n}\n";
}

Lines problems_in_rank(const std::string& statements) {
  return problems_of(in_rank(statements));
}

}  // namespace

TEST_CASE("every part of an operation is read") {
  const GoalSchedule read = parse_goal(
      "// a comment\n"
      "num_ranks 3 /* and\n another */\n"
      "rank 2 {\n"
      "  a: recv 4096b from 0 tag 7 cpu 1 nic 2\n"
      "  b: calc 1500 cpu 3\n"
      "  c: send 0b to 1\n"
      "  send 8b to 0 nic 1 tag 9; calc 0\n"
      "  b requires a\n"
      "  c irequires b\n"
      "}\n"
      "rank 0 { a: send 4096b to 2 tag 7 }",
      "f");
  CHECK(read.ranks == 3);
  REQUIRE(read.programs.size() == 2);
  CHECK(read.programs[0].rank == 0);
  const auto& operations = read.programs[1].operations;
  REQUIRE(operations.size() == 5);
  CHECK(operations[0].kind == GoalOperation::Kind::receive);
  CHECK(operations[0].size == 4096_B);
  CHECK(operations[0].peer == 0);
  CHECK(operations[0].tag == 7);
  CHECK(operations[0].cpu == 1);
  CHECK(operations[0].nic == 2);
  CHECK(operations[1].kind == GoalOperation::Kind::calc);
  CHECK(operations[1].duration == 1500_ns);
  CHECK(operations[1].cpu == 3);
  CHECK(operations[1].after == std::vector<std::uint32_t>{0});
  CHECK(operations[2].label == "c");
  CHECK(operations[2].after_start == std::vector<std::uint32_t>{1});
  CHECK(operations[2].at.line == 7);
  CHECK(operations[3].label.empty());
  CHECK(operations[3].tag == 9);
  CHECK(operations[4].at.column == 29);
}

TEST_CASE("a dependency may come before what it names, and labels may be words of the language") {
  const GoalSchedule read =
      parse_goal(in_rank("send requires rank\nsend: send 1b to 1\nrank: calc 5"), "f");
  CHECK(read.programs[0].operations[0].after == std::vector<std::uint32_t>{1});
}

TEST_CASE("what is no GOAL is refused at once") {
  CHECK(problems_of("") ==
        Lines{"f:1:1: expected \"num_ranks\", with which GOAL begins, got the end of the file"});
  CHECK(problems_of("hello\nworld\n") ==
        Lines{"f:1:1: expected \"num_ranks\", with which GOAL begins, got \"hello\""});
  CHECK(problems_of("\x8f\x01") ==
        Lines{"f:1:1: expected \"num_ranks\", with which GOAL begins, got the byte 0x8f"});
  CHECK(problems_of(std::string(3, '\0')) ==
        Lines{"f:1:1: expected \"num_ranks\", with which GOAL begins, got the byte 0x00"});
  CHECK(problems_of("/* num_ranks 2") ==
        Lines{"f:1:15: expected \"num_ranks\", with which GOAL begins, got the end of the file"});
}

TEST_CASE("numbers out of range are refused with the range") {
  CHECK(problems_of("num_ranks 0") == Lines{"f:1:12: there are no ranks"});
  CHECK(problems_of("num_ranks -1") ==
        Lines{"f:1:11: expected a number of ranks from 0 to 16777216, got \"-\""});
  CHECK(problems_of("num_ranks 99999999999999999999") ==
        Lines{"f:1:11: expected a number of ranks from 0 to 16777216, got "
              "\"99999999999999999999\""});
  CHECK(problems_of("num_ranks 2 rank 2 { calc 1 }") ==
        Lines{"f:1:18: expected a rank from 0 to 1, got \"2\""});
  CHECK(problems_in_rank("send 1b to 2") ==
        Lines{"f:3:12: expected a rank from 0 to 1, got \"2\""});
  CHECK(problems_in_rank("send 1b to 1 tag 4294967296") ==
        Lines{"f:3:18: expected a tag from 0 to 4294967295, got \"4294967296\""});
  CHECK(problems_in_rank("calc 1 cpu 1048576") ==
        Lines{"f:3:12: expected a cpu from 0 to 1048575, got \"1048576\""});
  CHECK(problems_in_rank("calc 9223372036854776") ==
        Lines{"f:3:6: expected nanoseconds from 0 to 9223372036854775, got "
              "\"9223372036854776\""});
  CHECK(problems_in_rank("send 9223372036854775808b to 1") ==
        Lines{"f:3:6: expected a size in bytes such as 1024b, got \"9223372036854775808b\""});
}

TEST_CASE("what is said wrongly is reported with what is allowed, all of it") {
  CHECK(problems_in_rank("a: snd 1b to 1\n"
                         "b: send 1 to 1\n"
                         "c: recv 1b to 1\n"
                         "d: send 1b to any\n"
                         "e: calc fast\n"
                         "f:\n"
                         "g requires\n"
                         ":\n"
                         "calc 1 tag 2\n"
                         "a requires b z requires d") ==
        Lines{"f:3:4: no operation named \"snd\"; did you mean \"send\"?",
              "f:4:9: expected a size in bytes such as 1024b, got \"1\"",
              "f:5:12: expected \"from\", got \"to\"",
              "f:6:15: expected a rank from 0 to 1, got \"any\"",
              "f:7:9: expected nanoseconds from 0 to 9223372036854775, got \"fast\"",
              "f:9:1: no operation named \"g\"; there are \"send\", \"recv\", \"calc\"",
              "f:10:1: expected an operation or a dependency, got \":\"",
              "f:11:8: no operation named \"tag\"; there are \"send\", \"recv\", \"calc\"",
              "f:12:14: no operation of this rank is labeled \"z\""});
}

TEST_CASE("an unknown label is reported with the nearest") {
  CHECK(problems_in_rank("recv1: calc 1\nlast: calc 2\nlast requires recvl\nlst irequires x") ==
        Lines{"f:5:15: no operation of this rank is labeled \"recvl\"; did you mean \"recv1\"?",
              "f:6:1: no operation of this rank is labeled \"lst\"; did you mean \"last\"?",
              "f:6:15: no operation of this rank is labeled \"x\""});
}

TEST_CASE("labels and ranks are given once") {
  CHECK(problems_in_rank("a: calc 1\na: calc 2") ==
        Lines{"f:4:1: \"a\" labels an operation of this rank already"});
  CHECK(problems_of("num_ranks 2\nrank 1 { calc 1 }\nrank 1 { calc 2 }") ==
        Lines{"f:3:6: rank 1 was given before, at line 2"});
}

TEST_CASE("a rank that is not closed is reported where the next begins or the file ends") {
  CHECK(problems_of("num_ranks 2\nrank 0 {\ncalc 1\nrank 1 { calc 1 }") ==
        Lines{"f:4:1: rank 0 is not closed with \"}\""});
  CHECK(problems_of("num_ranks 2\nrank 0 {\ncalc 1") ==
        Lines{"f:3:7: expected \"}\", got the end of the file"});
  CHECK(problems_of("num_ranks 2\nrank 0 { calc 1 } }\n; rank") ==
        Lines{"f:2:19: expected \"rank\", got \"}\"", "f:3:1: expected \"rank\", got \";\""});
  CHECK(
      problems_of("num_ranks 2\nrank 0 { calc 1 /* }") ==
      Lines{"f:2:17: this comment never ends", "f:2:21: expected \"}\", got the end of the file"});
}

TEST_CASE("a circle of dependencies is named") {
  CHECK(problems_in_rank("a: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\nd requires a\n"
                         "b requires d\nc irequires b\nd requires c") ==
        Lines{"f:4:1: deadlock on rank 0: \"b\" waits for \"d\", that for \"c\", and that for the "
              "first again"});
  CHECK(problems_in_rank("a: calc 1\na requires a") ==
        Lines{"f:3:1: deadlock on rank 0: \"a\" waits for itself"});
}

TEST_CASE("a long chain is no circle and costs no stack") {
  std::string text;
  constexpr int kLong = 200'000;
  for (int i = 0; i < kLong; ++i)
    text += "l" + std::to_string(i) + ": calc 1\nl" + std::to_string(i) + " requires l" +
            std::to_string(i + 1) + "\n";
  text += "l" + std::to_string(kLong) + ": calc 1";
  CHECK(parse_goal(in_rank(text), "f").programs[0].operations.size() == kLong + 1);
  text += "\nl" + std::to_string(kLong) + " requires l0";
  const Lines problems = problems_in_rank(text);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("and on through 199993 more") != std::string::npos);
}

TEST_CASE("a send that can only meet a receive of another size is refused") {
  const std::string begin = "num_ranks 2\nrank 0 { send 8b to 1 tag 3; send 4b to 1 }\nrank 1 { ";
  CHECK(problems_of(begin + "recv 4b from 0; recv 9b from 0 tag 3 }") ==
        Lines{"f:2:10: rank 0 sends 8 bytes to rank 1 on tag 3, which receives 9 (line 3)"});
  // Whatever only one end knows is for the replay to tell; other orders of equal sizes are fine.
  CHECK_NOTHROW(parse_goal(begin + "recv 4b from 0 }", "f"));
  CHECK_NOTHROW(parse_goal(begin + "recv 4b from 0; recv 9b from 0 tag 4 }", "f"));
  CHECK_NOTHROW(parse_goal(
      "num_ranks 2 rank 0 { send 1b to 1; send 2b to 1 } rank 1 { recv 2b from 0; recv 1b from 0 }",
      "f"));
}

TEST_CASE("a schedule by others is read") {
  const auto path = test::corpus("goal/binary_tree_32.goal");
  if (!path) return;
  const GoalSchedule read = read_goal(*path);
  CHECK(read.ranks == 32);
  REQUIRE(read.programs.size() == 32);
  std::size_t sends = 0;
  for (const GoalRank& program : read.programs)
    sends += static_cast<std::size_t>(
        std::count_if(program.operations.begin(), program.operations.end(),
                      [](const auto& o) { return o.kind == GoalOperation::Kind::send; }));
  CHECK(sends == 31);  // a tree of 32 ranks has 31 edges
}

TEST_CASE("what is no file is refused") {
  CHECK(test::refused([] { return read_goal("/nowhere/x.goal"); }) ==
        Lines{"/nowhere/x.goal: no such file"});
  CHECK(test::refused([] { return read_goal("/tmp"); }) ==
        Lines{"/tmp: this is a directory; expected a GOAL file"});
}
