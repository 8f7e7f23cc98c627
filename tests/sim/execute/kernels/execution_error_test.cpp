#include <doctest/doctest.h>

#include <string>

#include "tests/sim/execute/program/ranks_under_test.hpp"

// Programs that cannot go on end with one error that names ranks, operations and who waits for
// whom.
namespace lockstep::test {
namespace {

constexpr const char* kNoLoss = "no rank computes a loss";  // ended: these programs have none

TEST_CASE("ranks that both receive first wait for each other: a ring of two") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  const Ref y = ranks.tensor("y");
  ranks.does(0, {Ranks::receive("get.y", y, 1), Ranks::fill(x), Ranks::send("give.x", x, 1)});
  ranks.does(1, {Ranks::receive("get.x", x, 1), Ranks::fill(y), Ranks::send("give.y", y, 1)});
  CHECK(ranks.trouble() ==
        "the execution cannot go on: "
        "rank 0: block 0 microbatch 0: get.y (stream compute) waits for a message from rank 1 "
        "<- rank 1: block 0 microbatch 0: get.x (stream compute) waits for a message from rank "
        "0 <- rank 0: block 0 microbatch 0: get.y");
}

TEST_CASE("three ranks that wait in a ring are named, and how many wait for them") {
  Ranks ranks{4};
  const Ref x = ranks.tensor("x");
  for (const std::size_t rank : {0U, 1U, 2U}) {
    const int back = rank == 0 ? 2 : -1;
    const int on = rank == 2 ? -2 : 1;
    ranks.does(rank, {Ranks::receive("get", x, back), Ranks::send("give", x, on)});
  }
  ranks.does(2, {Ranks::send("also", x, 1)});
  ranks.does(3, {Ranks::receive("late", x, -1)});
  CHECK(ranks.trouble() ==
        "the execution cannot go on: "
        "rank 0: block 0 microbatch 0: get (stream compute) waits for a message from rank 2 "
        "<- rank 2: block 0 microbatch 0: get (stream compute) waits for a message from rank 1 "
        "<- rank 1: block 0 microbatch 0: get (stream compute) waits for a message from rank 0 "
        "<- rank 0: block 0 microbatch 0: get; 1 other operation waits too");
}

TEST_CASE("a message that nobody sends names who does not") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  ranks.does(0, {Ranks::receive("get.x", x, 1)});
  ranks.does(1, {Ranks::fill(x)});
  CHECK(ranks.trouble() ==
        "the execution cannot go on: "
        "rank 0: block 0 microbatch 0: get.x (stream compute) waits for a message from rank 1 "
        "<- no operation of rank 1 sends x (block 0 microbatch 0)");
}

TEST_CASE("a message that nobody takes fills its connection") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  const Ref y = ranks.tensor("y");
  ranks.does(0, {Ranks::fill(x), Ranks::fill(y), Ranks::send("give.x", x, 1),
                 Ranks::send("give.y", y, 1)});
  ExecutionOptions options;
  CHECK(ranks.trouble(options) ==
        "the execution cannot go on: "
        "rank 0: block 0 microbatch 0: give.y (stream compute) waits for room on its "
        "connection to rank 1, where x (block 0 microbatch 0) waits <- no operation of rank 1 "
        "receives x (block 0 microbatch 0)");
  options.queue_slots = 2;  // room for both
  CHECK(ranks.trouble(options) == kNoLoss);
}

// Rank 0 can put one message on the connection; the second waits until rank 1 has taken the first,
// which waits for a third.
TEST_CASE("sends wait for room, so that a program may need a slot more") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  const Ref y = ranks.tensor("y");
  const Ref z = ranks.tensor("z");
  const StreamId other = ranks.program.stream("other");
  Operation give_z = Ranks::send("give.z", z, 1);
  give_z.stream = other;
  ranks.does(0, {Ranks::fill(x), Ranks::fill(y), Ranks::send("give.x", x, 1),
                 Ranks::send("give.y", y, 1), Ranks::fill(z), give_z});
  Operation get_z = Ranks::receive("get.z", z, 1);
  get_z.stream = other;
  Operation get_x = Ranks::receive("get.x", x, 1);
  Operation use_z = Ranks::operation(OperationKind::scale, "use.z", {z}, {z});
  ranks.does(1, {get_z, use_z, get_x, Ranks::receive("get.y", y, 1)});
  ExecutionOptions options;
  const std::string text = ranks.trouble(options);
  CAPTURE(text);
  CHECK(has(text,
            "rank 0: block 0 microbatch 0: give.y (stream compute) waits for room on its "
            "connection to rank 1, where x (block 0 microbatch 0) waits <- rank 1: "));
  CHECK(has(text, "use.z (stream compute) waits for its own block 0 microbatch 0: get.z <- "));
  CHECK(has(text, "get.z (stream other) waits for a message from rank 0 <- rank 0: "));
  options.queue_slots = 2;
  CHECK(ranks.trouble(options) == kNoLoss);
}

TEST_CASE("messages of a connection are taken in the order in which they are sent") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  const Ref y = ranks.tensor("y");
  ranks.does(0, {Ranks::fill(x), Ranks::fill(y), Ranks::send("give.x", x, 1),
                 Ranks::send("give.y", y, 1)});
  ranks.does(1, {Ranks::receive("get.y", y, 1), Ranks::receive("get.x", x, 1)});
  ExecutionOptions options;
  options.queue_slots = 2;
  CHECK(ranks.trouble(options) ==
        "the execution cannot go on: "
        "rank 1: block 0 microbatch 0: get.y (stream compute) waits for a message from rank 0 "
        "behind x (block 0 microbatch 0) <- rank 1: block 0 microbatch 0: get.y");
}

