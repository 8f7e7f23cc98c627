#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/kernel/kernel.hpp"
#include "tests/strategies/step/step_under_test.hpp"

// Tensor parallelism as PyTorch's DTensor has it, against closed forms: s sequence, b microbatch, h
// hidden, t = tp. torchtitan's plan of a layer gathers the inputs of both column-parallel layers,
// which their GEMMs save for backward, and scatters the results of both row-parallel ones; backward
// gathers the gradients of the latter and scatters those of the former.
namespace lockstep::test {
namespace {

constexpr std::int64_t kS = 64;
constexpr std::int64_t kB = 2;
constexpr std::int64_t kH = 128;
constexpr std::int64_t kTensor = 2 * kS * kB * kH;  // bytes of s b h numbers in bf16

[[nodiscard]] ModelConfig gpt() {
  TransformerConfig out;
  out.layers = 2;
  out.hidden = kH;
  out.heads = 8;
  out.sequence = kS;
  out.vocabulary = 128;
  return transformer(out);
}

[[nodiscard]] ParallelConfig layout(int tp, bool distributed) {
  ParallelConfig out;
  out.tp = tp;
  out.sequence_parallel = true;
  out.micro_batch = kB;
  out.global_batch = kB;
  out.form.joined_gemms = false;
  out.form.distributed_tensors = distributed;
  return out;
}

/// Collectives of tensor parallelism in one layer's pass.
[[nodiscard]] int calls(const TrainingStepUnderTest& step, Collective what, const char* routine) {
  int out = 0;
  for (const Operation& each : step.program().routines[step.routine(routine)].operations)
    if (each.communication && each.communication->group == "tp" &&
        each.communication->collective == what)
      ++out;
  return out;
}

/// Bytes that each kernel moves whose name ends so.
[[nodiscard]] std::vector<double> moved(const TrainingStepUnderTest& step, const char* routine,
                                        std::string_view suffix) {
  const Routine& all = step.program().routines[step.routine(routine)];
  std::vector<double> out;
  for (std::size_t i = 0; i < all.operations.size(); ++i)
    if (all.operations[i].name.ends_with(suffix))
      out.push_back(kernel_of(step.program(), all, i).moved_bytes);
  return out;
}

TEST_CASE("what is gathered for a GEMM is kept for the gradient of its weight") {
  for (const bool distributed : {false, true}) {
    CAPTURE(distributed);
    const TrainingStepUnderTest step{gpt(), layout(2, distributed)};
    CHECK(calls(step, Collective::all_gather, "layer.forward") == 2);
    CHECK(calls(step, Collective::all_gather, "layer.backward") == (distributed ? 2 : 4));
    for (const char* routine : {"layer.forward", "layer.backward"})
      CHECK(calls(step, Collective::reduce_scatter, routine) == 2);
  }
}

// torchtitan parallelisms/parallelize_llama.py, _save_list: reduce-scatters are kept, gathers not.
TEST_CASE("recomputation of all but every second GEMM gathers once more, and not twice") {
  ParallelConfig with = layout(2, true);
  with.recompute = Recompute::every_second_gemm;
  const TrainingStepUnderTest step{gpt(), with};
  CHECK(calls(step, Collective::all_gather, "layer.backward") == 2 + 2);
  CHECK(calls(step, Collective::reduce_scatter, "layer.backward") == 2);
}

// torch/distributed/_functional_collectives.py: torch.cat after all_gather_tensor and before
// reduce_scatter_tensor, each a read and a write of the whole tensor.
TEST_CASE("collectives along the sequence copy whole tensors") {
  for (const int t : {2, 4}) {
    CAPTURE(t);
    const TrainingStepUnderTest step{gpt(), layout(t, true)};
    for (const char* routine : {"layer.forward", "layer.backward"}) {
      CHECK(moved(step, routine, ".joined") == std::vector<double>(2, 2.0 * kTensor));
      CHECK(moved(step, routine, ".parts") == std::vector<double>(2, 2.0 * kTensor));
      CHECK(moved(step, routine, ".sum_of_parts").empty());
    }
    const TrainingStepUnderTest other{gpt(), layout(t, false)};
    CHECK(moved(other, "layer.forward", ".joined").empty());
    CHECK(moved(other, "layer.forward", ".parts").empty());
  }
}

// torch/distributed/_symmetric_memory: a GEMM's result arrives as t parts, which a kernel adds up;
// the sum over queries', keys' and values' GEMMs is scattered when it is complete.
TEST_CASE("asynchronous tensor parallelism adds up parts and copies only what it does not cut") {
  for (const int t : {2, 4}) {
    CAPTURE(t);
    ParallelConfig with = layout(t, true);
    with.overlap.insert(Overlap::tp);
    const TrainingStepUnderTest step{gpt(), with};
    const double sum = kTensor + kTensor / static_cast<double>(t);
    CHECK(moved(step, "layer.forward", ".sum_of_parts") == std::vector<double>(2, sum));
    CHECK(moved(step, "layer.forward", ".parts").empty());
    CHECK(moved(step, "layer.backward", ".sum_of_parts") == std::vector<double>(1, sum));
    CHECK(moved(step, "layer.backward", ".parts") == std::vector<double>(1, 2.0 * kTensor));
    for (const char* routine : {"layer.forward", "layer.backward"})
      CHECK(moved(step, routine, ".joined").empty());
  }
}

// A breakdown by purpose adds up kernels: those that copy gradients are of the backward pass, and
// what a recomputed forward pass copies again is recomputation.
TEST_CASE("kernels that copy are of the pass whose collective they go with") {
  constexpr std::string_view kSuffixes[] = {".joined", ".parts", ".sum_of_parts"};
  for (const Recompute again : {Recompute::none, Recompute::full}) {
    for (const bool asynchronous : {false, true}) {
      ParallelConfig with = layout(2, true);
      with.recompute = again;
      if (asynchronous) with.overlap.insert(Overlap::tp);
      const TrainingStepUnderTest step{gpt(), with};
      std::map<Purpose, int> found;
      for (const char* routine : {"layer.forward", "layer.backward"}) {
        const bool forward = std::string_view{routine} == "layer.forward";
        for (const Operation& each : step.program().routines[step.routine(routine)].operations) {
          const bool copies = std::any_of(
              std::begin(kSuffixes), std::end(kSuffixes),
              [&](std::string_view suffix) { return each.name.find(suffix) != std::string::npos; });
          if (!copies) continue;
          CAPTURE(each.name);
          ++found[each.purpose];
          CHECK((each.purpose == Purpose::forward) == forward);
          CHECK((each.purpose == Purpose::recompute) == each.name.ends_with(".again"));
        }
      }
      CHECK(found[Purpose::backward] == (asynchronous ? 2 : 4));
      CHECK((found[Purpose::recompute] > 0) == (again == Recompute::full));
    }
  }
}

}  // namespace
}  // namespace lockstep::test
