#include "strategies/step/lowering/costs/chunked_gemms.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/strategies/step/step_under_test.hpp"

namespace lockstep::test {
namespace {

constexpr int kRanks = 4;

/// Links of a rate; kernels take what the test says.
class Links final : public CostModel {
 public:
  explicit Links(std::optional<Rate> rate) : rate_{rate} {}
  [[nodiscard]] Duration time(const Kernel& /*kernel*/) const override { return {}; }
  [[nodiscard]] std::optional<Rate> peer_rate() const override { return rate_; }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }

 private:
  std::optional<Rate> rate_;
};

[[nodiscard]] TrainingStepUnderTest step(bool overlaps) {
  TransformerConfig shape;
  shape.layers = 1;
  shape.hidden = 64;
  shape.heads = 4;
  shape.sequence = 32;
  shape.vocabulary = 64;
  ParallelConfig parallel;
  parallel.tp = kRanks;
  parallel.sequence_parallel = true;
  if (overlaps) parallel.overlap.insert(Overlap::tp);
  return {transformer(shape), parallel};
}

/// Names of GEMMs of a layer's pass of which less than all is left, where each takes 1 us, and
/// what is left of the first of them.
struct Shortened {
  std::vector<std::string> names{};
  Duration first{};
};
[[nodiscard]] Shortened shortened(const TrainingStepUnderTest& step, const std::string& pass,
                                  const CostModel& cost) {
  Shortened out;
  for (const Routine& routine : step.program().routines) {
    if (routine.name != "layer." + pass) continue;
    std::vector<Duration> times(routine.operations.size(), 1_us);
    chunk_gemms(step.program(), routine, cost, times);
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] == 1_us) continue;
      if (out.names.empty()) out.first = times[i];
      out.names.push_back(routine.operations[i].name);
    }
  }
  return out;
}

TEST_CASE("GEMMs overlap with gathered operands and scattered results chunk by chunk") {
  const Links slow{Rate::bytes_per_second(1)};
  const Shortened forward = shortened(step(true), "forward", slow);
  CHECK(forward.names ==
        std::vector<std::string>{"attention.q", "attention.out", "mlp.up", "mlp.down"});
  CHECK(forward.first == 250_ns);  // one chunk of four
  const Shortened backward = shortened(step(true), "backward", slow);
  CHECK(backward.names ==
        std::vector<std::string>{"mlp.down.input_gradient", "attention.out.input_gradient"});
}

// Each of 32 tokens has 64 numbers of 16 bits: 4096 bytes, of which three quarters travel; beside
// the GEMM three of their four chunks: 2304 bytes.
TEST_CASE("what is left of a GEMM is what chunks on their way do not cover") {
  const Links fast{Rate::bytes_per_second(2304 * 2'000'000LL)};  // half a microsecond
  CHECK(shortened(step(true), "forward", fast).first == 500_ns);
}

TEST_CASE("without overlap, or without links, GEMMs stay as they are") {
  CHECK(shortened(step(false), "forward", Links{Rate::bytes_per_second(1)}).names.empty());
  CHECK(shortened(step(true), "forward", Links{std::nullopt}).names.empty());
}

}  // namespace
}  // namespace lockstep::test
