#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/execute/kernels/execution_error.hpp"
#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Muon (Jordan et al., 2024), against its formulas as plain loops and what they are for.
namespace lockstep {
namespace {

constexpr double kRounding = 1e-12;

struct Dense {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values{};
  [[nodiscard]] double& at(std::size_t i, std::size_t k) { return values[i * columns + k]; }
  [[nodiscard]] double at(std::size_t i, std::size_t k) const { return values[i * columns + k]; }
};

Dense dense(std::size_t rows, std::size_t columns) {
  return {rows, columns, std::vector<double>(rows * columns, 0.0)};
}

Dense product(const Dense& a, const Dense& b) {
  Dense out = dense(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < b.columns; ++k)
      for (std::size_t j = 0; j < a.columns; ++j) out.at(i, k) += a.at(i, j) * b.at(j, k);
  return out;
}

Dense transposed(const Dense& a) {
  Dense out = dense(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k) out.at(k, i) = a.at(i, k);
  return out;
}

/// X <- a X + b (X X^T) X + c (X X^T)^2 X from X over its norm, on the shorter side or not.
Dense newton_schulz(Dense x, int iterations) {
  double squares = 0;
  for (const double value : x.values) squares += value * value;
  for (double& value : x.values) value /= std::sqrt(squares) + 1e-7;
  for (int i = 0; i < iterations; ++i) {
    const Dense gram = product(x, transposed(x));
    const Dense third = product(gram, x);
    const Dense fifth = product(gram, third);
    for (std::size_t k = 0; k < x.values.size(); ++k)
      x.values[k] = 3.4445 * x.values[k] - 4.7750 * third.values[k] + 2.0315 * fifth.values[k];
  }
  return x;
}

Operation orthogonalize(const MatrixStack& of) {
  Operation out = operation_of(OperationKind::orthogonalize);
  out.matrices = of;
  return out;
}

Part stack(std::int64_t items, std::int64_t elements) {
  return spread("stack", {{Dim::matrix, items}, {Dim::element, elements}});
}

Dense item(const std::vector<double>& values, std::size_t which, std::size_t rows,
           std::size_t columns) {
  Dense out = dense(rows, columns);
  std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(which * rows * columns), rows * columns,
              out.values.begin());
  return out;
}

void check_close(const Dense& got, const Dense& expected) {
  REQUIRE(got.values.size() == expected.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i)
    CHECK(std::abs(got.values[i] - expected.values[i]) < kRounding);
}

TEST_CASE("orthogonalize: every matrix of a stack by itself, wide, tall and square") {
  for (const auto& [rows, columns] : {std::pair{3, 7}, std::pair{6, 2}, std::pair{4, 4}}) {
    for (const int iterations : {1, 2, 5}) {
      const Part x = stack(3, rows * columns);
      const auto result =
          run<double>(orthogonalize({.rows = rows, .columns = columns, .iterations = iterations}),
                      {x}, {zeros("y", {{Dim::matrix, 3}, {Dim::element, rows * columns}})}, {});
      for (std::size_t i = 0; i < 3; ++i) {
        const auto m = static_cast<std::size_t>(rows);
        const auto n = static_cast<std::size_t>(columns);
        check_close(item(result[0], i, m, n), newton_schulz(item(x.values, i, m, n), iterations));
      }
    }
  }
}

/// Jordan et al.: singular values end between 0.7 and 1.2 after five iterations.
TEST_CASE("orthogonalize: rows are close to orthonormal") {
  const Part x = stack(1, 4 * 16);
  const auto result = run<double>(orthogonalize({.rows = 4, .columns = 16}), {x},
                                  {zeros("y", {{Dim::matrix, 1}, {Dim::element, 64}})}, {});
  const Dense y = item(result[0], 0, 4, 16);
  const Dense gram = product(y, transposed(y));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(gram.at(i, i) > 0.4);
    CHECK(gram.at(i, i) < 1.5);
    for (std::size_t k = 0; k < i; ++k) CHECK(std::abs(gram.at(i, k)) < 0.4);
  }
}

/// Blocks of columns one after the other, each padded, are the same matrix.
TEST_CASE("orthogonalize: a matrix in blocks, with experts and padding") {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kColumns = 4;
  constexpr std::int64_t kBlock = 2 * kRows * 2 + 1;  // two experts, half of the columns
  const MatrixStack form{.rows = kRows, .columns = kColumns, .count = 2, .column_parts = 2};
  const Part x = stack(1, 2 * kBlock);
  const auto result = run<double>(orthogonalize(form), {x},
                                  {zeros("y", {{Dim::matrix, 1}, {Dim::element, 2 * kBlock}})}, {});
  for (std::size_t expert = 0; expert < 2; ++expert) {
    Dense matrix = dense(kRows, kColumns);
    Dense got = dense(kRows, kColumns);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t k = 0; k < kColumns; ++k) {
        const std::size_t place = k / 2 * kBlock + expert * kRows * 2 + i * 2 + k % 2;
        matrix.at(i, k) = x.values[place];
        got.at(i, k) = result[0][place];
      }
    }
    check_close(got, newton_schulz(matrix, 5));
  }
  CHECK(result[0][kBlock - 1] == 0);  // padding
}

