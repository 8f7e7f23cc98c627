#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

/// Optimizers of whole matrices. The host computes them.
namespace lockstep::lowering {

namespace {

using Numbers = std::vector<double>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A launch on the host with all operands.
KernelLaunch& on_host(Lowering& to) {
  KernelLaunch& launch = to.each(F::on_host);
  for (const PartLayout* read : to.reads) launch.sizes.push_back(read->elements());
  for (const PartLayout* write : to.writes) launch.sizes.push_back(write->elements());
  return launch;
}

/// Items of a stack, and elements of each on this rank.
struct StackSize {
  std::int64_t items = 0;
  std::int64_t elements = 0;
};
[[nodiscard]] StackSize size_of(const KernelSettings& call, const Tensor& tensor,
                                const PartLayout& layout) {
  return {kernels::axis_of(call, tensor, layout, Dim::matrix).length(),
          kernels::axis_of(call, tensor, layout, Dim::element).length()};
}

/// Its part of the stack has room for a weight's.
void check_fits(const Lowering& to, const StackSize& stack, std::size_t items,
                const std::vector<const PartLayout*>& parts) {
  const bool fits = std::ssize(parts) > 0 && static_cast<std::int64_t>(items) <= stack.items &&
                    std::all_of(parts.begin(), parts.end(), [&](const PartLayout* part) {
                      return part->elements() <= stack.elements;
                    });
  if (!fits) kernels::refuse(to.call, "a stack of another size than its weights");
}

/// Nesterov momentum (Jordan et al., Muon, 2024): m = mu m + g, direction g + mu m.
void momentum(Lowering& to) {
  const std::size_t weights = to.reads.size() / 2;
  const StackSize stack = size_of(to.call, *to.tensors.at(0), *to.writes.at(0));
  if (to.writes.size() != weights + 1 || to.reads.size() % 2 != 0)
    kernels::refuse(to.call, "not a momentum for every gradient");
  for (std::size_t i = 0; i < weights; ++i) {
    if (to.reads[2 * i]->global_indices() != to.writes[i + 1]->global_indices())
      kernels::refuse(to.call, "a momentum of another part than its gradient");
  }
  check_fits(to, stack, weights, {to.writes.begin() + 1, to.writes.end()});
  const double mu = to.call.optimizer.muon_momentum;
  on_host(to).on_host = [=](const std::vector<Numbers>& reads, std::vector<Numbers>& writes) {
    std::fill(writes[0].begin(), writes[0].end(), 0);
    for (std::size_t i = 0; i < weights; ++i) {
      const Numbers& gradient = reads[2 * i];
      Numbers& moment = writes[i + 1];
      const std::size_t first = i * static_cast<std::size_t>(stack.elements);
      for (std::size_t k = 0; k < gradient.size(); ++k) {
        moment[k] = mu * reads[2 * i + 1][k] + gradient[k];
        writes[0][first + k] = gradient[k] + mu * moment[k];
      }
    }
  };
}

// Coefficients: Jordan et al., Muon (2024), as dion and torch.optim.Muon have them.
constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;
constexpr double kLeast = 1e-7;

[[nodiscard]] Matrix orthogonalized(Matrix x, int iterations) {
  x /= x.norm() + kLeast;
  const bool tall = x.rows() > x.cols();
  if (tall) x = Matrix{x.transpose()};
  for (int i = 0; i < iterations; ++i) {
    const Matrix gram = x * x.transpose();
    const Matrix polynomial = kB * gram + kC * gram * gram;
    x = kA * x + Matrix{polynomial * x};
  }
  if (tall) x = Matrix{x.transpose()};
  return x;
}

/// Block by block.
[[nodiscard]] Matrix orthogonalized(Matrix x, const MatrixStack& form) {
  if (form.rows_apart * form.columns_apart == 1)
    return orthogonalized(std::move(x), form.iterations);
  const std::int64_t rows = form.rows / form.rows_apart;
  const std::int64_t columns = form.columns / form.columns_apart;
  for (std::int64_t i = 0; i < form.rows_apart; ++i)
    for (std::int64_t k = 0; k < form.columns_apart; ++k) {
      auto block = x.block(i * rows, k * columns, rows, columns);
      block = orthogonalized(Matrix{block}, form.iterations);
    }
  return x;
}

/// Calls `visit(place, matrix, row, column)` for every element of an item.
template <class Visit>
void each_element(const MatrixStack& form, std::int64_t block, Visit&& visit) {
  const std::int64_t rows = form.rows / form.row_parts;
  const std::int64_t columns = form.columns / form.column_parts;
  const std::int64_t parts = std::int64_t{form.row_parts} * form.column_parts;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first_row = part / form.column_parts * rows;
    const std::int64_t first_column = part % form.column_parts * columns;
    for (std::int64_t i = 0; i < form.count * rows * columns; ++i)
      visit(static_cast<std::size_t>(part * block + i),
            static_cast<std::size_t>(i / (rows * columns)), first_row + i / columns % rows,
            first_column + i % columns);
  }
}

/// A rank's block of a matrix that is cut along one side.
struct BlockSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool by_columns = false;  // the matrix is cut

