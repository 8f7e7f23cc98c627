#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "strategies/pipeline/delayed_weight_gradients.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Gradients of weights that are put off until an all-to-all of experts is launched.
namespace lockstep::test {
namespace {

/// 16 experts in each of so many layers.
ModelConfig model(std::int64_t layers) {
  TransformerConfig shape;
  shape.layers = layers;
  shape.hidden = 64;
  shape.heads = 4;
  shape.sequence = 64;
  shape.vocabulary = 128;
  shape.bias = false;
  shape.experts = ExpertsConfig{.experts = 16, .top_k = 4, .ffn = 64};
  shape.experts->shared = 1;
  shape.experts->shared_ffn = 32;
  return transformer(shape);
}

/// 16 ranks, or 2 stages of 16, with all experts among each 16: two nodes.
ParallelConfig layout(int pp, int microbatches, bool delays) {
  ParallelConfig out;
  out.dp = out.ep = 16;
  out.pp = pp;
  out.micro_batch = 1;
  out.global_batch = std::int64_t{16} * microbatches;
  out.overlap = {Overlap::ep_pairs};
  if (pp > 1) out.overlap.insert(Overlap::pp);
  out.delay_wgrad_compute = delays;
  if (pp > 1) {
    out.vpp = 2;
    out.schedule = PipelineOrder::interleaved;
  }
  return out;
}

FoldCase on_dgx(const ParallelConfig& parallel, std::int64_t layers) {
  FoldCase out{"", {}, cluster_of("dgx-h100", parallel.ranks())};
  out.layout.model = model(layers);
  out.layout.parallel = parallel;
  out.device.multiprocessors = 132;
  return out;
}

SimulatedTrainingStep simulated(int pp, int microbatches, bool delays, std::int64_t layers) {
  return simulated_step(on_dgx(layout(pp, microbatches, delays), layers), Folding::off);
}

/// Sums over the backward pass of every layer, by position.
struct Times {
  std::map<int, Duration> returned{};   // all-to-alls of the gradients of results
  std::map<int, Duration> sent_back{};  // of the gradients of inputs
  std::map<int, Duration> experts{};    // gradients of weights of experts, shared ones included
  std::map<int, Duration> attention{};  // the same of attention
};

Times times_of(const SimulatedTrainingStep& step) {
  Times out;
  const RankTimeline& rank = step.timeline.ranks.front();
  const RoleProgram& role = step.timeline.roles[rank.role];
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    const int position = role.operations[i].call.position;
    const Duration time = rank.operations[i].end - rank.operations[i].start;
    const bool backward = role.program->routines[role.operations[i].call.routine].name.find(
                              ".backward") != std::string::npos;
    if (backward && exchanges_tokens(role.program->tensors, operation)) {
      const bool first = !out.returned.contains(position);
      (first ? out.returned : out.sent_back)[position] = time;
    }
    if (operation.kind != OperationKind::matmul ||
        !computes_weight_gradients(role.program->tensors, operation))
      continue;
    const bool routed = operation.name.starts_with("experts.");
    if (routed || operation.name.starts_with("shared.")) out.experts[position] += time;
    if (operation.name.starts_with("attention.")) out.attention[position] += time;
  }
  return out;
}

// One microbatch, of which nothing else hides an all-to-all: in every layer gradients of experts'
// weights go next to the all-to-all that returns gradients, and those of attention next to the
// first one of the layer before it, which the first layer lacks. Shared experts come before both.
TEST_CASE("each all-to-all of a backward pass hides as much as there are gradients of weights") {
  const SimulatedTrainingStep in_order = simulated(1, 1, false, 4);
  const SimulatedTrainingStep delayed = simulated(1, 1, true, 4);
  const Times times = times_of(in_order);
  CHECK(times.returned.size() == 4);
  CHECK(times.sent_back.size() == 4);
  Duration hidden{};
  for (const auto& [position, travel] : times.sent_back)
    hidden += std::min(travel, times.experts.at(position));
  for (const auto& [position, travel] : times.returned)
    if (times.attention.contains(position + 1))
      hidden += std::min(travel, times.attention.at(position + 1));
  CHECK(hidden > Duration{});
  CHECK(in_order.timeline.end - delayed.timeline.end == hidden);
}

TEST_CASE("gradients of weights that are put off make steps of pairs shorter") {
  for (const int pp : {1, 2}) {
    const SimulatedTrainingStep in_order = simulated(pp, 8, false, 8);
    const SimulatedTrainingStep delayed = simulated(pp, 8, true, 8);
    CHECK(delayed.timeline.end < in_order.timeline.end);
  }
}

TEST_CASE("delayed gradients of weights are the same with ranks folded") {
  for (const int pp : {1, 2}) {
    for (const Dispatcher dispatcher : {Dispatcher::all_to_all, Dispatcher::deepep}) {
      ParallelConfig parallel = layout(pp, 8, true);
      parallel.dispatcher = dispatcher;
      parallel.token_counts = {Collective::all_gather, true};
      parallel.form.router_weights = RouterWeights::activation;
      const FoldOutcome outcome = hold_against_unfolded(on_dgx(parallel, 8));
      CHECK(outcome.difference == "");
      CHECK(outcome.classes < outcome.ranks);
    }
  }
}

/// What a role launches, as positions of names in order.
std::vector<std::string> launched(const TrainingStepUnderTest& step, std::size_t role) {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < step.role(role).operations.size(); ++i)
    out.push_back(step.role(role).name(i));
  return out;
}

[[nodiscard]] bool in_order(const std::vector<std::string>& all,
                            const std::vector<std::string>& some) {
  auto at = all.begin();
  for (const std::string& each : some) {
    at = std::find_if(at, all.end(), [&](const std::string& name) { return name.find(each) == 0; });
    if (at == all.end()) return false;
    ++at;
  }
  return true;
}

// Positions: 0 is the embedding, 1 to 8 are layers; stage 0 has the first two and 5 and 6.
TEST_CASE(
    "gradients of weights follow what they are put off for, and other work goes on as before") {
  const TrainingStepUnderTest with{model(8), layout(2, 8, true)};
  const TrainingStepUnderTest without{model(8), layout(2, 8, false)};
  for (const std::size_t role : {0U, 1U}) {
    std::vector<std::string> delayed = launched(with, role);
    std::vector<std::string> as_is = launched(without, role);
    CHECK(delayed != as_is);
    std::sort(delayed.begin(), delayed.end());
    std::sort(as_is.begin(), as_is.end());
    CHECK(delayed == as_is);
  }
  const std::vector<std::string> all = launched(with, 0);
  const std::string second = "block 6 microbatch 7: ";
  const std::string first = "block 5 microbatch 7: ";
  CHECK(
      in_order(all, {second + "experts.down.input_gradient", second + "experts.up.input_gradient",
                     second + "experts.down.weight_gradient", second + "attention.q.input_gradient",
                     first + "experts.combine.backward", second + "attention.q.weight_gradient",
                     first + "experts.down.input_gradient", first + "send.backward",
                     first + "attention.q.weight_gradient"}));
}

}  // namespace
}  // namespace lockstep::test
