#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/program/kernel/kernel.hpp"
#include "tests/strategies/step/volumes/volumes.hpp"

/// Passes over gradients besides their sum, and buckets as software stacks make them, against what
/// Megatron-Core's distributed/distributed_data_parallel.py and param_and_grad_buffer.py do.
namespace lockstep::test::volumes {
namespace {

/// Operations of one kind in a role, in order.
[[nodiscard]] std::vector<const RoleOperation*> of_kind(const TrainingStepUnderTest& step,
                                                        OperationKind kind, std::size_t role = 0) {
  std::vector<const RoleOperation*> out;
  for (const RoleOperation& each : step.role(role).operations)
    if (each.operation->kind == kind) out.push_back(&each);
  return out;
}

[[nodiscard]] double moved_bytes(const TrainingStepUnderTest& step, OperationKind kind) {
  double out = 0;
  for (const RoleOperation* each : of_kind(step, kind))
    out += kernel_of(step.program(), step.program().routines[each->call.routine],
                     each->index_in_routine)
               .moved_bytes;
  return out;
}

[[nodiscard]] ParallelConfig with_passes(int dp) {
  ParallelConfig out = layout(dp);
  out.state.gradients = Dtype::fp32;
  out.gradient_passes = {GradientPass::zero, GradientPass::scale, GradientPass::check};
  return out;
}

/// Gradients that a role sums over replicas, one number of tensors per bucket.
[[nodiscard]] std::vector<std::size_t> buckets_of(const TrainingStepUnderTest& step,
                                                  std::size_t role) {
  std::vector<std::size_t> out;
  for (const Message& message : step.messages(role))
    if (message.operation->name == "reduce_gradients")
      out.push_back(message.operation->reads.size());
  return out;
}

/// Index of an operation of this name, the first; none: the number of all.
[[nodiscard]] std::size_t place_of(const TrainingStepUnderTest& step, std::size_t role,
                                   std::string_view name) {
  const auto& all = step.role(role).operations;
  const auto found = std::find_if(all.begin(), all.end(), [name](const RoleOperation& each) {
    return each.operation->name == name;
  });
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace

TEST_CASE("passes over fp32 gradients: zeroes write 4 bytes, a factor moves 8, a check reads 4") {
  const ModelConfig model = transformer(shape());
  const TrainingStepUnderTest step{model, with_passes(2)};
  const auto elements = static_cast<double>(parameters(model));
  CHECK(moved_bytes(step, OperationKind::fill) == 4 * elements);
  CHECK(moved_bytes(step, OperationKind::scale) == 8 * elements);
  CHECK(moved_bytes(step, OperationKind::check_finite) == 4 * elements);
}

TEST_CASE("zeroes come first in one kernel, the check and the factor before each bucket's sum") {
  ParallelConfig with = with_passes(2);
  with.bucket = Bytes{100'000};
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.role().operations.front().operation->name == "zero_gradients");
  CHECK(of_kind(step, OperationKind::fill).size() == 1);
  const std::size_t buckets = buckets_of(step, 0).size();
  CHECK(buckets > 2);
  CHECK(of_kind(step, OperationKind::check_finite).size() == buckets);
  CHECK(of_kind(step, OperationKind::scale).size() == buckets);
  for (const Routine& routine : step.program().routines) {
    if (routine.name != "reduce_gradients") continue;
    REQUIRE(routine.operations.size() == 3);
    CHECK(routine.operations[0].name == "check_gradients");
    CHECK(routine.operations[1].name == "scale_gradients");
    CHECK(routine.operations[0].reads == routine.operations[2].reads);
    CHECK(routine.operations[1].writes == routine.operations[2].reads);
  }
}

TEST_CASE("one replica: nothing to scale, gradients are checked all the same") {
  const TrainingStepUnderTest step{transformer(shape()), with_passes(1)};
  CHECK(of_kind(step, OperationKind::scale).empty());
  CHECK(of_kind(step, OperationKind::check_finite).size() == 1);
  CHECK(step.messages().empty());
}

TEST_CASE("ZeRO-2 and -3 have no whole gradients to pass over") {
  for (const int zero : {2, 3}) {
    ParallelConfig with = with_passes(2);
    with.zero = zero;
    const TrainingStepUnderTest step{transformer(shape()), with};
    for (const OperationKind kind :
         {OperationKind::fill, OperationKind::scale, OperationKind::check_finite})
      CHECK(of_kind(step, kind).empty());
  }
}

TEST_CASE("a smaller first bucket: PyTorch DDP's starts the sums early") {
  ParallelConfig with = layout(2);
  with.bucket = Bytes{1'000'000'000};
  CHECK(buckets_of(TrainingStepUnderTest{transformer(shape()), with}, 0).size() == 1);
  with.bucket_form.first = Bytes{1};
  const auto buckets = buckets_of(TrainingStepUnderTest{transformer(shape()), with}, 0);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0] == 1);
}

TEST_CASE("without overlap Megatron-Core has one bucket") {
  ParallelConfig with = layout(2);
  with.bucket = Bytes{100'000};
  with.bucket_form.whole_without_overlap = true;
  CHECK(buckets_of(TrainingStepUnderTest{transformer(shape()), with}, 0).size() == 1);
  with.overlap = {Overlap::dp_gradients};
  CHECK(buckets_of(TrainingStepUnderTest{transformer(shape()), with}, 0).size() > 2);
}

TEST_CASE("a pipeline: buckets in the first chunk alone, one for every other chunk") {
  ParallelConfig with = layout(2);
  with.pp = 2;
  with.schedule = PipelineOrder::one_f_one_b;
  with.bucket = Bytes{100'000};
  with.overlap = {Overlap::dp_gradients};
  CHECK(buckets_of(TrainingStepUnderTest{transformer(shape()), with}, 1).size() > 1);
  with.bucket_form.whole_chunks = true;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(buckets_of(step, 0).size() > 1);
  CHECK(buckets_of(step, 1).size() == 1);
  with.vpp = 2;
  with.schedule = PipelineOrder::interleaved;
  with.global_batch = 2 * 2 * 4;
  const TrainingStepUnderTest chunks{transformer(shape()), with};
  CHECK(buckets_of(chunks, 1).size() == 2);
}

TEST_CASE("interleaved: a chunk's sum waits as many microbatches as its stage's number") {
  // Two stages of two chunks, four microbatches: on stage 1 the second chunk's sum comes after one
  // backward pass more than on stage 0, counted from the chunk's own last one.
  ParallelConfig with = layout(2);
  with.pp = 2;
  with.vpp = 2;
  with.schedule = PipelineOrder::interleaved;
  with.global_batch = kB * 4 * 2;
  with.overlap = {Overlap::dp_gradients};
  with.bucket = Bytes{1'000'000'000};
  with.bucket_form.whole_chunks = true;
  const TrainingStepUnderTest step{transformer(shape()), with};
  for (const std::size_t role : {std::size_t{0}, std::size_t{1}}) {
    CAPTURE(role);
    const std::size_t sum = place_of(step, role, "reduce_gradients");
    const auto& all = step.role(role).operations;
    REQUIRE(sum < all.size());
    // The positions that the sum reads, and backward passes of other chunks between.
    const int position = *all[sum].operation->reads.front().position;
    std::size_t last = 0;
    for (std::size_t i = 0; i < sum; ++i)
      if (all[i].operation->purpose == Purpose::backward && all[i].call.position == position)
        last = i;
    std::vector<std::pair<int, int>> between;
    for (std::size_t i = last + 1; i < sum; ++i) {
      const std::pair at{all[i].call.position, all[i].call.microbatch};
      if (all[i].operation->purpose != Purpose::backward || at.first >= position - 1) continue;
      if (between.empty() || between.back().second != at.second) between.push_back(at);
    }
    CHECK(between.size() == role);
  }
}

}  // namespace lockstep::test::volumes
