#include "sim/execute/program/computations.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/random_bits.hpp"

namespace lockstep::execution {

namespace {

using Kind = OperationKind;

/// Replicas of the loss may differ by rounding.
template <class Real>
constexpr double kSameLoss = sizeof(Real) == sizeof(double) ? 1e-9 : 1e-4;

/// What attention parts and recomputed operations are parts and copies of.
[[nodiscard]] std::string drawn_as(const Operation& operation) {
  if (row_of(operation.kind).work == WorkRule::attention) return "attention";
  constexpr std::string_view kAgain = ".again";
  std::string name = operation.name;
  if (name.ends_with(kAgain)) name.resize(name.size() - kAgain.size());
  return name;
}

}  // namespace

template <class Real>
void Computations<Real>::begin_step(int step) {
  step_ = step;
  losses_.clear();
}

template <class Real>
void Computations<Real>::run(const RankCursor& cursor, std::uint32_t index) {
  const RoleOperation& what = cursor.operation(index);
  const Operation& operation = *what.operation;
  KernelCall<Real> call = kernel_call(cursor, index);
  try {
    run_lowered(call, lowered(cursor.rank, call));
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{}: {}", state_.who(cursor, index), error.what())};
  }
  for (std::size_t i = 0; i < what.writes.size(); ++i) {
    values_.store(cursor, index, what.writes[i], std::move(call.write(i).values),
                  adds(operation, *call.write(i).tensor));
  }
  if (operation.kind != Kind::loss) return;
  losses_[{cursor.rank, index}] =
      static_cast<double>(values_.held(cursor.rank, write_of(what, Operand::loss)).values.at(0));
}

template <class Real>
const LoweredOperation& Computations<Real>::lowered(int rank, const KernelCall<Real>& call) {
  const auto part = static_cast<std::size_t>(rank);
  if (lowered_.size() <= part) lowered_.resize(part + 1);
  Lowered& known = lowered_[part][call.operation];
  std::size_t i = 0;
  bool fits = known.layouts.size() == call.reads.size() + call.writes.size();
  for (const KernelOperand<Real>& each : call.reads)
    fits = fits && known.layouts[i++] == each.layout;
  for (const KernelResult<Real>& each : call.writes)
    fits = fits && known.layouts[i++] == each.layout;
  const bool by_step =  // draws of dropout, documents of a microbatch, rates of an optimizer
      call.operation->dropout > 0 || call.operation->visible.packed.any() ||
      class_of(call.operation->kind) == OperationClass::optimizer;
  if (fits && !by_step) return known.operation;
  known.operation = lower_operation(call, std::vector<bool>(call.writes.size(), false));
  known.layouts.clear();
  for (const KernelOperand<Real>& each : call.reads) known.layouts.push_back(each.layout);
  for (const KernelResult<Real>& each : call.writes) known.layouts.push_back(each.layout);
  return known.operation;
}

template <class Real>
bool Computations<Real>::adds(const Operation& operation, const Tensor& written) {
  const bool gradient = written.category == Category::gradient && !row_of(operation.kind).carries;
  return !combines_itself(operation) && (operation.accumulate || gradient);
}

template <class Real>
KernelSettings Computations<Real>::settings(const RankCursor& cursor, std::uint32_t index) const {
  const RoleOperation& what = cursor.operation(index);
  KernelSettings out;
  out.operation = what.operation;
  out.optimizer = options_.optimizer;
  out.step = step_;
  out.dropping = options_.dropping;
  if (what.operation->kind == Kind::matmul) {
    const MeshSubAxes& partial = cursor.role->tensor(write_of(what, Operand::y)).partial;
    out.adds_bias = state_.program().mesh.coordinate(cursor.rank, partial) == 0;
  }
  if (what.operation->dropout > 0) out.draw = draw_of(what);
  if (what.operation->dropout > 0 || what.operation->visible.packed.any()) {
    out.first_sample = first_sample(what, cursor.role->tensor(what.reads[0]));
  }
  return out;
}

template <class Real>
KernelCall<Real> Computations<Real>::kernel_call(const RankCursor& cursor, std::uint32_t index) {
  const RoleOperation& what = cursor.operation(index);
  KernelCall<Real> call;
  static_cast<KernelSettings&>(call) = settings(cursor, index);
  for (const std::uint32_t read : what.reads) {
    call.reads.push_back({&cursor.role->tensor(read), &values_.layout(cursor, index, read),
                          &values_.read(cursor, index, read)});
  }
  for (const std::uint32_t write : what.writes) {
    const PartLayout& part = values_.layout(cursor, index, write);
    call.writes.push_back({&cursor.role->tensor(write), &part,
                           std::vector<Real>(static_cast<std::size_t>(part.elements()), 0)});
  }
  return call;
}

/// The same on every rank, for a part of an operation and for its recomputation.
template <class Real>
std::uint64_t Computations<Real>::draw_of(const RoleOperation& what) const {
  std::uint64_t draw = mixed(options_.seed, drawn_as(*what.operation));
  draw = mixed(draw, static_cast<std::uint64_t>(step_));
  return mixed(draw, static_cast<std::uint64_t>(what.call.position));
}

/// Where its microbatch begins among the samples of the step: a sample is dropped the same elements
/// of, however samples are distributed over microbatches and replicas.
template <class Real>
std::int64_t Computations<Real>::first_sample(const RoleOperation& what,
                                              const Tensor& tensor) const {
  const Extent* batch = find_extent(tensor, Dim::batch);
  const std::int64_t size = batch == nullptr ? 1 : batch->size;
  if (options_.sample_of) return options_.sample_of(what.call.microbatch, 0, size);
  return std::int64_t{what.call.microbatch} * size;
}

template <class Real>
double Computations<Real>::loss() const {
  std::map<std::vector<int>, double> found;  // per set of ranks that have it together
  for (const auto& [place, value] : losses_) {
    const RankCursor& cursor = state_.cursor(place.first);
    const Tensor& tensor =
        cursor.role->tensor(write_of(cursor.operation(place.second), Operand::loss));
    found[state_.program().mesh.members(cursor.rank, tensor.partial)] += value;
  }
  if (found.empty()) throw ExecutionError{"no rank computes a loss"};
  const double out = found.begin()->second;
  for (const auto& [ranks, value] : found) {
    if (std::abs(value - out) <= kSameLoss<Real> * std::abs(out)) continue;
    throw ExecutionError{
        fmt::format("ranks from {} on have a loss of {}, those from {} on one of {}",
                    found.begin()->first.front(), out, ranks.front(), value)};
  }
  return out;
}

template class Computations<float>;
template class Computations<double>;

}  // namespace lockstep::execution
