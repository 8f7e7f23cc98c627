#include "sim/execute/kernels/lower_operation.hpp"

#include <array>

#include "sim/base/check.hpp"
#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep {

namespace lowering {

namespace {

using Lower = void (*)(Lowering&);
using Lowerings = std::array<Lower, kOperationKinds>;

/// Of every kind; null: it has no kernel.
[[nodiscard]] Lowerings all_lowerings() {
  Lowerings out{};
  for (const auto& family :
       {gemm_kinds(), attention_kinds(), unfused_kinds(), norm_kinds(), elementwise_kinds(),
        loss_kinds(), experts_kinds(), image_kinds(), update_kinds(), matrices_kinds()}) {
    for (const KindLowering& each : family) {
      LOCKSTEP_CHECK(out[static_cast<std::size_t>(each.kind)] == nullptr);
      out[static_cast<std::size_t>(each.kind)] = each.lower;
    }
  }
  return out;
}

[[nodiscard]] Lower lowering_of(OperationKind kind) {
  static const Lowerings kAll = all_lowerings();
  return kAll[static_cast<std::size_t>(kind)];
}

template <class Real>
[[nodiscard]] Lowering lowering_of(const KernelCall<Real>& call, const std::vector<bool>& adds) {
  Lowering out{call};
  for (const KernelOperand<Real>& each : call.reads) {
    out.reads.push_back(each.layout);
    out.read_tensors.push_back(each.tensor);
  }
  for (const KernelResult<Real>& each : call.writes) {
    out.writes.push_back(each.layout);
    out.tensors.push_back(each.tensor);
  }
  out.adds = adds;
  out.computes = sizeof(Real) == sizeof(double) ? NumberType::fp64 : NumberType::fp32;
  return out;
}

/// Padding stays zero, so that it never counts in a GEMM.
void clear_padding(Lowering& to) {
  for (std::size_t i = 0; i < to.writes.size(); ++i) {
    if (to.writes[i]->filled() == to.writes[i]->elements()) continue;
    Table places;
    const Table indices = to.writes[i]->global_indices();
    for (std::size_t k = 0; k < indices.size(); ++k) {
      if (indices[k] < 0) places.push_back(static_cast<std::int64_t>(k));
    }
    const auto count = static_cast<std::int64_t>(places.size());
    to.add(F::clear, count, {}, {written_number(i)}).tables = {
        std::make_shared<const Table>(std::move(places))};
  }
}

}  // namespace

}  // namespace lowering

template <class Real>
LoweredOperation lower_operation(const KernelCall<Real>& call, const std::vector<bool>& adds,
                                 std::int64_t max_scratch_elements) {
  LOCKSTEP_CHECK(adds.size() == call.writes.size());
  const lowering::Lower lower = lowering::lowering_of(call.operation->kind);
  if (lower == nullptr) kernels::refuse(call, "no computation");
  check_kernel(call);
  lowering::Lowering to = lowering::lowering_of(call, adds);
  to.max_scratch_elements = max_scratch_elements;
  if (call.writes.empty()) return {};  // weights cast to 8 bits, in which nothing is executed
  lower(to);
  lowering::clear_padding(to);
  for (LoweredKernel& each : to.out.kernels) {
    each.launch.in_doubles = each.launch.in_doubles || sizeof(Real) == sizeof(double);
    each.launch.name = call.operation->name;
  }
  return std::move(to.out);
}

template LoweredOperation lower_operation(const KernelCall<float>&, const std::vector<bool>&,
                                          std::int64_t);
template LoweredOperation lower_operation(const KernelCall<double>&, const std::vector<bool>&,
                                          std::int64_t);

}  // namespace lockstep
