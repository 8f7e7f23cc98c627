#include "sim/program/kernel/kernel.hpp"

#include "sim/program/kernel/kernel_attention.hpp"
#include "sim/program/kernel/kernel_gemm.hpp"
#include "sim/program/kernel/kernel_traffic.hpp"

namespace lockstep {

namespace {

/// Of GEMMs, as stated; of others what they work on.
Dtype math_of(const Program& program, const Operation& operation) {
  if (operation.math) return *operation.math;
  const bool by_result =
      row_of(operation.kind).work == WorkRule::embedding || operation.reads.empty();
  const auto& of = by_result ? operation.writes : operation.reads;
  return of.empty() ? Dtype::fp32 : tensor_of(program, of.front()).dtype;
}

Kernel make_kernel(const Program& program, const Routine& routine, std::size_t operation,
                   const MaskedAttention* masked) {
  const Operation& of = routine.operations.at(operation);
  Kernel kernel;
  kernel.kind = of.kind;
  const OperationKindRow& row = row_of(of.kind);
  kernel.of = row.of;
  kernel.math = math_of(program, of);
  kernel.backward = of.purpose == Purpose::backward;
  if (row.work == WorkRule::none) return kernel;
  kernel.moved_bytes = bytes_moved(program, of);
  if (of.kind == OperationKind::dropout) kernel.read_elementwise = is_read_elementwise(routine, of);
  if (row.work == WorkRule::gemm) set_matmul(kernel, program, routine, of);
  if (row.work == WorkRule::cast) set_cast(kernel, program, of);
  if (row.work == WorkRule::attention) set_attention(kernel, program, of, masked);
  if (row.work == WorkRule::unfused_attention) set_unfused_attention(kernel, program, of);
  if (row.work == WorkRule::convolution) set_convolution(kernel, program, of);
  if (row.work == WorkRule::gemm_series) set_series(kernel, program, of);
  return kernel;
}

}  // namespace

Kernel kernel_of(const Program& program, const Routine& routine, std::size_t operation) {
  return make_kernel(program, routine, operation, nullptr);
}

Kernel kernel_of(const Program& program, const Routine& routine, std::size_t operation,
                 const MaskedAttention& masked) {
  return make_kernel(program, routine, operation, &masked);
}

}  // namespace lockstep
