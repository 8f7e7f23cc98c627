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

void take_bucket_of_stack(const BucketDefaults& bucket, bool specified, ParallelConfig& parallel) {
  const Bytes size = size_of(bucket, parallel);
  if (specified && parallel.bucket != size) return;
  parallel.bucket = size;
  parallel.bucket_form = {size, bucket.first, bucket.whole_without_overlap, bucket.whole_chunks};
}

void take_gradients_of_shards(ParallelConfig& parallel) {
  if (!parallel.shards) return;
  StateConfig& state = parallel.state;
  const Dtype usual = is_narrow(state.weights) ? Dtype::bf16 : state.weights;
  state.gradients = parallel.has_wide_shards() ? *parallel.shards : usual;
}

void take_gradients_of_stack(const SoftwareStack& stack, SpecifiedValues specified,
                             ParallelConfig& parallel) {
  parallel.gradient_passes = stack.gradient_passes;
  // Gradients of weights in at most 8 bits are those of weights in 16.
  const Dtype weights = is_narrow(parallel.state.weights) ? Dtype::bf16 : parallel.state.weights;
  const auto gradients = stack.gradients.find(weights);
  if (gradients != stack.gradients.end() && !specified.gradients)
    parallel.state.gradients = gradients->second;
  parallel.shards = stack.shards;
  if (!specified.gradients) take_gradients_of_shards(parallel);
  if (stack.bucket) take_bucket_of_stack(*stack.bucket, specified.bucket, parallel);
}

}  // namespace lockstep
