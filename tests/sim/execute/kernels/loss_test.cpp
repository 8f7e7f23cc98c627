#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Cross-entropy, whose vocabulary ranks may share: maximum, sum, loss, and back.
namespace lockstep {
namespace {

constexpr std::int64_t kWords = 5;
constexpr double kMean = 1.0 / 6;  // of 2 * 3 tokens
const Shape kRows{{Dim::batch, 2}, {Dim::sequence, 3}};

[[nodiscard]] Part logits() {
  return spread("logits", {{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::vocabulary, kWords}});
}
[[nodiscard]] Part labels() {
  return numbers("labels", kRows, kWords);
}

[[nodiscard]] Operation step(OperationKind kind) {
  Operation out = operation_of(kind);
  out.factor = kMean;
  return out;
}

/// What ranks know of the rows after they have exchanged it.
struct Rows {
  Part maximum = zeros("maximum", kRows);
  Part sum = zeros("sum", kRows);
  Part target = zeros("target", kRows);
};

/// Every part by itself, then the largest maximum and the sums over all.
[[nodiscard]] Rows rows_of(const std::vector<Part>& parts) {
  Rows out;
  out.maximum.values.assign(6, -1e300);
  for (const Part& part : parts) {
    const auto own = run<double>(step(OperationKind::loss_maximum), {part}, {out.maximum})[0];
    for (std::size_t i = 0; i < own.size(); ++i) {
      out.maximum.values[i] = std::max(out.maximum.values[i], own[i]);
    }
  }
  for (const Part& part : parts) {
    const Values<double> own = run<double>(step(OperationKind::loss_sum),
                                           {part, labels(), out.maximum}, {out.sum, out.target});
    for (std::size_t i = 0; i < own[0].size(); ++i) {
      out.sum.values[i] += own[0][i];
      out.target.values[i] += own[1][i];
    }
  }
  return out;
}

[[nodiscard]] double loss_of(const Rows& rows) {
  return run<double>(step(OperationKind::loss), {rows.maximum, rows.sum, rows.target},
                     {zeros("loss", {})})[0][0];
}

[[nodiscard]] std::vector<double> gradient_of(const Part& part, const Rows& rows) {
  return run<double>(step(OperationKind::loss_backward), {part, labels(), rows.maximum, rows.sum},
                     {part})[0];
}

/// Three words here, two and a place that is padding there.
[[nodiscard]] std::vector<Part> halves(const Part& whole) {
  return {cut(whole, Dim::vocabulary, {0, 1, 2}),
          cut(whole, Dim::vocabulary, {3, 4, PartAxis::kPadding})};
}

}  // namespace

TEST_CASE("loss is the mean of -log softmax(logits)[label]") {
  const Part x = logits();
  double expected = 0;
  for (std::size_t row = 0; row < 6; ++row) {
    const double* of = x.values.data() + row * kWords;
    double sum = 0;
    for (std::int64_t i = 0; i < kWords; ++i) sum += std::exp(of[i]);
    expected -= kMean * std::log(std::exp(of[std::llround(labels().values[row])]) / sum);
  }
  CHECK(loss_of(rows_of({x})) == doctest::Approx(expected).epsilon(1e-14));
}

/// As gradient_test.cpp: five-point quotients of a function whose derivatives are below 1.
TEST_CASE("gradients of logits are the slopes of the loss") {
  const Part x = logits();
  const std::vector<double> gradient = gradient_of(x, rows_of({x}));
  constexpr double h = 1e-3;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const auto at = [&](double by) {
      Part moved = x;
      moved.values[i] += by * h;
      return loss_of(rows_of({moved}));
    };
    const double slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h);
    CHECK(std::abs(gradient[i] - slope) <= 1e-11);
  }
}

TEST_CASE("a vocabulary in parts, one of them padded, gives what the whole one gives") {
  const Part x = logits();
  const Rows whole = rows_of({x});
  const Rows cut_rows = rows_of(halves(x));
  CHECK(loss_of(cut_rows) == doctest::Approx(loss_of(whole)).epsilon(1e-14));
  std::vector<double> gradient(x.values.size(), 0.0);
  for (const Part& part : halves(x)) {
    copy_common(part.layout, gradient_of(part, cut_rows), x.layout, gradient, true);
  }
  CHECK(largest_gap(gradient, gradient_of(x, whole)) <= 1e-15);
}

TEST_CASE("padding of a vocabulary has no gradient") {
  const std::vector<Part> parts = halves(logits());
  const std::vector<double> gradient = gradient_of(parts[1], rows_of(parts));
  for (std::size_t row = 0; row < 6; ++row) CHECK(gradient[3 * row + 2] == 0);
}

TEST_CASE("a label beyond the vocabulary is refused") {
  const Part x = logits();
  const Rows rows = rows_of({x});
  const Part wrong = with_values(labels(), std::vector<double>(6, kWords));
  CHECK_THROWS_WITH(
      run<double>(step(OperationKind::loss_backward), {x, wrong, rows.maximum, rows.sum}, {x}),
      "operation (loss_backward): row 5 of 5");
}

/// Errors 1, -2 and 3, 0: sums of squares 5 and 9, half of which are 7; slopes 2 / 2 times the
/// errors.
TEST_CASE("the squared error of predictions is summed row by row, then over all rows") {
  const Shape shape{{Dim::batch, 1}, {Dim::sequence, 2}, {Dim::channels, 2}};
  const Part x = with_values(zeros("x", shape), {2, 1, 4, 5});
  const Part target = with_values(zeros("target", shape), {1, 3, 1, 5});
  const auto of = [](OperationKind kind) {
    Operation out = operation_of(kind);
    out.factor = 0.5;
    return out;
  };
  const Part sum = zeros("sum", {{Dim::batch, 1}, {Dim::sequence, 2}});
  const auto sums = run<double>(of(OperationKind::squared_error), {x, target}, {sum})[0];
  CHECK(sums == std::vector<double>{5, 9});
  CHECK(run<double>(of(OperationKind::loss), {with_values(sum, sums)}, {zeros("loss", {})})[0][0] ==
        7);
  CHECK(run<double>(of(OperationKind::squared_error_backward), {x, target}, {x})[0] ==
        std::vector<double>{1, -2, 3, 0});
}

/// The table's rows on two ranks: each looks up its own, the others are zero, and the sum is all.
TEST_CASE("an embedding whose table is cut adds up to the whole") {
  const Part tokens = labels();
  const Part table = spread("table", {{Dim::vocabulary, kWords}, {Dim::hidden, 3}});
  const Part y = zeros("y", {{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::hidden, 3}});
  const Operation operation = operation_of(OperationKind::embedding);
  std::vector<double> sum(y.values.size(), 0.0);
  for (const Part& part : halves(table)) {
    const auto own = run<double>(operation, {tokens, part}, {y})[0];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }
  CHECK(sum == run<double>(operation, {tokens, table}, {y})[0]);
}

}  // namespace lockstep
