#include "sim/program/kernel.hpp"

#include "sim/program/kernel_attention.hpp"
#include "sim/program/kernel_gemm.hpp"
#include "sim/program/kernel_traffic.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;
using Class = OperationClass;

/// Of GEMMs, as stated; of others what they work on.
Dtype math_of(const Program& program, const Operation& operation) {
  if (operation.math) return *operation.math;
  const auto& of = operation.kind == Kind::embedding || operation.reads.empty() ? operation.writes
                                                                                : operation.reads;
  return of.empty() ? Dtype::fp32 : tensor_of(program, of.front()).dtype;
}

}  // namespace

Kernel kernel_of(const Program& program, const Routine& routine, std::size_t operation) {
  const Operation& of = routine.operations.at(operation);
  Kernel kernel;
  kernel.kind = of.kind;
  kernel.of = class_of(of.kind);
  kernel.math = math_of(program, of);
  kernel.backward = of.purpose == Purpose::backward;
  if (kernel.of == Class::communication || kernel.of == Class::copy) {
    return kernel;
  }
  kernel.moved_bytes = bytes_moved(program, of);
  if (of.kind == Kind::matmul) set_matmul(kernel, program, routine, of);
  if (of.kind == Kind::cast) set_cast(kernel, program, of);
  if (kernel.of == Class::attention) set_attention(kernel, program, of);
  if (kernel.of == Class::convolution) set_convolution(kernel, program, of);
  return kernel;
}

}  // namespace lockstep
