#include "sim/program/kernel/kernel_traffic.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace lockstep;

namespace {

/// A GEMM that writes tensor 2, and what comes after it.
[[nodiscard]] Routine behind_gemm(std::vector<Operation> next) {
  Operation gemm;
  gemm.kind = OperationKind::matmul;
  gemm.reads = {Ref{0}, Ref{1}};
  gemm.writes = {Ref{2}};
  Routine out{"layer.forward", {std::move(gemm)}};
  for (Operation& one : next) out.operations.push_back(std::move(one));
  return out;
}

[[nodiscard]] Operation operation(OperationKind kind, std::vector<Ref> reads,
                                  std::vector<Ref> writes) {
  Operation out;
  out.kind = kind;
  out.reads = std::move(reads);
  out.writes = std::move(writes);
  return out;
}

[[nodiscard]] bool elementwise(const Routine& routine, std::size_t index = 0) {
  return is_read_elementwise(routine, routine.operations[index]);
}

}  // namespace

// Megatron-LM joins the bias of a GEMM with GeLU, or with dropout and residual addition
// (Narayanan et al. 2021, arXiv 2104.04473, section 4.2).
TEST_CASE("an activation function, dropout or addition may be joined with the GEMM before it") {
  using Kind = OperationKind;
  CHECK_FALSE(elementwise(behind_gemm({})));
  CHECK(elementwise(behind_gemm({operation(Kind::activation, {Ref{2}}, {Ref{3}})})));
  CHECK(elementwise(behind_gemm({operation(Kind::dropout, {Ref{2}}, {Ref{3}, Ref{4}})})));
  CHECK(elementwise(behind_gemm({operation(Kind::add, {Ref{5}, Ref{2}}, {Ref{3}})})));
  CHECK_FALSE(elementwise(behind_gemm({operation(Kind::normalization, {Ref{2}}, {Ref{3}})})));
  // The first reader decides.
  CHECK_FALSE(
      elementwise(behind_gemm({operation(Kind::attention_scores, {Ref{2}, Ref{2}}, {Ref{3}}),
                               operation(Kind::activation, {Ref{2}}, {Ref{4}})})));
}

TEST_CASE("tensor parallelism sums a result before it is dropped and added") {
  using Kind = OperationKind;
  const Routine routine = behind_gemm({operation(Kind::collective, {Ref{2}}, {Ref{3}}),
                                       operation(Kind::dropout, {Ref{3}}, {Ref{4}, Ref{5}}),
                                       operation(Kind::add, {Ref{4}, Ref{6}}, {Ref{7}}),
                                       operation(Kind::dropout, {Ref{7}}, {Ref{8}, Ref{9}})});
  CHECK(elementwise(routine));
  CHECK(elementwise(routine, 2));
  CHECK_FALSE(elementwise(routine, 4));  // nothing reads it
}