/// The Gram matrices of both blocks add up to that of the matrix.
TEST_CASE("orthogonalize: an iteration on a block with the Gram matrix of the whole matrix") {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kColumns = 4;
  for (const bool columns : {true, false}) {
    CAPTURE(columns);
    MatrixStack form{.rows = columns ? kRows : kColumns, .columns = columns ? kColumns : kRows};
    (columns ? form.column_parts : form.row_parts) = 2;
    const std::int64_t side = columns ? form.rows : form.columns;
    Operation gram = operation_of(OperationKind::gram);
    gram.matrices = form;
    const Shape half{{Dim::matrix, 1}, {Dim::element, kRows * kColumns / 2}};
    const Shape square{{Dim::matrix, 1}, {Dim::element, side * side}};
    const std::vector<Part> blocks{spread("left", half), spread("right", half)};
    Dense whole =
        dense(static_cast<std::size_t>(form.rows), static_cast<std::size_t>(form.columns));
    const auto at = [&](std::size_t block, std::size_t i) -> double& {
      const std::size_t width = columns ? 2 : 3;
      const std::size_t row = i / width + (columns ? 0 : 2 * block);
      return whole.at(row, i % width + (columns ? 2 * block : 0));
    };
    Part sum = zeros("a", square);
    for (std::size_t block = 0; block < 2; ++block) {
      for (std::size_t i = 0; i < 6; ++i) at(block, i) = blocks[block].values[i];
      const auto part = run<double>(gram, {blocks[block]}, {zeros("a", square)});
      for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += part[0][i];
    }
    const Dense expected = newton_schulz(whole, 1);
    for (std::size_t block = 0; block < 2; ++block) {
      const auto result =
          run<double>(orthogonalize(form), {blocks[block], sum}, {zeros("y", half)});
      whole = expected;
      for (std::size_t i = 0; i < 6; ++i) CHECK(std::abs(result[0][i] - at(block, i)) < kRounding);
    }
  }
}

TEST_CASE("orthogonalize: zeros stay zeros") {
  const Part x = zeros("x", {{Dim::matrix, 2}, {Dim::element, 6}});
  const auto result = run<double>(orthogonalize({.rows = 2, .columns = 3}), {x},
                                  {zeros("y", {{Dim::matrix, 2}, {Dim::element, 6}})}, {});
  CHECK(std::all_of(result[0].begin(), result[0].end(), [](double y) { return y == 0; }));
}

TEST_CASE("momentum: m = mu m + g, and g + mu m goes to the weight's place in the stack") {
  const Shape shape{{Dim::hidden, 2}, {Dim::ffn, 3}};
  const std::vector<Part> reads{spread("g0", shape), spread("m0", shape), spread("g1", shape),
                                spread("m1", shape)};
  // Room for three items of 7: one item and one element each are padding.
  const std::vector<Part> writes{zeros("y", {{Dim::matrix, 3}, {Dim::element, 7}}),
                                 zeros("m0", shape), zeros("m1", shape)};
  const auto result =
      run<double>(operation_of(OperationKind::momentum), reads, writes, KernelSettings{});
  const double mu = OptimizerSettings{}.muon_momentum;
  std::vector<double> expected(21, 0);
  for (std::size_t weight = 0; weight < 2; ++weight) {
    for (std::size_t i = 0; i < 6; ++i) {
      const double gradient = reads[2 * weight].values[i];
      const double moment = mu * reads[2 * weight + 1].values[i] + gradient;
      CHECK(result[1 + weight][i] == doctest::Approx(moment).epsilon(kRounding));
      expected[weight * 7 + i] = gradient + mu * moment;
    }
  }
  for (std::size_t i = 0; i < 21; ++i)
    CHECK(result[0][i] == doctest::Approx(expected[i]).epsilon(kRounding));
}

/// Liu et al., arXiv 2502.16982: 0.2 sqrt(max(m, n)) times the learning rate of Adam.
TEST_CASE("update by a stack: as long as Adam's, of the master copy if there is one") {
  const Shape shape{{Dim::hidden, 4}, {Dim::ffn, 9}};
  for (const bool master : {false, true}) {
    Operation update = operation_of(OperationKind::update);
    update.optimizer = Optimizer::muon;
    update.matrices = MatrixStack{.rows = 4, .columns = 9};
    const std::vector<Part> reads{stack(2, 36), spread("w0", shape), spread("w1", shape)};
    std::vector<Part> writes{zeros("w0", shape), zeros("w1", shape)};
    if (master)
      writes = {zeros("w0", shape), zeros("m0", shape), zeros("w1", shape), zeros("m1", shape)};
    const auto result = run<double>(update, reads, writes, KernelSettings{});
    const double rate = OptimizerSettings{}.adam_learning_rate * 0.2 * 3;
    for (std::size_t i = 0; i < writes.size(); ++i) {
      const std::size_t weight = master ? i / 2 : i;
      for (std::size_t k = 0; k < 36; ++k)
        CHECK(result[i][k] ==
              doctest::Approx(reads[1 + weight].values[k] - rate * reads[0].values[weight * 36 + k])
                  .epsilon(kRounding));
    }
  }
}

TEST_CASE("matrices: operands that do not fit are refused") {
  const auto refused = [](const Operation& operation, const std::vector<Part>& reads,
                          const std::vector<Part>& writes) {
    CHECK_THROWS_AS(run<double>(operation, reads, writes, KernelSettings{}), ExecutionError);
  };
  const Part y = zeros("y", {{Dim::matrix, 1}, {Dim::element, 6}});
  refused(orthogonalize({.rows = 3, .columns = 3}), {stack(1, 6)}, {y});
  refused(orthogonalize({.rows = 2, .columns = 3, .row_parts = 4}), {stack(1, 6)}, {y});
  refused(orthogonalize({.rows = 2, .columns = 3}), {spread("x", {{Dim::hidden, 6}})}, {y});
  refused(orthogonalize({.rows = 2, .columns = 3}), {cut(stack(1, 6), Dim::element, {0, 1, 2})},
          {y});
  const Shape large{{Dim::hidden, 7}};
  refused(operation_of(OperationKind::momentum), {spread("g", large), spread("m", large)},
          {y, zeros("m", large)});
}

}  // namespace
}  // namespace lockstep
