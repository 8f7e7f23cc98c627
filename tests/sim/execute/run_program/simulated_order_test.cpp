#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/execute/program/ranks_under_test.hpp"

// A program executed when a timeline says so: what begins before its inputs exist is named, what is
// allocated is counted.
namespace lockstep::test {
namespace {

[[nodiscard]] TimePoint at(std::int64_t ps) {
  return TimePoint{Duration::picoseconds(ps)};
}

/// Ranks whose operations are given with their times, in picoseconds.
class TimedRanks : public Ranks {
 public:
  explicit TimedRanks(int ranks) : Ranks{ranks} {
    for (int rank = 0; rank < ranks; ++rank) {
      timeline.ranks.push_back({rank, static_cast<std::size_t>(rank), {}});
    }
  }

  void does(std::size_t rank, std::int64_t start, std::int64_t end, Operation operation) {
    Ranks::does(rank, {std::move(operation)});
    timeline.ranks[rank].operations.push_back({at(start), at(end)});
  }

  /// What the error of a step says, and what rank 0 had allocated where it came to its end.
  struct Outcome {
    std::string text;
    AllocationRecord allocated{};
  };
  [[nodiscard]] Outcome run() const {
    ExecutionOptions options;
    options.timeline = &timeline;
    Outcome out;
    try {
      ProgramExecution execution{program, options};
      try {
        execution.step();
      } catch (const ExecutionError& error) {
        out.text = error.what();
        if (out.text == kNoLoss) out.allocated = execution.allocations(0);
      }
    } catch (const ExecutionError& error) {
      out.text = error.what();
    }
    return out;
  }

  static constexpr const char* kNoLoss = "no rank computes a loss";  // it ended: there is none

