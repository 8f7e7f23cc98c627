#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/kernels/random_bits.hpp"
#include "tests/sim/execute/device_program/large_cases.hpp"
#include "tests/sim/execute/kernels/gradient_case.hpp"

/// Kernels beside the oracle, which writes every formula as plain loops: the sums are the same up
/// to the order in which they are added.
namespace lockstep {
namespace {

/// Roundings of n terms in another order, n eps times the sum of their sizes (Higham, Accuracy and
/// Stability of Numerical Algorithms, 2nd edition, section 4.2): n is below 10^4, terms below 1.
constexpr double kTolerance = 1e-11;

void check_alike(const Values<double>& got, const Values<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    double size = 1;
    for (const double each : expected[i]) size = std::max(size, std::abs(each));
    CHECK(largest_gap(got[i], expected[i]) <= kTolerance * size);
  }
}

void check_case(const GradientCase& test) {
  CAPTURE(test.forward.name);
  const Values<double> results =
      run_oracle<double>(test.forward, test.reads, test.results, test.settings);
  check_alike(run<double>(test.forward, test.reads, test.results, test.settings), results);
  if (test.gradients_of.empty()) return;
  const BackwardOperation of = backward_of<double>(test, results);
  check_alike(run<double>(of.operation, of.reads, of.writes, test.settings),
              run_oracle<double>(of.operation, of.reads, of.writes, test.settings));
}

/// Small sizes from a seed.
class Sizes {
 public:
  explicit Sizes(std::uint64_t seed) : seed_{seed} {}
  [[nodiscard]] std::int64_t upto(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(mixed(seed_, drawn_++) % static_cast<std::uint64_t>(most));
  }
  [[nodiscard]] bool coin() { return upto(2) == 1; }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

[[nodiscard]] GradientCase random_attention(Sizes& sizes) {
  const std::int64_t groups = sizes.upto(3);
  const std::int64_t heads = groups * sizes.upto(3);
  const std::int64_t batch = sizes.upto(2);
  const std::int64_t tokens = sizes.upto(80);
  const auto rows = [&](Dim dim, std::int64_t count, Dim width, std::int64_t size) {
    return Shape{{Dim::batch, batch}, {Dim::sequence, tokens}, {dim, count}, {width, size}};
  };
  const std::int64_t width = sizes.upto(20);
  const std::int64_t value_width = sizes.upto(20);
  GradientCase out;
  out.forward = operation_of(OperationKind::attention, "attention of a random shape");
  out.forward.causal = sizes.coin();
  if (out.forward.causal && sizes.coin()) {
    out.forward.visible = {.window = sizes.upto(tokens), .chunked = sizes.coin()};
  }
  if (out.forward.causal && sizes.coin()) {
    for (auto count = sizes.upto(3); count > 0; --count)
      out.forward.visible.documents.push_back(sizes.upto(tokens));
  }
  out.reads = {spread("q", rows(Dim::heads, heads, Dim::head_size, width)),
               spread("k", rows(Dim::kv_heads, groups, Dim::head_size, width)),
               spread("v", rows(Dim::kv_heads, groups, Dim::value_size, value_width))};
  out.results = {
      zeros("o", rows(Dim::heads, heads, Dim::value_size, value_width)),
      zeros("statistics", {{Dim::batch, batch}, {Dim::heads, heads}, {Dim::sequence, tokens}})};
  out.backward = OperationKind::attention_backward;
  out.backward_reads = {x(0), x(1), x(2), y(0), y(1), gradient(0)};
  out.gradients_of = {0, 1, 2};
  if (sizes.coin()) {
    out.reads.push_back(spread("sinks", {{Dim::heads, heads}}));
    out.backward_reads.push_back(x(3));
    out.gradients_of.push_back(3);
  }
  if (sizes.coin()) {
    out.forward.dropout = 0.25;
    out.settings.draw = 5;
  }
  return out;
}

/// y = x w, and its two gradients, of dimensions in any order.
[[nodiscard]] GradientCase random_gemm(Sizes& sizes) {
  Shape left{
      {Dim::batch, sizes.upto(5)}, {Dim::sequence, sizes.upto(9)}, {Dim::hidden, sizes.upto(40)}};
  Shape right{left[2], {Dim::ffn, sizes.upto(40)}};
  Shape result{left[0], left[1], right[1]};
  if (sizes.coin()) std::swap(left[0], left[2]);
  if (sizes.coin()) std::swap(right[0], right[1]);
  if (sizes.coin()) std::swap(result[0], result[2]);
  GradientCase out;
  out.forward = operation_of(OperationKind::matmul, "a product of a random shape");
  out.reads = {spread("x", left), spread("w", right)};
  out.results = {zeros("y", result)};
  out.backward = OperationKind::matmul;
  const bool by_input = sizes.coin();
  out.backward_reads = by_input ? std::vector{gradient(0), x(1)} : std::vector{x(0), gradient(0)};
  out.gradients_of = {by_input ? 0U : 1U};
  return out;
}

[[nodiscard]] GradientCase random_norm(Sizes& sizes) {
  const Shape shape{
      {Dim::batch, sizes.upto(4)}, {Dim::sequence, sizes.upto(300)}, {Dim::hidden, sizes.upto(70)}};
  GradientCase out;
  out.forward = operation_of(OperationKind::normalization, "norm of a random shape");
  out.forward.norm = sizes.coin() ? Normalization::layer : Normalization::rms;
  Shape statistics = shape;
  statistics[2] = {Dim::statistic, out.forward.norm == Normalization::layer ? 2 : 1};
  out.reads = {spread("x", shape), spread("gain", {shape[2]})};
  out.results = {zeros("y", shape), zeros("statistics", statistics)};
  out.backward = OperationKind::normalization_backward;
  out.backward_reads = {x(0), x(1), y(1), gradient(0)};
  out.gradients_of = {0, 1};
  if (sizes.coin()) {
    out.reads.push_back(spread("bias", {shape[2]}));
    out.gradients_of.push_back(2);
  }
  return out;
}

TEST_CASE("every kernel computes what the oracle does") {
  for (const GradientCases& cases : {gradient_cases(), large_cases()}) {
    for (const GradientCase& test : cases) check_case(test);
  }
}

TEST_CASE("attention, products and norms of random shapes are those of the oracle") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Sizes sizes{seed};
    check_case(random_attention(sizes));
    check_case(random_gemm(sizes));
    check_case(random_norm(sizes));
  }
}

}  // namespace
}  // namespace lockstep
