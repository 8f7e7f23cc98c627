#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Results by hand: gradients agree with whatever a forward kernel computes, so that has to be
/// right by itself.
namespace lockstep {
namespace {

using Numbers = std::vector<double>;

[[nodiscard]] Part holding(const Shape& shape, Numbers values) {
  return with_values(zeros("x", shape), std::move(values));
}

void check_all_near(const Numbers& got, const Numbers& expected) {
  CHECK(largest_gap(got, expected) <= 1e-15 * 8);  // a few roundings of numbers up to 2
}

[[nodiscard]] double activated(ActivationFunction function, double value) {
  Operation operation = operation_of(OperationKind::activation);
  operation.function = function;
  const Part x = holding({{Dim::ffn, 1}}, {value});
  return run<double>(operation, {x}, {x})[0][0];
}

TEST_CASE("a GEMM is rows by columns, plus the bias") {
  const Part x = holding({{Dim::sequence, 2}, {Dim::hidden, 2}}, {1, 2, 3, 4});
  const Part weight = holding({{Dim::hidden, 2}, {Dim::ffn, 3}}, {5, 6, 7, 8, 9, 10});
  const Part bias = holding({{Dim::ffn, 3}}, {100, 200, 300});
  const Part y = zeros("y", {{Dim::sequence, 2}, {Dim::ffn, 3}});
  const Operation matmul = operation_of(OperationKind::matmul);
  // 1 * 5 + 2 * 8 = 21, 1 * 6 + 2 * 9 = 24, ..., 3 * 7 + 4 * 10 = 61.
  CHECK(run<double>(matmul, {x, weight}, {y})[0] == Numbers{21, 24, 27, 47, 54, 61});
  CHECK(run<double>(matmul, {x, weight, bias}, {y})[0] == Numbers{121, 224, 327, 147, 254, 361});
  KernelSettings second;
  second.adds_bias = false;  // of the ranks that have a summand, the first adds it
  CHECK(run<double>(matmul, {x, weight, bias}, {y}, second)[0] ==
        run<double>(matmul, {x, weight}, {y})[0]);
}

TEST_CASE("activations at one and at minus one") {
  CHECK(activated(ActivationFunction::relu, -1e-3) == 0);
  CHECK(activated(ActivationFunction::relu, 1e-3) == 1e-3);
  // x Phi(x); Phi(1) = 0.841344746068542949 (DLMF 7.17 with erf(1 / sqrt 2)).
  CHECK(activated(ActivationFunction::gelu, 1) ==
        doctest::Approx(0.841344746068543).epsilon(1e-15));
  CHECK(activated(ActivationFunction::gelu, -1) ==
        doctest::Approx(-(1 - 0.841344746068543)).epsilon(1e-14));
  const double logistic = 1 / (1 + std::exp(-1.0));
  CHECK(activated(ActivationFunction::silu, 1) == doctest::Approx(logistic).epsilon(1e-15));
}

TEST_CASE("SwiGLU multiplies with the SiLU of its gate") {
  Operation operation = operation_of(OperationKind::activation);
  operation.function = ActivationFunction::swiglu;
  const Part x = holding({{Dim::ffn, 1}}, {3});
  const Part gate = holding({{Dim::ffn, 1}}, {1});
  check_all_near(run<double>(operation, {x, gate}, {x})[0], {3 / (1 + std::exp(-1.0))});
}

/// 1 and 3: mean 2, variance 1; (9 + 16) / 2 = 12.5 is the mean square of 3 and 4.
TEST_CASE("norms divide by what is left of the numbers") {
  const Shape row{{Dim::sequence, 1}, {Dim::hidden, 2}};
  const Part gain = holding({{Dim::hidden, 2}}, {2, 2});
  const Part bias = holding({{Dim::hidden, 2}}, {0, 1});
  Operation layer = operation_of(OperationKind::normalization);
  const Part two = zeros("statistics", {{Dim::sequence, 1}, {Dim::statistic, 2}});
  const double by = 2 / std::sqrt(1 + 1e-5);
  check_all_near(run<double>(layer, {holding(row, {1, 3}), gain, bias}, {zeros("y", row), two})[0],
                 {-by, by + 1});
  Operation rms = layer;
  rms.norm = Normalization::rms;
  const Part one = zeros("statistics", {{Dim::sequence, 1}, {Dim::statistic, 1}});
  const double root = std::sqrt(12.5 + 1e-5);
  check_all_near(run<double>(rms, {holding(row, {3, 4}), gain}, {zeros("y", row), one})[0],
                 {6 / root, 8 / root});
}

/// Keys that are all alike weigh alike: a causal query at token t gets the mean of values 0 .. t.
TEST_CASE("attention of equal keys is the mean of what is seen") {
  const Shape row{{Dim::batch, 1}, {Dim::sequence, 3}, {Dim::heads, 1}, {Dim::head_size, 1}};
  const Shape keys{{Dim::batch, 1}, {Dim::sequence, 3}, {Dim::kv_heads, 1}, {Dim::head_size, 1}};
  Operation attention = operation_of(OperationKind::attention);
  attention.causal = true;
  const Part statistics =
      zeros("statistics", {{Dim::batch, 1}, {Dim::heads, 1}, {Dim::sequence, 3}});
  const Values<double> out = run<double>(
      attention, {holding(row, {1, 1, 1}), holding(keys, {2, 2, 2}), holding(keys, {3, 5, 10})},
      {zeros("o", row), statistics});
  check_all_near(out[0], {3, 4, 6});
  // log of (t + 1) exp(1 * 2 / sqrt 1).
  check_all_near(out[1], {2, 2 + std::log(2.0), 2 + std::log(3.0)});
}

/// Two keys whose scores, 4 * a key / sqrt 4, are log 1 and log 3 weigh 1 / 4 and 3 / 4.
TEST_CASE("scores are over the root of the head size") {
  const Shape query{{Dim::batch, 1}, {Dim::sequence, 1}, {Dim::heads, 1}, {Dim::head_size, 4}};
  const Shape keys{{Dim::batch, 1}, {Dim::sequence, 2}, {Dim::kv_heads, 1}, {Dim::head_size, 4}};
  const Shape values{{Dim::batch, 1}, {Dim::sequence, 2}, {Dim::kv_heads, 1}, {Dim::value_size, 1}};
  const double third = std::log(3.0) / 2;
  const Part o =
      zeros("o", {{Dim::batch, 1}, {Dim::sequence, 1}, {Dim::heads, 1}, {Dim::value_size, 1}});
  const Part statistics =
      zeros("statistics", {{Dim::batch, 1}, {Dim::heads, 1}, {Dim::sequence, 1}});
  const Values<double> out = run<double>(
      operation_of(OperationKind::attention),
      {holding(query, {1, 1, 1, 1}), holding(keys, {0, 0, 0, 0, third, third, third, third}),
       holding(values, {1, 2})},
      {o, statistics});
  check_all_near(out[0], {1.75});
  check_all_near(out[1], {std::log(4.0)});
}

/// Token 1 turns its first pair by one radian; the second by a tenth of one.
TEST_CASE("rotary turns pairs by the token") {
  const Shape row{{Dim::batch, 1}, {Dim::sequence, 2}, {Dim::heads, 1}, {Dim::head_size, 4}};
  const Part x = holding(row, {1, 0, 1, 0, 1, 0, 0, 1});
  check_all_near(run<double>(operation_of(OperationKind::rotary), {x}, {x})[0],
                 {1, 0, 1, 0, std::cos(1.0), std::sin(1.0), -std::sin(0.1), std::cos(0.1)});
}

TEST_CASE("dropout keeps a share of elements and scales them up") {
  Operation operation = operation_of(OperationKind::dropout);
  operation.dropout = 0.2;
  KernelSettings settings;
  settings.draw = 3;
  const std::size_t n = 10000;
  const Part x = holding({{Dim::hidden, static_cast<std::int64_t>(n)}}, Numbers(n, 1.0));
  const Values<double> out = run<double>(operation, {x}, {x, x}, settings);
  double kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    kept += out[1][i];
    REQUIRE(out[0][i] == (out[1][i] == 0 ? 0 : 1 / 0.8));
  }
  // Binomial: mean 8000, standard deviation sqrt(10000 * 0.2 * 0.8) = 40; five of them.
  CHECK(std::abs(kept - 8000) <= 200);
}

/// A part drops what the whole drops there.
TEST_CASE("which elements are dropped does not depend on who holds them") {
  Operation operation = operation_of(OperationKind::dropout);
  operation.dropout = 0.5;
  const Part x = spread("x", {{Dim::sequence, 6}, {Dim::hidden, 8}});
  const Part y = with_values(x, run<double>(operation, {x}, {x, x})[0]);
  const Part own = cut(x, Dim::sequence, {1, 4});
  CHECK(run<double>(operation, {own}, {own, own})[0] == cut(y, Dim::sequence, {1, 4}).values);
}

/// The later half of a batch of four, by itself.
TEST_CASE("a batch that begins further on drops what the larger one drops there") {
  Operation operation = operation_of(OperationKind::dropout);
  operation.dropout = 0.5;
  KernelSettings later;
  later.first_sample = 2;
  const Part large = spread("x", {{Dim::batch, 4}, {Dim::sequence, 3}, {Dim::hidden, 5}});
  const Part dropped = with_values(large, run<double>(operation, {large}, {large, large})[0]);
  Part half = zeros("x", {{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::hidden, 5}});
  half.values = cut(large, Dim::batch, {2, 3}).values;
  CHECK(run<double>(operation, {half}, {half, half}, later)[0] ==
        cut(dropped, Dim::batch, {2, 3}).values);
}

/// Logits log 1, log 5, log 2, log 2: of equal ones the first is chosen.
TEST_CASE("a router chooses the most probable experts") {
  const Part logits = holding({{Dim::batch, 1}, {Dim::sequence, 1}, {Dim::expert, 4}},
                              {0, std::log(5.0), std::log(2.0), std::log(2.0)});
  const Part chosen = zeros("chosen", {{Dim::batch, 1}, {Dim::sequence, 1}, {Dim::choice, 2}});
  const Values<double> out =
      run<double>(operation_of(OperationKind::router), {logits}, {chosen, chosen});
  check_all_near(out[0], {0.5, 0.2});
  CHECK(out[1] == Numbers{1, 2});
}

/// 32 buckets as T5 has them, each with its number as the bias. In both directions 16, of which 8
/// are a distance each: 8 + 8 log(12 / 8) / log(128 / 8) = 9.2 for 12, and 16 more for later keys.
/// Causal 32 and 16: 16 + 16 log(20 / 16) / log(128 / 16) = 17.7 for 20, and 0 for later keys.
TEST_CASE("relative positions are in buckets of distances, exact ones first") {
  Numbers numbers;
  for (int bucket = 0; bucket < 32; ++bucket) numbers.push_back(bucket);
  const Part table = holding({{Dim::positions, 32}, {Dim::heads, 1}}, numbers);
  const auto buckets = [&](std::int64_t queries, std::int64_t keys, bool causal) {
    Operation operation = operation_of(OperationKind::relative_bias);
    operation.causal = causal;
    const Part scores = zeros(
        "scores", {{Dim::batch, 1}, {Dim::heads, 1}, {Dim::sequence, queries}, {Dim::keys, keys}});
    return run<double>(operation, {scores, table}, {scores})[0];
  };
  const Numbers later = buckets(1, 201, false);
  const Numbers earlier = buckets(201, 1, false);
  const Numbers causal = buckets(201, 1, true);
  const std::vector<std::pair<std::size_t, double>> both{{0, 0},  {1, 1},    {7, 7},   {8, 8},
                                                         {12, 9}, {127, 15}, {200, 15}};
  for (const auto& [distance, bucket] : both) {
    CAPTURE(distance);
    CHECK(earlier[distance] == bucket);
    CHECK(later[distance] == (distance == 0 ? 0 : 16 + bucket));
  }
  const std::vector<std::pair<std::size_t, double>> one{{0, 0},   {1, 1},    {15, 15}, {16, 16},
                                                        {20, 17}, {127, 31}, {200, 31}};
  for (const auto& [distance, bucket] : one) {
    CAPTURE(distance);
    CHECK(causal[distance] == bucket);
  }
  CHECK(buckets(1, 3, true) == Numbers{0, 0, 0});
}

/// Two sequences of two tokens; with a shift one is added to the scale, without it is a gate.
TEST_CASE("each sequence is scaled and shifted by its own vector") {
  const Shape tokens{{Dim::batch, 2}, {Dim::sequence, 2}, {Dim::hidden, 1}};
  const Part x = holding(tokens, {1, 2, 3, 4});
  const Part scale = holding({{Dim::batch, 2}, {Dim::hidden, 1}}, {2, -1});
  const Part shift = holding({{Dim::batch, 2}, {Dim::hidden, 1}}, {10, 20});
  const Operation modulate = operation_of(OperationKind::modulate);
  CHECK(run<double>(modulate, {x, scale, shift}, {x})[0] == Numbers{13, 16, 20, 20});
  CHECK(run<double>(modulate, {x, scale}, {x})[0] == Numbers{2, 4, -3, -4});
  const auto backward = run<double>(operation_of(OperationKind::modulate_backward),
                                    {x, scale, holding(tokens, {1, 1, 1, 2})}, {x, scale, shift});
  CHECK(backward[0] == Numbers{3, 3, 0, 0});
  CHECK(backward[1] == Numbers{3, 11});
  CHECK(backward[2] == Numbers{2, 3});
}

}  // namespace
}  // namespace lockstep