  /// Of the Gram matrix, which sums over what is cut.
  [[nodiscard]] std::int64_t side() const { return by_columns ? rows : columns; }
};
[[nodiscard]] BlockSize block_of(const MatrixStack& form) {
  return {form.rows / form.row_parts, form.columns / form.column_parts, form.column_parts > 1};
}

/// The matrices of a stack one after the other.
[[nodiscard]] std::vector<Matrix> matrices_of(const Numbers& stack, const StackSize& size,
                                              std::int64_t count, std::int64_t rows,
                                              std::int64_t columns) {
  std::vector<Matrix> out;
  for (std::int64_t item = 0; item < size.items; ++item)
    for (std::int64_t i = 0; i < count; ++i)
      out.push_back(Eigen::Map<const Matrix>(
          stack.data() + item * size.elements + i * rows * columns, rows, columns));
  return out;
}
void store(const std::vector<Matrix>& matrices, std::int64_t count, const StackSize& size,
           Numbers& stack) {
  std::fill(stack.begin(), stack.end(), 0);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    std::copy_n(matrices[i].data(), matrices[i].size(),
                stack.begin() + at / count * size.elements + at % count * matrices[i].size());
  }
}

void check_block(const Lowering& to, const MatrixStack& form, const StackSize& stack,
                 const StackSize& grams) {
  const BlockSize block = block_of(form);
  const bool fits = (form.row_parts == 1 || form.column_parts == 1) &&
                    form.rows % form.row_parts == 0 && form.columns % form.column_parts == 0 &&
                    form.count * block.rows * block.columns <= stack.elements &&
                    grams.items == stack.items &&
                    grams.elements == form.count * block.side() * block.side();
  if (!fits) kernels::refuse(to.call, "a stack of other matrices");
}

/// X X^T of a block of columns, X^T X of a block of rows: summed over blocks, that of the matrix.
void gram(Lowering& to) {
  const MatrixStack form = to.operation().matrices.value_or(MatrixStack{});
  const StackSize stack = size_of(to.call, *to.read_tensors.at(0), *to.reads.at(0));
  const StackSize grams = size_of(to.call, *to.tensors.at(0), *to.writes.at(0));
  check_block(to, form, stack, grams);
  const BlockSize block = block_of(form);
  on_host(to).on_host = [=](const std::vector<Numbers>& reads, std::vector<Numbers>& writes) {
    std::vector<Matrix> all = matrices_of(reads[0], stack, form.count, block.rows, block.columns);
    for (Matrix& x : all)
      x = block.by_columns ? Matrix{x * x.transpose()} : Matrix{x.transpose() * x};
    store(all, form.count, grams, writes[0]);
  };
}

/// One iteration with the Gram matrix of the whole matrix; its trace is the square of the norm.
void iterate(Lowering& to) {
  const MatrixStack form = to.operation().matrices.value_or(MatrixStack{});
  const StackSize stack = size_of(to.call, *to.read_tensors.at(0), *to.reads.at(0));
  const StackSize grams = size_of(to.call, *to.read_tensors.at(1), *to.reads.at(1));
  check_block(to, form, stack, grams);
  const BlockSize block = block_of(form);
  on_host(to).on_host = [=](const std::vector<Numbers>& reads, std::vector<Numbers>& writes) {
    std::vector<Matrix> all = matrices_of(reads[0], stack, form.count, block.rows, block.columns);
    std::vector<Matrix> gram = matrices_of(reads[1], grams, form.count, block.side(), block.side());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double norm = form.normalized ? 1 : std::sqrt(gram[i].trace()) + kLeast;
      const Matrix x = all[i] / norm;
      const Matrix a = gram[i] / (norm * norm);
      const Matrix polynomial = kB * a + kC * a * a;
      all[i] = kA * x + (block.by_columns ? Matrix{polynomial * x} : Matrix{x * polynomial});
    }
    store(all, form.count, stack, writes[0]);
  };
}