  TrainingStepTimeline timeline{};
};

[[nodiscard]] Operation scale(std::string name, const Ref& from, const Ref& to) {
  return Ranks::operation(OperationKind::scale, std::move(name), {from}, {to});
}

[[nodiscard]] Operation on_stream(Operation operation, StreamId stream) {
  operation.stream = stream;
  return operation;
}

constexpr std::int64_t kBytes = 4 * 4;  // of every tensor: four elements of four bytes

/// One rank: a [0, 10] -> b [10, 20] -> c [20, 20] -> d [20, 30].
[[nodiscard]] TimedRanks chain() {
  TimedRanks ranks{1};
  const Ref a = ranks.tensor("a");
  const Ref b = ranks.tensor("b");
  const Ref c = ranks.tensor("c");
  const Ref d = ranks.tensor("d");
  ranks.program.tensors[c.tensor].category = Category::buffer;
  ranks.does(0, 0, 10, Ranks::fill(a));
  ranks.does(0, 10, 20, scale("b", a, b));
  ranks.does(0, 20, 20, scale("c", b, c));
  ranks.does(0, 20, 30, scale("d", c, d));
  return ranks;
}

TEST_CASE("room is taken when an operation begins and given up with the last use") {
  const TimedRanks::Outcome outcome = chain().run();
  REQUIRE(outcome.text == TimedRanks::kNoLoss);
  // a from 0 to 20, where its only reader ends; b from 10 to 20; c from 20 to 30; d while it is
  // written, from 20 to 30.
  const std::vector<MemoryPoint>& curve = outcome.allocated.device.curve;
  REQUIRE(curve.size() == 4);
  const auto check = [&](std::size_t i, std::int64_t ps, int activations, int buffers) {
    CHECK(curve[i].at == at(ps));
    CHECK(curve[i].held[Category::activation].count() == activations * kBytes);
    CHECK(curve[i].held[Category::buffer].count() == buffers * kBytes);
  };
  check(0, 0, 1, 0);
  check(1, 10, 2, 0);
  check(2, 20, 1, 1);
  check(3, 30, 0, 0);
  CHECK(outcome.allocated.device.peak_at == at(10));
  REQUIRE(outcome.allocated.device.at_peak.size() == 2);
  CHECK(outcome.allocated.device.at_peak[0].instance == 0);
  CHECK(outcome.allocated.device.at_peak[1].instance == 1);
  CHECK(outcome.allocated.host.curve.size() == 1);
  CHECK(outcome.allocated.host.peak.total() == Bytes{});
}

TEST_CASE("what lives for no time takes no room, and the host's memory is counted apart") {
  TimedRanks ranks{1};
  const Ref brief = ranks.tensor("brief");
  const Ref host = ranks.tensor("host");
  const Ref kept = ranks.tensor("kept");
  ranks.program.tensors[host.tensor].on_host = true;
  ranks.program.tensors[kept.tensor].resident = true;
  ranks.does(0, 0, 5, Ranks::fill(kept));
  ranks.does(0, 5, 5, Ranks::fill(brief));
  ranks.does(0, 5, 10, Ranks::fill(host));
  const TimedRanks::Outcome outcome = ranks.run();
  REQUIRE(outcome.text == TimedRanks::kNoLoss);
  REQUIRE(outcome.allocated.device.curve.size() == 1);  // resident: all the time
  CHECK(outcome.allocated.device.peak.total().count() == kBytes);
  REQUIRE(outcome.allocated.host.curve.size() == 3);
  CHECK(outcome.allocated.host.curve[1].at == at(5));
  CHECK(outcome.allocated.host.curve[1].held.total().count() == kBytes);
  CHECK(outcome.allocated.host.curve[2].at == at(10));
}

TEST_CASE("an operation that starts before its input exists is named, with time and input") {
  TimedRanks ranks = chain();
  ranks.timeline.ranks[0].operations.set(1, {at(9), at(20)});
  CHECK(ranks.run().text ==
        "rank 0: block 0 microbatch 0: b starts at 9 ps, before a exists: block 0 microbatch "
        "0: fill ends at 10 ps");
}

TEST_CASE("operations whose times are swapped are named") {
  TimedRanks ranks = chain();
  OperationTimes& times = ranks.timeline.ranks[0].operations;
  const Interval first = times[0];
  times.set(0, times[3]);
  times.set(3, first);
  CHECK(ranks.run().text ==
        "rank 0: block 0 microbatch 0: d starts at 0 ps, before c exists: block 0 microbatch "
        "0: c ends at 20 ps");
}

TEST_CASE("an operation that overwrites what another still reads is named") {
  TimedRanks ranks{1};
  const StreamId other = ranks.program.stream("other");
  const Ref a = ranks.tensor("a");
  const Ref b = ranks.tensor("b");
  ranks.does(0, 0, 10, Ranks::fill(a));
  ranks.does(0, 10, 20, scale("b", a, b));
  ranks.does(0, 15, 25, on_stream(Ranks::fill(a), other));
  CHECK(ranks.run().text ==
        "rank 0: block 0 microbatch 0: fill starts at 15 ps and writes a, which block 0 "
        "microbatch 0: b uses until 20 ps");
  ranks.timeline.ranks[0].operations.set(2, {at(20), at(30)});
  CHECK(ranks.run().text == TimedRanks::kNoLoss);
}

/// Two ranks: a collective at [10, 20] on the first, [30, 40] on the second.
[[nodiscard]] std::string apart(Collective collective, int root) {
  TimedRanks ranks{2};
  const Ref x = ranks.tensor("x");
  Operation meet = Ranks::sum("meet", x);
  meet.communication->collective = collective;
  meet.communication->root = root;
  for (const std::size_t rank : {0U, 1U}) {
    const std::int64_t later = rank == 0 ? 0 : 20;
    ranks.does(rank, 0, 10, Ranks::fill(x));
    ranks.does(rank, 10 + later, 20 + later, meet);
  }
  return ranks.run().text;
}

TEST_CASE("who leaves a collective must have what it gets from those that have begun") {
  const std::string early =
      "rank 0: block 0 microbatch 0: meet ends at 20 ps, before rank 1: block 0 microbatch "
      "0: meet starts at 30 ps";
  CHECK(apart(Collective::all_reduce, 0) == early);
  CHECK(apart(Collective::broadcast, 0) == TimedRanks::kNoLoss);  // the root has all
  CHECK(apart(Collective::broadcast, 1) == early);
  CHECK(apart(Collective::reduce, 0) == early);
  CHECK(apart(Collective::reduce, 1) == TimedRanks::kNoLoss);  // gets nothing
  CHECK(apart(Collective::send_recv, 0) == early);             // from its neighbour
}

TEST_CASE("a message is taken after it is sent, however many wait, whichever is taken first") {
  TimedRanks ranks{2};
  const Ref x = ranks.tensor("x");
  const Ref y = ranks.tensor("y");
  ranks.does(0, 0, 10, Ranks::fill(x));
  ranks.does(0, 10, 15, Ranks::fill(y));
  ranks.does(0, 20, 20, Ranks::send("give.x", x, 1));
  ranks.does(0, 20, 20, Ranks::send("give.y", y, 1));
  ranks.does(1, 20, 20, Ranks::receive("get.y", y, 1));
  ranks.does(1, 20, 30, Ranks::receive("get.x", x, 1));
  CHECK(ranks.run().text == TimedRanks::kNoLoss);
  ranks.timeline.ranks[1].operations.set(0, {at(10), at(19)});
  CHECK(ranks.run().text ==
        "rank 1: block 0 microbatch 0: get.y ends at 19 ps, before rank 0: block 0 "
        "microbatch 0: give.y starts at 20 ps");
}

TEST_CASE("a timeline of other ranks or operations is refused") {
  TimedRanks ranks = chain();
  ranks.timeline.ranks[0].operations.pop_back();
  CHECK(ranks.run().text == "the timeline has 3 operations of rank 0, which has 4");
  ranks.timeline.ranks.clear();
  CHECK(ranks.run().text == "the timeline says nothing of rank 0");
}

}  // namespace
}  // namespace lockstep::test
