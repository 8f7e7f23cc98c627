#include <doctest/doctest.h>

#include <cmath>

#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// The table's closed forms, against the schedules themselves and against formulas written out here
/// a second time from their sources.
using namespace lockstep;

namespace {

const CollectiveAlgorithm& row(std::string_view name) {
  const CollectiveAlgorithm* found = find_algorithm(Collective::all_reduce, name);
  REQUIRE(found != nullptr);
  return *found;
}

/// alpha 7 ps; a port carries 1 byte a picosecond, a device reduces 2.
AlphaBeta tiny_model() {
  return {Duration::picoseconds(7), Rate::bytes_per_second(1'000'000'000'000),
          Rate::bytes_per_second(2'000'000'000'000)};
}

double ideal_ps(std::string_view name, int n, Bytes block,
                const AlgorithmArguments& arguments = {}) {
  return static_cast<double>(
      ideal_time(*cost_of(row(name), {n, arguments}), block, tiny_model()).ps());
}

}  // namespace

TEST_CASE("rounds and bytes of every schedule are those of its closed form") {
  for (const RowCase& each : every_row({1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 64, 100})) {
    CAPTURE(each.name());
    const auto measured = measure(*each.make());
    REQUIRE(measured.has_value());
    const auto cost = each.cost();
    if (!cost) continue;
    CHECK(measured->rounds == cost->rounds);
    CHECK(measured->sent_blocks == cost->sent_blocks);
  }
}

TEST_CASE("what always sends the whole buffer has one block, of the message's true length") {
  const auto sends_the_whole = [](const Schedule& schedule) {
    bool any = false;
    ScheduleStep step;
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      for (int lane = 0; lane < schedule.lanes(); ++lane) {
        for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
          step.clear();
          schedule.step(rank, lane, i, step);
          for (const Send& send : step.sends) {
            if (step.blocks_of(send) < schedule.blocks()) return false;
            any = true;
          }
        }
      }
    }
    return any;
  };
  for (const RowCase& each : every_row({2, 3, 4, 5, 6, 8, 16})) {
    CAPTURE(each.name());
    const SchedulePtr schedule = each.make();
    if (!sends_the_whole(*schedule)) continue;
    CHECK(schedule->blocks() == 1);
    CHECK(divide_message(8_B, *find_element_type("float"), schedule->blocks()).padded == 8_B);
  }
}

TEST_CASE("every byte sent is received, by the rank it is sent to") {
  for (const RowCase& each : every_row(kRankCounts)) {
    CAPTURE(each.name());
    const SchedulePtr schedule = each.make();
    std::vector<std::vector<std::int64_t>> balance(
        static_cast<std::size_t>(schedule->ranks()),
        std::vector<std::int64_t>(static_cast<std::size_t>(schedule->ranks())));
    ScheduleStep step;
    for (int rank = 0; rank < schedule->ranks(); ++rank) {
      for (int lane = 0; lane < schedule->lanes(); ++lane) {
        for (std::int64_t i = 0; i < schedule->steps(rank, lane); ++i) {
          step.clear();
          schedule->step(rank, lane, i, step);
          const auto self = static_cast<std::size_t>(rank);
          for (const Send& s : step.sends)
            balance[self][static_cast<std::size_t>(s.peer)] += step.blocks_of(s);
          for (const Receive& r : step.receives)
            balance[static_cast<std::size_t>(r.peer)][self] -= step.blocks_of(r);
        }
      }
    }
    for (const auto& from : balance) {
      for (const std::int64_t open : from) CHECK(open == 0);
    }
  }
}

TEST_CASE("steps that send to everyone issue to rank+1, rank+2, ... mod n") {
  for (const char* name : {"one_shot", "direct"}) {
    const SchedulePtr schedule = make_schedule(row(name), {5, {}});
    ScheduleStep step;
    schedule->step(3, 0, 0, step);
    std::vector<int> peers;
    for (const Send& send : step.sends) peers.push_back(send.peer);
    CHECK(peers == std::vector<int>{4, 0, 1, 2});
  }
  // Worker 4 of 5 with 3 servers (ranks 5, 6, 7) begins with server 4 mod 3.
  ScheduleStep step;
  make_schedule(row("parameter_server"), {5, {{"shards", 3}}})->step(4, 0, 0, step);
  REQUIRE(step.sends.size() == 3);
  CHECK(step.sends[0].peer == 6);
  CHECK(step.sends[1].peer == 7);
  CHECK(step.sends[2].peer == 5);
}