void orthogonalize(Lowering& to) {
  if (to.reads_it(Operand::a)) return iterate(to);
  const MatrixStack form = to.operation().matrices.value_or(MatrixStack{});
  const StackSize stack = size_of(to.call, *to.read_tensors.at(0), *to.reads.at(0));
  const std::int64_t blocks = std::int64_t{form.row_parts} * form.column_parts;
  if (blocks > 1)
    kernels::check_whole(to.call, *to.read_tensors[0], *to.reads[0]->find(Dim::element));
  const bool fits = form.rows % form.row_parts == 0 && form.columns % form.column_parts == 0 &&
                    stack.elements % blocks == 0 && form.rows % form.rows_apart == 0 &&
                    form.columns % form.columns_apart == 0 &&
                    form.count * form.rows * form.columns <= stack.elements &&
                    to.reads[0]->axes == to.writes.at(0)->axes;
  if (!fits) kernels::refuse(to.call, "a stack of other matrices");
  on_host(to).on_host = [=](const std::vector<Numbers>& reads, std::vector<Numbers>& writes) {
    std::fill(writes[0].begin(), writes[0].end(), 0);
    for (std::int64_t item = 0; item < stack.items; ++item) {
      const std::size_t first = static_cast<std::size_t>(item * stack.elements);
      std::vector<Matrix> all(static_cast<std::size_t>(form.count),
                              Matrix(form.rows, form.columns));
      each_element(form, stack.elements / blocks, [&](auto place, auto matrix, auto i, auto k) {
        all[matrix](i, k) = reads[0][first + place];
      });
      for (Matrix& matrix : all) matrix = orthogonalized(std::move(matrix), form);
      each_element(form, stack.elements / blocks, [&](auto place, auto matrix, auto i, auto k) {
        writes[0][first + place] = all[matrix](i, k);
      });
    }
  };
}

}  // namespace

/// [stack, weight or its master copy ...] -> [weight, (master copy) ...]. As long as Adam's steps
/// (Liu et al., Muon is scalable for LLM training, arXiv 2502.16982, equation 4).
void update_by_stack(Lowering& to) {
  const StackSize stack = size_of(to.call, *to.read_tensors.at(0), *to.reads.at(0));
  const std::size_t weights = to.reads.size() - 1;
  const std::size_t results = weights == 0 ? 0 : to.writes.size() / weights;
  if (results == 0 || results > 2 || to.writes.size() != results * weights)
    kernels::refuse(to.call, "not a result for every weight");
  for (std::size_t i = 0; i < to.writes.size(); ++i) {
    if (to.reads[1 + i / results]->global_indices() != to.writes[i]->global_indices())
      kernels::refuse(to.call, "updates another part of a weight than it reads");
  }
  check_fits(to, stack, weights, {to.writes.begin(), to.writes.end()});
  const MatrixStack form = to.operation().matrices.value_or(MatrixStack{});
  const double rate = to.call.optimizer.adam_learning_rate * 0.2 *
                      std::sqrt(static_cast<double>(std::max(form.rows / form.rows_apart,
                                                             form.columns / form.columns_apart)));
  on_host(to).on_host = [=](const std::vector<Numbers>& reads, std::vector<Numbers>& writes) {
    for (std::size_t i = 0; i < writes.size(); ++i) {
      const std::size_t first = i / results * static_cast<std::size_t>(stack.elements);
      for (std::size_t k = 0; k < writes[i].size(); ++k)
        writes[i][k] = reads[1 + i / results][k] - rate * reads[0][first + k];
    }
  };
}

std::span<const KindLowering> matrices_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::momentum, momentum},
      KindLowering{OperationKind::orthogonalize, orthogonalize},
      KindLowering{OperationKind::gram, gram},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
