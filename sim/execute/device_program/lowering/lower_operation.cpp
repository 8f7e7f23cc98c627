#include "sim/execute/device_program/lowering/lower_operation.hpp"

#include "sim/base/check.hpp"
#include "sim/execute/device_program/lowering/lowering_parts.hpp"
#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/kernel_list.hpp"

namespace lockstep {

namespace lowering {

namespace {

using Kind = OperationKind;
using Family = void (*)(Lowering&);

[[nodiscard]] Family family_of(Kind kind) {
  switch (kind) {
    case Kind::matmul:
      return matmul;
    case Kind::bias_gradient:
      return bias_gradient;
    case Kind::attention:
      return attention;
    case Kind::attention_backward:
      return attention_backward;
    case Kind::attention_scores:
      return attention_scores;
    case Kind::attention_scores_backward:
      return attention_scores_backward;
    case Kind::attention_context:
      return attention_context;
    case Kind::attention_context_backward:
      return attention_context_backward;
    case Kind::softmax:
      return softmax;
    case Kind::softmax_backward:
      return softmax_backward;
    case Kind::normalization:
      return normalization;
    case Kind::normalization_backward:
      return normalization_backward;
    case Kind::batch_norm:
      return batch_norm;
    case Kind::batch_norm_backward:
      return batch_norm_backward;
    case Kind::activation:
      return activation;
    case Kind::activation_backward:
      return activation_backward;
    case Kind::rotary:
      return rotary;
    case Kind::rotary_backward:
      return rotary_backward;
    case Kind::dropout:
      return dropout;
    case Kind::dropout_backward:
      return dropout_backward;
    case Kind::add:
      return [](Lowering& to) { to.each(F::add); };
    case Kind::scale:
    case Kind::cast:
    case Kind::slice:
    case Kind::host_copy:
      return moved;
    case Kind::fill:
      return [](Lowering& to) { to.each(F::fill).numbers = {0}; };
    case Kind::embedding:
      return embedding;
    case Kind::embedding_backward:
      return embedding_backward;
    case Kind::loss_maximum:
      return loss_maximum;
    case Kind::loss_sum:
      return loss_sum;
    case Kind::loss:
      return loss;
    case Kind::loss_backward:
      return loss_backward;
    case Kind::router:
      return router;
    case Kind::router_backward:
      return router_backward;
    case Kind::dispatch:
      return dispatch;
    case Kind::dispatch_backward:
      return dispatch_backward;
    case Kind::combine:
      return combine;
    case Kind::combine_backward:
      return combine_backward;
    case Kind::convolution:
      return convolution;
    case Kind::convolution_input_grad:
      return convolution_input_grad;
    case Kind::convolution_weight_grad:
      return convolution_weight_grad;
    case Kind::pool:
      return pool;
    case Kind::pool_backward:
      return pool_backward;
    case Kind::temporal_shift:
    case Kind::temporal_shift_backward:
      return temporal_shift;
    case Kind::update:
      return update;
    case Kind::collective:
    case Kind::send:
    case Kind::receive:
      return nullptr;
  }
  return nullptr;
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
  const lowering::Family family = lowering::family_of(call.operation->kind);
  if (family == nullptr) kernels::refuse(call, "no computation");
  check_kernel(call);
  lowering::Lowering to = lowering::lowering_of(call, adds);
  to.max_scratch_elements = max_scratch_elements;
  if (call.writes.empty()) return {};  // weights cast to 8 bits, in which nothing is executed
  family(to);
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
