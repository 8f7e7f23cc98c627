#include "strategies/sharding/experts/expert_load.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "sim/program/kernel/kernel.hpp"
#include "tests/strategies/step/step_under_test.hpp"

namespace lockstep {
namespace {

TEST_CASE("a rank's load is that of its busiest expert and of others that share the rest") {
  const ExpertLoad even{128, 1, 0};
  const ExpertLoad skewed{128, 4, 0};
  for (const std::int64_t local : {1, 2, 16, 128}) CHECK(even.of(local) == 1);
  CHECK(skewed.of(1) == 4);
  // (4 + 15 * (128 - 4) / 127) / 16
  CHECK(skewed.of(16) == doctest::Approx((4 + 15 * 124.0 / 127) / 16));
  CHECK(skewed.of(128) == doctest::Approx(1));  // all of them: as many as there are
  CHECK(ExpertLoad{1, 1, 0}.of(1) == 1);
}

TEST_CASE("a capacity bounds the load of every expert") {
  CHECK(ExpertLoad{8, 4, 1.25}.of(1) == 1.25);
  CHECK(ExpertLoad{8, 4, 6}.of(1) == 4);
  // 1.25 instead of 4, and 7 others of (8 - 4) / 7 as ever.
  CHECK(ExpertLoad{8, 4, 1.25}.of(8) == doctest::Approx((1.25 + 4) / 8));
  // Below the mean it binds all.
  CHECK(ExpertLoad{8, 4, 0.5}.of(2) == doctest::Approx(0.5));
}

/// 8 experts, of which a token visits 2; 16 tokens a sequence.
ModelConfig model() {
  TransformerConfig shape;
  shape.layers = 1;
  shape.hidden = 32;
  shape.heads = 4;
  shape.sequence = 16;
  shape.vocabulary = 64;
  shape.experts = ExpertsConfig{.experts = 8, .top_k = 2, .ffn = 64};
  return test::transformer(shape);
}

struct Found {
  std::int64_t messages = 0;  // bytes of all-to-alls
  double gemms = 0;           // FLOPs of the experts' GEMMs on a rank
  double share = 0;           // of these, by the mean rank
  std::int64_t taken_in = 0;  // bytes of what the experts take in
  std::int64_t sent = 0;      // bytes of what a rank sends to them
};

Found found(int ep, std::optional<double> skew, double capacity = 0) {
  ParallelConfig layout;
  layout.dp = 8;
  layout.ep = ep;
  layout.micro_batch = 8;
  layout.global_batch = 64;
  layout.expert_skew = skew;
  layout.capacity_factor = capacity;
  const test::TrainingStepUnderTest step{model(), layout};
  Found out;
  out.messages = step.traffic("ep", Collective::all_to_all).bytes;
  for (const Routine& routine : step.program().routines) {
    for (std::size_t i = 0; i < routine.operations.size(); ++i) {
      const Operation& operation = routine.operations[i];
      if (operation.kind != OperationKind::matmul || !operation.name.starts_with("experts."))
        continue;
      const double flops = kernel_of(step.program(), routine, i).flops;
      out.gemms += flops;
      out.share += flops / operation.factor;
    }
  }
  out.taken_in = step.bytes_of("experts.up");
  out.sent = step.bytes_of("experts.slots");
  return out;
}

// One expert a rank: all that is its own is 4 times as much, what it sends is not.
TEST_CASE("skew moves GEMMs, messages and memory of the busiest rank") {
  const Found even = found(8, std::nullopt);
  const Found skewed = found(8, 4);
  CHECK(skewed.messages == 4 * even.messages);
  CHECK(skewed.gemms == 4 * even.gemms);
  CHECK(skewed.taken_in == 4 * even.taken_in);
  CHECK(skewed.share == doctest::Approx(even.gemms));  // what all ranks do stays
}

// Four a rank: (4 + 3 * 4 / 7) / 4 = 10 / 7.
TEST_CASE("several experts a rank share what is missing elsewhere") {
  const Found even = found(2, std::nullopt);
  const Found skewed = found(2, 4);
  CHECK(skewed.gemms == doctest::Approx(even.gemms * 10 / 7).epsilon(0.01));
  CHECK(static_cast<double>(skewed.messages) ==
        doctest::Approx(static_cast<double>(even.messages) * 10 / 7).epsilon(0.01));
}

TEST_CASE("where all experts are on every rank, skew changes nothing") {
  const Found even = found(1, std::nullopt);
  const Found skewed = found(1, 4);
  CHECK(skewed.gemms == even.gemms);
  CHECK(skewed.taken_in == even.taken_in);
}

TEST_CASE("what a rank sends to experts is as much as ever") {
  const auto slots = [](std::optional<double> skew) {
    ParallelConfig layout;
    layout.dp = 8;
    layout.ep = 8;
    layout.micro_batch = 8;
    layout.global_batch = 64;
    layout.expert_skew = skew;
    const test::TrainingStepUnderTest step{model(), layout};
    for (const test::Message& message : step.messages()) {
      if (message.collective() != Collective::all_to_all) continue;
      const std::uint32_t sent = message.in_role->reads.front();
      return local_bytes(step.mesh(), step.role().tensor(sent)).count();
    }
    return std::int64_t{0};
  };
  // 8 sequences of 16 tokens that visit 2 experts, hidden 32 in 16 bits.
  CHECK(slots(std::nullopt) == 8 * 16 * 2 * 32 * 2);
  CHECK(slots(4) == slots(std::nullopt));
}

TEST_CASE(
    "a capacity without skew fills all slots, with it experts hold what comes, at most that") {
  const Found even = found(8, std::nullopt);
  CHECK(found(8, std::nullopt, 2).gemms == 2 * even.gemms);
  CHECK(found(8, 4, 2).gemms == 2 * even.gemms);
  CHECK(found(8, 1.5, 2).gemms == 1.5 * even.gemms);
  CHECK(found(8, 1.5, 2).messages == even.messages * 3 / 2);
  CHECK(found(8, 1, 2).gemms == even.gemms);
}

}  // namespace
}  // namespace lockstep
