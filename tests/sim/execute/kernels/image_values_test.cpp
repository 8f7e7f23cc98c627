#include <doctest/doctest.h>

#include <numeric>

#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Convolutional kernels by hand.
namespace lockstep {
namespace {

using Numbers = std::vector<double>;

[[nodiscard]] Shape image(std::int64_t side) {
  return {{Dim::batch, 1}, {Dim::height, side}, {Dim::width, side}, {Dim::channels, 1}};
}
/// Row by row 1, 2, 3 / 4, 5, 6 / 7, 8, 9.
[[nodiscard]] Part nine() {
  return with_values(zeros("x", image(3)), {1, 2, 3, 4, 5, 6, 7, 8, 9});
}
[[nodiscard]] Operation window(OperationKind kind, int side, int stride) {
  Operation out = operation_of(kind);
  out.window = side;
  out.stride = stride;
  return out;
}

/// Weights 1 to 9 in the same order, at every second pixel. Upper left, weights 5, 6, 8, 9 meet
/// pixels 1, 2, 4, 5: 5 + 12 + 32 + 45 = 94. Upper right, 4, 5, 7, 8 meet 2, 3, 5, 6: 8 + 15 + 35 +
/// 48 = 106. Lower left, 2, 3, 5, 6 meet 4, 5, 7, 8: 8 + 15 + 35 + 48 = 106. Lower right, 1, 2, 4,
/// 5 meet 5, 6, 8, 9: 5 + 12 + 32 + 45 = 94.
TEST_CASE("a convolution is padded with zeros") {
  Numbers weights(9);
  std::iota(weights.begin(), weights.end(), 1.0);
  const Part weight = with_values(zeros("weight", {{Dim::window, 9}, {Dim::channels, 1}}), weights);
  CHECK(run<double>(window(OperationKind::convolution, 3, 2), {nine(), weight},
                    {zeros("y", image(2))})[0] == Numbers{94, 106, 106, 94});
}

TEST_CASE("a pool takes the largest of each window, or the mean of all") {
  CHECK(run<double>(window(OperationKind::pool, 3, 2), {nine()}, {zeros("y", image(2))})[0] ==
        Numbers{5, 6, 8, 9});
  const Part mean = zeros("y", {{Dim::batch, 1}, {Dim::channels, 1}});
  const Numbers got = run<double>(window(OperationKind::pool, 0, 1), {nine()}, {mean})[0];
  CHECK(got[0] == doctest::Approx(5).epsilon(1e-15));
}

/// A maximum has no slope where pixels are equal; the first one gets the gradient, once.
TEST_CASE("of equal pixels the first gets the gradient") {
  const Part x = with_values(nine(), Numbers(9, 2.0));
  const Part y = with_values(zeros("y", image(1)), {2});
  const Part g = with_values(y, {7});
  CHECK(run<double>(window(OperationKind::pool_backward, 3, 3), {x, y, g}, {x})[0] ==
        Numbers{7, 0, 0, 0, 0, 0, 0, 0, 0});
}

/// Eight channels of three frames; channel 0 comes from the frame after, channel 1 from the one
/// before, and zeros come from beyond the ends.
TEST_CASE("a temporal shift moves one channel each way") {
  const Part x = with_values(
      zeros(
          "x",
          {{Dim::batch, 1}, {Dim::time, 3}, {Dim::height, 1}, {Dim::width, 1}, {Dim::channels, 8}}),
      {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3});
  CHECK(run<double>(operation_of(OperationKind::temporal_shift), {x}, {x})[0] ==
        Numbers{2, 0, 1, 1, 1, 1, 1, 1, 3, 1, 2, 2, 2, 2, 2, 2, 0, 2, 3, 3, 3, 3, 3, 3});
}

[[nodiscard]] Shape tokens(std::int64_t count) {
  return {{Dim::batch, 2}, {Dim::sequence, count}, {Dim::hidden, 2}};
}

/// Two images of two patches each, two numbers wide; the class token is (9, 8) in both, and its
/// gradient the sum of both images': 1 + 7 and 2 + 8.
TEST_CASE("every image gets the class token before its patches") {
  const Part x = with_values(zeros("x", tokens(2)), {1, 2, 3, 4, 5, 6, 7, 8});
  const Part token = with_values(zeros("weight", {{Dim::hidden, 2}}), {9, 8});
  CHECK(run<double>(operation_of(OperationKind::class_token), {x, token},
                    {zeros("y", tokens(3))})[0] == Numbers{9, 8, 1, 2, 3, 4, 9, 8, 5, 6, 7, 8});
  const Part g = with_values(zeros("g", tokens(3)), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const auto got = run<double>(operation_of(OperationKind::class_token_backward), {g}, {x, token});
  CHECK(got[0] == Numbers{3, 4, 5, 6, 9, 10, 11, 12});
  CHECK(got[1] == Numbers{8, 10});
}

TEST_CASE("pooling takes the first token of every image, or the mean") {
  const Part x = with_values(zeros("x", tokens(2)), {1, 2, 3, 4, 5, 6, 7, 8});
  const Part y = zeros("y", {{Dim::batch, 2}, {Dim::hidden, 2}});
  CHECK(run<double>(window(OperationKind::pool_tokens, 1, 1), {x}, {y})[0] == Numbers{1, 2, 5, 6});
  CHECK(run<double>(window(OperationKind::pool_tokens, 0, 1), {x}, {y})[0] == Numbers{2, 3, 6, 7});
  const Part g = with_values(y, {2, 4, 6, 8});
  CHECK(run<double>(window(OperationKind::pool_tokens_backward, 1, 1), {g}, {x})[0] ==
        Numbers{2, 4, 0, 0, 6, 8, 0, 0});
  CHECK(run<double>(window(OperationKind::pool_tokens_backward, 0, 1), {g}, {x})[0] ==
        Numbers{1, 2, 1, 2, 3, 4, 3, 4});
}

}  // namespace
}  // namespace lockstep
