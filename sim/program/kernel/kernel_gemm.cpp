#include "sim/program/kernel/kernel_gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "sim/program/kernel/kernel_traffic.hpp"

namespace lockstep {

namespace {

/// The dimensions of a GEMM, each the GEMM of the rank's lengths.
struct Gemm {
  double batches = 1;
  double m = 1;
  double n = 1;
  double k = 1;
  bool over_tokens = true;  // k is

  [[nodiscard]] double flops() const { return 2 * batches * m * n * k; }
};

bool is_token(Dim dim) {
  return dim == Dim::batch || dim == Dim::sequence || dim == Dim::slot || dim == Dim::time ||
         dim == Dim::height || dim == Dim::width;
}

/// Rows of the result are tokens, wherever only one operand brings tokens into it.
bool transposed(const Tensor& a, const Tensor& b, const Tensor& y) {
  const auto brings_tokens = [&y](const Tensor& from, const Tensor& other) {
    return std::any_of(from.extents.begin(), from.extents.end(), [&](const Extent& extent) {
      return is_token(extent.dim) && has_dim(y, extent.dim) && !has_dim(other, extent.dim);
    });
  };
  return brings_tokens(b, a) && !brings_tokens(a, b);
}

Gemm gemm_of(const Program& program, const Operation& operation) {
  const Tensor* a = &tensor_of(program, read_of(operation, Operand::a));
  const Tensor* b = &tensor_of(program, read_of(operation, Operand::b));
  const Tensor& y = tensor_of(program, write_of(operation, Operand::y));
  if (transposed(*a, *b, y)) std::swap(a, b);
  Gemm out;
  const auto multiply = [&program](double& by, const Tensor& tensor, Dim dim) {
    by *= local_length(program, tensor, dim);
  };
  for (const Extent& extent : a->extents) {
    const bool shared = has_dim(*b, extent.dim);
    if (has_dim(y, extent.dim)) multiply(shared ? out.batches : out.m, *a, extent.dim);
    if (!has_dim(y, extent.dim) && shared) {
      multiply(out.k, *a, extent.dim);
      out.over_tokens = out.over_tokens && is_token(extent.dim);
    }
  }
  for (const Extent& extent : b->extents) {
    if (has_dim(y, extent.dim) && !has_dim(*a, extent.dim)) multiply(out.n, *b, extent.dim);
  }
  return out;
}

/// All GEMMs of a group as one: deeper where they add up to one result, else wider where they
/// have the same rows, else longer.
Gemm together(const Program& program, std::span<const Operation* const> group) {
  Gemm all = gemm_of(program, *group.front());
  double flops = 0;
  bool same_result = true;
  bool same_rows = true;
  for (const Operation* operation : group) {
    const Gemm one = gemm_of(program, *operation);
    flops += one.flops();
    same_result =
        same_result && write_of(*operation, Operand::y) == write_of(*group.front(), Operand::y);
    same_rows = same_rows && one.m == all.m;
  }
  double& grows = same_result ? all.k : same_rows ? all.n : all.m;
  grows *= flops / all.flops();
  return all;
}

/// What a GEMM multiplies.
constexpr std::array kFactors{Operand::a, Operand::b};

/// The GEMMs that run as one kernel with this one, itself included.
std::vector<const Operation*> group_of(const Routine& routine, const Operation& operation) {
  if (operation.fused <= 0) return {&operation};
  std::vector<const Operation*> out;
  for (const Operation& other : routine.operations) {
    if (other.kind == operation.kind && other.fused == operation.fused) out.push_back(&other);
  }
  return out;
}

/// Rounded up, but for what multiplying left behind the point.
std::int64_t whole(double length) {
  return static_cast<std::int64_t>(std::ceil(length - 1e-6));
}

bool seen_before(const std::vector<Ref>& seen, const Ref& ref) {
  return std::find(seen.begin(), seen.end(), ref) != seen.end();
}

/// What GEMMs of the same number before it have read, each as a kernel of its own.
std::vector<Ref> read_before(const Routine& routine, const Operation& operation) {
  std::vector<Ref> out;
  if (operation.fused >= 0) return out;
  for (const Operation& other : routine.operations) {
    if (&other == &operation) break;
    if (other.kind != operation.kind || other.fused != operation.fused) continue;
    for (const Operand operand : kFactors) out.push_back(read_of(other, operand));
  }
  return out;
}

double elements_of(const Program& program, const Ref& ref) {
  return static_cast<double>(unflattened_elements(program.mesh, tensor_of(program, ref)));
}

void add_cast(Kernel& kernel, const Program& program, double elements) {
  kernel.cast_kernels += program.casts.kernels;
  kernel.cast_bytes += program.casts.traffic * elements;
}

/// Operands of a group of GEMMs: those of one place (left, right) are cast by one kernel.
void set_casts(Kernel& kernel, const Program& program, const Routine& routine,
               std::span<const Operation* const> group) {
  if (!is_narrow(kernel.math)) return;
  std::vector<Ref> seen = read_before(routine, *group.front());
  for (std::size_t place = 0; place < kFactors.size(); ++place) {
    double elements = 0;
    for (const Operation* operation : group) {
      const Ref& operand = read_of(*operation, kFactors[place]);
      const bool cast = operation->at_hand[place] || is_narrow(tensor_of(program, operand).dtype);
      if (cast || seen_before(seen, operand)) continue;
      seen.push_back(operand);
      elements += elements_of(program, operand);
    }
    if (elements > 0) add_cast(kernel, program, elements);
  }
}

void set_gemm(Kernel& kernel, const Gemm& gemm) {
  kernel.batches = whole(gemm.batches);
  kernel.m = whole(gemm.m);
  kernel.n = whole(gemm.n);
  kernel.k = whole(gemm.k);
  kernel.flops = gemm.flops();
  kernel.over_tokens = gemm.over_tokens;
}

/// Columns that are computed of a symmetric result of this side: half of its tiles by kernels that
/// write each also on the other side of the diagonal (syrk: dion newton_schulz_triton.py, ns_line_1
/// and ns_line_2; Emerging-Optimizers' tsyrk), as a GEMM of half as many.
std::int64_t columns_of_symmetric(const MatrixStack& form, std::int64_t side) {
  return form.symmetric ? (side + 1) / 2 : side;
}

/// Newton-Schulz iterations of the shorter side m: X X^T, A A and B X, 4 m^2 n + 2 m^3 FLOPs
/// (Jordan et al., Muon, 2024), half of the first two where their symmetry is used.
std::vector<SeriesGemm> newton_schulz(const MatrixStack& form, std::int64_t matrices) {
  const std::int64_t m = std::min(form.rows, form.columns);
  const std::int64_t n = std::max(form.rows, form.columns);
  const std::int64_t some = columns_of_symmetric(form, m);
  const double times = form.iterations;
  return {{times, matrices, m, some, n}, {times, matrices, m, some, m}, {times, matrices, m, n, m}};
}

/// The same on one block of matrices that are cut along one side: its Gram matrix, or what follows
/// with that of the whole matrix.
std::vector<SeriesGemm> block_iteration(const MatrixStack& form, std::int64_t matrices, bool gram) {
  const bool columns = form.column_parts > 1;
  const std::int64_t side = columns ? form.rows : form.columns;
  const std::int64_t cut = columns ? form.columns / form.column_parts : form.rows / form.row_parts;
  const std::int64_t some = columns_of_symmetric(form, side);
  if (gram) return {{1, matrices, side, some, cut}};
  return {{1, matrices, side, some, side}, {1, matrices, side, cut, side}};
}

/// SOAP of one side m, the other n: the gradient's Gram matrix, the projection of the gradient into
/// the basis and of the step out of it; every so many steps a new basis from the last one by power
/// iteration, three products of m^3 (two estimate eigenvalues), and QR, 8/3 m^3 FLOPs with its
/// orthogonal factor (Vyas et al., SOAP, arXiv 2409.11321, algorithm 3, and its soap.py; Golub and
/// Van Loan, section 5.2).
void add_side(std::vector<SeriesGemm>& out, const MatrixStack& form, std::int64_t matrices,
              std::int64_t m, std::int64_t n) {
  if (m > form.largest_side) return;
  out.push_back({1, matrices, m, m, n});
  out.push_back({2, matrices, m, n, m});
  out.push_back({(3 + 4.0 / 3) / form.every, matrices, m, m, m});
}

std::vector<SeriesGemm> soap(const MatrixStack& form, std::int64_t matrices) {
  std::vector<SeriesGemm> out;
  add_side(out, form, matrices, form.rows, form.columns);
  add_side(out, form, matrices, form.columns, form.rows);
  return out;
}

}  // namespace

void set_series(Kernel& kernel, const Program& program, const Operation& operation) {
  const Tensor& stack = tensor_of(program, read_of(operation, Operand::x));
  const MatrixStack& form = operation.matrices.value();
  const std::int64_t matrices = whole(local_length(program, stack, Dim::matrix)) * form.count;
  const bool gram = operation.kind == OperationKind::gram;
  if (operation.kind == OperationKind::precondition) {
    kernel.series = soap(form, matrices);
  } else if (gram || reads(operation, Operand::a)) {
    kernel.series = block_iteration(form, matrices, gram);
  } else {
    kernel.series = newton_schulz(form, matrices);
  }
  for (const SeriesGemm& gemm : kernel.series) kernel.flops += gemm.flops();
}

void set_matmul(Kernel& kernel, const Program& program, const Routine& routine,
                const Operation& operation) {
  const std::vector<const Operation*> group = group_of(routine, operation);
  kernel.moved_bytes = 0;
  if (group.front() != &operation) {
    kernel.fused_away = true;
    return;
  }
  set_gemm(kernel, together(program, group));
  set_casts(kernel, program, routine, group);
  kernel.bias = reads(operation, Operand::bias);
  kernel.read_elementwise = kernel.bias && is_read_elementwise(routine, operation);
  KernelTraffic traffic{program};
  for (const Operation* one : group) {
    traffic.add(*one);
    kernel.gradient_bytes += gradient_bytes_of(program, *one);
  }
  kernel.moved_bytes = traffic.bytes();
}

void set_cast(Kernel& kernel, const Program& program, const Operation& operation) {
  double elements = 0;
  for (const Ref& ref : operation.writes) {
    if (is_narrow(tensor_of(program, ref).dtype)) elements += elements_of(program, ref);
  }
  if (operation.writes.empty()) {
    for (const Ref& ref : operation.reads) {
      const bool weight = tensor_of(program, ref).category == Category::weight;
      if (weight) elements += elements_of(program, ref);
    }
  }
  if (elements > 0) add_cast(kernel, program, elements);
}

void set_convolution(Kernel& kernel, const Program& program, const Operation& operation) {
  const bool forward = writes(operation, Operand::y);
  const bool of_weight = writes(operation, gradient_of(Operand::weight));
  const Tensor& out = tensor_of(program, forward ? write_of(operation, Operand::y)
                                                 : read_of(operation, gradient_of(Operand::y)));
  const Tensor& weight =
      tensor_of(program, of_weight ? write_of(operation, gradient_of(Operand::weight))
                                   : read_of(operation, Operand::weight));
  const double channels = local_length(program, weight, Dim::channels);
  const double window = local_length(program, weight, Dim::window);
  const double pixels = static_cast<double>(unflattened_elements(program.mesh, out)) /
                        local_length(program, out, Dim::channels);
  Gemm gemm{1, pixels, channels, window, false};
  if (writes(operation, gradient_of(Operand::x))) gemm = {1, pixels, window, channels, false};
  if (of_weight) gemm = {1, channels, window, pixels, false};
  set_gemm(kernel, gemm);
}

}  // namespace lockstep
