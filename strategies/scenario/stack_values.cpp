#include "strategies/scenario/stack_values.hpp"

#include <algorithm>

namespace lockstep {

namespace {

/// Of gradients in their precision, over all replicas.
[[nodiscard]] Bytes size_of(const BucketDefaults& bucket, const ParallelConfig& parallel) {
  if (bucket.size) return *bucket.size;
  const std::int64_t replicas = std::int64_t{parallel.dp} * parallel.cp * parallel.stage_copies();
  const std::int64_t elements = std::max(bucket.elements, bucket.elements_per_replica * replicas);
  return Bytes{elements * bytes_per_element(parallel.state.gradients)};
}

}  // namespace

void take_gradients_of_stack(const SoftwareStack& stack, SpecifiedValues specified,
                             ParallelConfig& parallel) {
  parallel.gradient_passes = stack.gradient_passes;
  // Gradients of weights in at most 8 bits are those of weights in 16.
  const Dtype weights = is_narrow(parallel.state.weights) ? Dtype::bf16 : parallel.state.weights;
  const auto gradients = stack.gradients.find(weights);
  if (gradients != stack.gradients.end() && !specified.gradients)
    parallel.state.gradients = gradients->second;
  if (!stack.bucket) return;
  const Bytes size = size_of(*stack.bucket, parallel);
  if (specified.bucket && parallel.bucket != size) return;
  parallel.bucket = size;
  parallel.bucket_form = {size, stack.bucket->first, stack.bucket->whole_without_overlap,
                          stack.bucket->whole_chunks};
}

}  // namespace lockstep
