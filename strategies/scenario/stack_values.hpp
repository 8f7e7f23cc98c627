#pragma once

#include "strategies/layout/parallel_config.hpp"
#include "strategies/stacks/software_stack.hpp"

namespace lockstep {

/// What a scenario specifies of the values that its stack has defaults for.
struct SpecifiedValues {
  bool gradients = false;
  bool bucket = false;
};

/// Sets the buckets of a layout, whose precision of gradients is set, unless the scenario
/// specifies their size: it depends on the replicas. A bucket of the stack's size is the stack's,
/// so that a resolved scenario is the same.
void take_bucket_of_stack(const BucketDefaults& bucket, bool specified, ParallelConfig& parallel);

/// Of a stack whose shards have a precision of their own: sets that of gradients, which the layout
/// decides.
void take_gradients_of_shards(ParallelConfig& parallel);

/// Sets what a layout takes from its software stack alone, and the precision and buckets of
/// gradients that the scenario does not specify.
void take_gradients_of_stack(const SoftwareStack& stack, SpecifiedValues specified,
                             ParallelConfig& parallel);

}  // namespace lockstep