TEST_CASE("a collective that one rank does not come to names who is missing") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  ranks.does(0, {Ranks::fill(x), Ranks::sum("sum", x)});
  CHECK(ranks.trouble() ==
        "the execution cannot go on: "
        "rank 0: block 0 microbatch 0: sum (stream compute) waits for rank 1 <- rank 1 has no "
        "collective left that these ranks call together");
}

// Ranks 0 and 1 are a communicator, and with 2 and 3 another one.
TEST_CASE("collectives of two communicators in another order on two ranks name both") {
  Ranks ranks{4};
  ranks.program.mesh = Mesh{{{"tp", 2}, {"dp", 2}}};
  for (int rank = 0; rank < 4; ++rank) {
    ranks.program.roles[static_cast<std::size_t>(rank)].fixed = {{AtomId{0}, rank % 2},
                                                                 {AtomId{1}, rank / 2}};
  }
  const Ref x = ranks.tensor("x");
  const Operation pair = Ranks::sum("pair", x);
  Operation all = Ranks::sum("all", x);
  all.communication->over = {AtomId{1}, AtomId{0}};
  ranks.does(0, {Ranks::fill(x), pair, all});
  ranks.does(1, {Ranks::fill(x), all, pair});
  for (const std::size_t rank : {2U, 3U}) ranks.does(rank, {Ranks::fill(x), all});
  CHECK(ranks.trouble() ==
        "the execution cannot go on: "
        "rank 0: block 0 microbatch 0: pair (stream compute) waits for rank 1 "
        "<- rank 1: block 0 microbatch 0: all (stream compute) waits for rank 0 "
        "<- rank 0: block 0 microbatch 0: pair; 2 other operations wait too");
}

TEST_CASE("different collectives that meet are both named") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  Operation pass = Ranks::sum("pass", x);
  pass.communication->collective = Collective::send_recv;
  ranks.does(0, {Ranks::fill(x), Ranks::sum("sum", x)});
  ranks.does(1, {Ranks::fill(x), pass});
  CHECK(ranks.trouble() ==
        "rank 0: block 0 microbatch 0: sum meets rank 1: block 0 microbatch 0: pass");
}

TEST_CASE("a message of another size than what is to come is named with both") {
  Ranks ranks{2};
  const Ref four = ranks.tensor("four", 4);
  const Ref five = ranks.tensor("five", 5);
  ranks.does(0, {Ranks::fill(four), Ranks::send("give", four, 1)});
  ranks.does(1, {Ranks::receive("get", five, 1)});
  CHECK(ranks.trouble() ==
        "the execution cannot go on: "
        "rank 1: block 0 microbatch 0: get (stream compute) waits for a message from rank 0 "
        "<- no operation of rank 0 sends five (block 0 microbatch 0); it sends four (block 0 "
        "microbatch 0) of 4 elements, where 5 are to come");
}

TEST_CASE("members of a sum that bring different sizes are refused") {
  Ranks ranks{2};
  const Ref four = ranks.tensor("four", 4);
  const Ref five = ranks.tensor("five", 5);
  ranks.does(0, {Ranks::fill(four), Ranks::sum("sum", four)});
  ranks.does(1, {Ranks::fill(five), Ranks::sum("sum", five)});
  CHECK(ranks.trouble() ==
        "rank 0: block 0 microbatch 0: sum with 1 others: members hold different parts of what "
        "they reduce");
}

TEST_CASE("peers that do not exist are refused") {
  Ranks ranks{2};
  const Ref x = ranks.tensor("x");
  const auto refused = [&](auto&& change) {
    Ranks with = ranks;
    Operation sum = Ranks::sum("sum", x);
    change(*sum.communication);
    with.does(0, {Ranks::fill(x), sum});
    return with.trouble();
  };
  const std::string who = "rank 0: block 0 microbatch 0: sum ";
  CHECK(refused([](Communication& how) {
          how.participants = {0, 5};
        }) == who + "is with position 5 along pp, which has 2");
  CHECK(refused([](Communication& how) { how.participants = {1}; }) ==
        who + "is among others; its own rank is no member");
  CHECK(refused([](Communication& how) { how.host = 3; }) ==
        who + "is with host 3; the program has 0");
  CHECK(refused([](Communication& how) { how.root = 2; }) == who + "has member 2 of 2 as its root");
  CHECK(refused([](Communication& how) { how.over = {AtomId{7}}; }) ==
        who + "is over axis 7; the mesh has 1");
}

TEST_CASE("an operation on parts that do not belong together is refused") {
  Ranks ranks{2};
  const Ref whole = ranks.tensor("whole");
  const Ref part = ranks.tensor("part");
  ranks.program.tensors[part.tensor].extents[0].shards = {AtomId{0}};
  ranks.does(0, {Ranks::fill(whole), Ranks::fill(part),
                 Ranks::operation(OperationKind::add, "both", {whole, part}, {whole})});
  const std::string text = ranks.trouble();
  CAPTURE(text);
  CHECK(has(text, "both (add): whole and part hold different parts of hidden (4 and 2 of 4)"));
}

}  // namespace
}  // namespace lockstep::test