TEST_CASE("ideal times are the textbook formulas") {
  // alpha = 7, beta = 1, gamma = 1/2 per byte; M = 1680 bytes, so that no term below is
  // rounded. Formulas of Thakur et al. 2005, Patarasuk and Yuan 2009 and, for the
  // fold, 2M(1 + (N'-1)/N') beta + M(1 + (N'-1)/N') gamma.
  const double m = 1680;
  for (const int n : {2, 3, 4, 5, 7, 8}) {
    CAPTURE(n);
    const double others = n - 1;
    const double share = others / n;
    const Bytes block{1680 / n};
    const Bytes whole{1680};  // of algorithms that never cut the message
    CHECK(ideal_ps("naive", n, whole) == 2 * others * (7 + m) + others * m / 2);
    CHECK(ideal_ps("one_shot", n, whole) == 7 + others * m + others * m / 2);
    CHECK(ideal_ps("direct", n, block) == doctest::Approx(2 * 7 + 2 * share * m + share * m / 2));
    CHECK(ideal_ps("ring", n, block) ==
          doctest::Approx(2 * others * 7 + 2 * share * m + share * m / 2));
    CHECK(ideal_ps("parameter_server", n, whole) == 2 * 7 + 2 * n * m + n * m / 2);
    CHECK(ideal_ps("parameter_server", n, block, {{"shards", n}}) == 2 * 7 + 2 * m + m / 2);
  }
  for (const int lg : {1, 2, 3}) {
    const int n = 1 << lg;
    const double share = (n - 1.0) / n;
    const Bytes block{1680 / n};
    CHECK(ideal_ps("recursive_doubling", n, Bytes{1680}) == lg * (7 + m + m / 2));
    for (const char* name : {"halving_doubling", "halving_doubling_near"})
      CHECK(ideal_ps(name, n, block) == 2 * lg * 7 + 2 * share * m + share * m / 2);
  }
  // n = 5: N' = 4, lg N' = 2. Halving-doubling has N' blocks.
  CHECK(ideal_ps("recursive_doubling", 5, Bytes{1680}) == 4 * (7 + m) + 3 * m / 2);
  CHECK(ideal_ps("halving_doubling", 5, Bytes{420}) == 6 * 7 + 2 * 1.75 * m + 1.75 * m / 2);
}

TEST_CASE("naive over eight ranks takes 434") {
  // 14 rounds of alpha 7 and 24 bytes at 1 ps each, no reduction time: 14 * 31.
  AlphaBeta model = tiny_model();
  model.gamma.reset();
  CHECK(ideal_time(*cost_of(row("naive"), {8, {}}), Bytes{24}, model) ==
        Duration::picoseconds(434));
}

TEST_CASE("a million ranks cost no table") {
  // Ring: 2(n-1) steps, of which each of two phases is evaluated once.
  const SchedulePtr ring = make_schedule(row("ring"), {1'000'000, {}});
  const auto measured = measure(*ring);
  REQUIRE(measured.has_value());
  CHECK(measured->rounds == 1'999'998);
  CHECK(measured->sent_blocks == 1'999'998);
  ScheduleStep step;
  ring->step(999'999, 0, 1'999'997, step);
  CHECK(step.sends[0].peer == 0);
  // Everyone to everyone is 2e12 messages, but one rank stands for all: n - 1 messages in each of
  // two rounds. (They were declined when all ranks were walked.)
  const auto direct = measure(*make_schedule(row("direct"), {1'000'000, {}}));
  REQUIRE(direct);
  CHECK(direct->messages == 2 * std::int64_t{1'000'000} * 999'999);
  CHECK(direct->sent_blocks == 2 * std::int64_t{999'999});
  CHECK(cost_of(row("direct"), {1'000'000, {}})->sent_blocks == 1'999'998);
  CHECK(cost_of(row("naive"), {1'000'000, {}})->path_blocks == 2 * 999'999);
}

TEST_CASE("phases repeat the pattern of their first step on every rank") {
  for (const RowCase& each : every_row({2, 3, 8, 16})) {
    const SchedulePtr schedule = each.make();
    CAPTURE(each.name());
    for (const Phase& phase : schedule->phases()) {
      for (int rank = 0; rank < schedule->ranks(); ++rank) {
        const std::int64_t repeats = std::min(phase.count, schedule->steps(rank, 0) - phase.first);
        if (repeats <= 0) continue;
        ScheduleStep first;
        schedule->step(rank, 0, phase.first, first);
        CHECK(first.locals.empty());
        CHECK(first.after.empty());
        for (std::int64_t i = 1; i < repeats; ++i) {
          ScheduleStep later;
          schedule->step(rank, 0, phase.first + i, later);
          REQUIRE(later.sends.size() == first.sends.size());
          REQUIRE(later.receives.size() == first.receives.size());
          for (std::size_t k = 0; k < first.sends.size(); ++k) {
            CHECK(later.sends[k].peer == first.sends[k].peer);
            CHECK(later.sends[k].chunk.count == first.sends[k].chunk.count);
          }
          for (std::size_t k = 0; k < first.receives.size(); ++k) {
            CHECK(later.receives[k].peer == first.receives[k].peer);
            CHECK(later.receives[k].combine == first.receives[k].combine);
          }
        }
      }
    }
  }
}
