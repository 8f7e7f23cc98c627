#include "strategies/sharding/experts/unequal_experts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/program/kernel/kernel.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Ranks of an expert group with loads of their own (ParallelConfig::expert_skew).
namespace lockstep::test {
namespace {

/// Bytes that a schedule moves from one rank to another, of sends; those of receives must agree.
std::map<std::pair<int, int>, std::int64_t> moved(const Schedule& schedule) {
  std::map<std::pair<int, int>, std::int64_t> sent;
  std::map<std::pair<int, int>, std::int64_t> received;
  ScheduleStep step;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::int64_t i = 0; i < schedule.steps(rank, 0); ++i) {
      step.clear();
      schedule.step(rank, 0, i, step);
      for (const Send& send : step.sends) sent[{rank, send.peer}] += step.blocks_of(send);
      for (const Receive& from : step.receives) received[{from.peer, rank}] += step.blocks_of(from);
      for (const LocalOperation& own : step.locals) {
        sent[{rank, rank}] += own.from.count;
        received[{rank, rank}] += own.to.count;
      }
    }
  }
  CHECK(sent == received);
  return sent;
}

/// 8 experts, of which a token visits 2; 16 tokens a sequence.
ModelConfig model() {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 32;
  shape.heads = 4;
  shape.sequence = 16;
  shape.vocabulary = 64;
  shape.bias = false;
  shape.experts = ExpertsConfig{.experts = 8, .top_k = 2, .ffn = 64};
  return transformer(shape);
}

ParallelConfig layout(int ep, double skew) {
  ParallelConfig out;
  out.dp = 8;
  out.ep = ep;
  out.micro_batch = 8;
  out.global_batch = 128;
  out.expert_skew = skew;
  return out;
}

FoldCase on_switch(const ParallelConfig& parallel) {
  FoldCase out{"", {}, switched(parallel.ranks())};
  out.layout.model = model();
  out.layout.parallel = parallel;
  return out;
}

}  // namespace

// One rank has b bytes with each, the n - 1 others o: what all send, with their own, is
// n (b + (n - 1) o), and each pair has it once.
TEST_CASE("each pair of an unequal all-to-all has the bytes of its unequal end") {
  constexpr std::int64_t kBusiest = 700;
  for (const int n : {2, 3, 4, 5, 7, 8, 16, 33}) {
    for (const bool rounds : {false, true}) {
      for (const bool returns : {false, true}) {
        for (const double others : {0.0, 1.0 / 7, 0.5}) {
          const auto schedule =
              make_unequal_all_to_all(n, rounds, Bytes{kBusiest}, TokenSkew{others, returns});
          const auto pairs = moved(*schedule);
          std::int64_t sum = 0;
          const std::int64_t other = std::llround(kBusiest * others);
          for (const auto& [ends, bytes] : pairs) {
            const bool busiest = (returns ? ends.first : ends.second) == 0;
            CHECK(bytes == (busiest ? kBusiest : other));
            sum += bytes;
          }
          CHECK(sum == n * (kBusiest + (n - 1) * other));
        }
      }
    }
  }
}

// Skew s of E experts on as many ranks: the first has s times the mean, each other (E - s) /
// (E - 1) times. The mean over ranks is what a rank sends.
TEST_CASE("tokens that ranks take in are those that ranks send") {
  for (const int ep : {2, 4, 8}) {
    for (const double skew : {1.5, 2.0, 4.0}) {
      CAPTURE(ep);
      CAPTURE(skew);
      const TrainingStepUnderTest step{model(), layout(ep, skew)};
      const TrainingStepUnderTest even{model(), layout(ep, 1)};
      const double own = 8.0 / ep;
      const double rest = (8 - skew) / 7;
      const double first = (skew + (own - 1) * rest) / own;
      int there = 0;
      int back = 0;
      for (const Message& message : step.messages()) {
        if (message.collective() != Collective::all_to_all) continue;
        const auto of = token_skew(step.program(), *message.operation);
        REQUIRE(of);
        ++(of->returns ? back : there);
        CHECK(of->others == doctest::Approx(rest / first));
        // Of all n * n pairs; the mean rank sends what it sends without skew.
        const double all = static_cast<double>(message.bytes) * (1 + (ep - 1) * of->others);
        const double sent = static_cast<double>(even.traffic("ep", Collective::all_to_all).bytes /
                                                even.traffic("ep", Collective::all_to_all).count);
        CHECK(all / ep == doctest::Approx(sent).epsilon(0.02));  // slots are whole
      }
      CHECK(there > 0);
      CHECK(there == back);
    }
  }
  const TrainingStepUnderTest even{model(), layout(8, 1)};
  for (const Message& message : even.messages())
    CHECK_FALSE(token_skew(even.program(), *message.operation));
}

TEST_CASE("GEMMs and tensors of the other ranks have the rest of the tokens") {
  for (const int ep : {2, 8}) {
    const TrainingStepUnderTest step{model(), layout(ep, 4)};
    const auto experts = UnequalExperts::of(step.program());
    REQUIRE(experts);
    const Program others = experts->of_others(step.program());
    double first = 0;
    double other = 0;
    double mean = 0;
    for (std::size_t r = 0; r < others.routines.size(); ++r) {
      const Routine& routine = step.program().routines[r];
      for (std::size_t i = 0; i < routine.operations.size(); ++i) {
        const Operation& operation = routine.operations[i];
        if (operation.kind != OperationKind::matmul || !operation.name.starts_with("experts."))
          continue;
        CHECK(experts->differs(step.program(), operation));
        first += kernel_of(step.program(), routine, i).flops;
        other += kernel_of(others, others.routines[r], i).flops;
        mean += kernel_of(step.program(), routine, i).flops / operation.factor;
      }
    }
    // All that is computed stays, but for slots that are whole.
    CHECK(first + (ep - 1) * other == doctest::Approx(ep * mean).epsilon(0.01));
    CHECK(other / first == doctest::Approx(experts->others()).epsilon(0.02));
    std::set<int> busiest;
    for (int rank = 0; rank < step.mesh().ranks(); ++rank)
      if (experts->place_of(step.mesh(), rank) == 0) busiest.insert(rank);
    CHECK(busiest.size() == static_cast<std::size_t>(8 / ep));
    CHECK(busiest.contains(0));
  }
}

// Of 8 ranks on one switch with an expert each, skew 4: the first takes in 4 times the mean, the
// others 4 / 7. Directions of a link tell what comes in and goes out.
TEST_CASE("a simulated step moves each pair's bytes, and folds to the same picosecond") {
  for (const int ep : {2, 4, 8}) {
    for (const double skew : {1.5, 4.0}) {
      for (const bool overlaps : {false, true}) {
        ParallelConfig parallel = layout(ep, skew);
        if (overlaps) parallel.overlap = {Overlap::ep, Overlap::dp_gradients};
        CAPTURE(ep);
        CAPTURE(skew);
        const FoldOutcome outcome = hold_against_unfolded(on_switch(parallel));
        CHECK(outcome.difference == "");
        CHECK(outcome.classes >= 2);
      }
    }
  }
}

TEST_CASE("a step waits for the rank with the busiest expert, and takes less than if all were") {
  const auto time = [](double skew) {
    return simulated_step(on_switch(layout(8, skew)), Folding::off).timeline.end.since_start();
  };
  const Duration even = time(1);
  Duration before = even;
  for (const double skew : {1.5, 2.0, 4.0}) {
    const Duration now = time(skew);
    CHECK(now > before);
    before = now;
  }
  // Messages into one rank through one link: those of the busiest expert, as if all had as many.
  CHECK(before > even);
}

}  // namespace lockstep::test
