#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/trace/breakdown.hpp"
#include "strategies/step/simulate.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/files/cluster_file.hpp"

/// What may hide behind computation: nothing but what a layout's `overlap` names.

namespace lockstep::test {
namespace {

/// Messages take about as long as computation.
[[nodiscard]] Cluster star(int ranks, int hosts) {
  const std::string text = R"({"name": "star", "summary": "test", "device": "host", "ranks": )" +
                           std::to_string(ranks) +
                           R"(, "topology": {"builder": "star", "link": {"bandwidth": "10 GB/s",
                           "latency": "1 us", "source": "by definition"}}})";
  const ClusterSize size{std::nullopt, ranks, hosts};
  return read_cluster(parse_json(text, "star.json"), size).cluster;
}

/// 1e12 operations and 1e11 bytes a second.
class Linear final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
};

[[nodiscard]] SimulatedTrainingStep simulated(const ModelConfig& model, const ParallelConfig& with,
                                              Fidelity fidelity = Fidelity::all_ranks) {
  const auto program = std::make_shared<const Program>(build_program(model, with, 8));
  SimulationOptions options;
  options.fidelity = fidelity;
  options.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
  const auto hosts = std::count_if(program->roles.begin(), program->roles.end(),
                                   [](const Role& role) { return role.host; });
  const Cluster cluster = star(with.ranks(), static_cast<int>(hosts));
  return simulate(program, with, cluster, Device{}, Linear{}, options);
}

/// By group, in picoseconds: what one simulated rank's transfers take less what its step waits for.
using Hidden = std::map<std::string, std::int64_t>;

[[nodiscard]] Hidden hidden(const SimulatedTrainingStep& step, std::size_t rank) {
  const Peers peers{step.timeline};
  Hidden out;
  for (const GroupTraffic& each : traffic_by_group(peers, breakdown(peers, rank)))
    out[each.group] = (each.transfer - each.exposed).ps();
  return out;
}

[[nodiscard]] Hidden hidden(const ModelConfig& model, const ParallelConfig& with) {
  return hidden(simulated(model, with), 0);
}

[[nodiscard]] ModelConfig gpt() {
  TransformerConfig out;
  out.layers = 4;
  out.hidden = 64;
  out.heads = 8;
  out.sequence = 64;
  out.vocabulary = 128;
  return transformer(out);
}

[[nodiscard]] ModelConfig with_experts() {
  TransformerConfig shape = *gpt().transformer();
  shape.experts = ExpertsConfig{};
  shape.experts->experts = 8;
  shape.experts->ffn = 128;
  shape.experts->shared = 1;  // has gradients to compute while tokens are on their way
  shape.experts->shared_ffn = 128;
  return transformer(shape);
}

[[nodiscard]] ParallelConfig replicas(int zero) {
  ParallelConfig out;
  out.dp = 8;
  out.zero = zero;
  out.global_batch = 16;
  out.bucket = Bytes{50'000};
  return out;
}

}  // namespace

// The optimizer, and what clips gradients before it, begins when all gradients are there: with many
// buckets as with one.
TEST_CASE(
    "without overlap sums of gradients and gathers of weights are exposed, every picosecond") {
  for (const int zero : {0, 1, 2, 3}) {
    for (const int shards : {0, 2}) {
      if (zero == 0 && shards > 0) continue;
      CAPTURE(zero);
      CAPTURE(shards);
      ParallelConfig with = replicas(zero);
      with.shard_ranks = shards;
      for (const auto& each : hidden(gpt(), with)) {
        CAPTURE(each.first);
        CHECK(each.second == 0);
      }
    }
  }
}

TEST_CASE("without overlap nothing hides, whatever the layout") {
  for (RandomLayout layout : random_layouts(29, 60)) {
    layout.parallel.overlap.clear();
    layout.parallel.update = UpdateStart::after_all;
    CAPTURE(to_string(layout));
    const SimulatedTrainingStep step = simulated(layout.model, layout.parallel);
    for (std::size_t rank = 0; rank < step.timeline.ranks.size(); ++rank) {
      CAPTURE(rank);
      for (const auto& each : hidden(step, rank)) {
        CAPTURE(each.first);
        CHECK(each.second == 0);
      }
    }
  }
}

TEST_CASE("other gradient exchanges hide nothing either") {
  for (const GradientExchange exchange :
       {GradientExchange::host_average, GradientExchange::parameter_averaging,
        GradientExchange::parameter_server}) {
    CAPTURE(static_cast<int>(exchange));
    ParallelConfig with = replicas(0);
    with.exchange = exchange;
    for (const auto& each : hidden(gpt(), with)) {
      CAPTURE(each.first);
      CHECK(each.second == 0);
    }
  }
}

// A bucket is full when backward has filled it, the last one when backward is over: its sum is what
// the update waits for.
TEST_CASE("buckets hide in the backward pass, but never the last one") {
  for (const int zero : {0, 1, 2, 3}) {
    CAPTURE(zero);
    ParallelConfig with = replicas(zero);
    with.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
    const SimulatedTrainingStep step = simulated(gpt(), with);
    const Peers peers{step.timeline};
    const auto traffic = traffic_by_group(peers, breakdown(peers, 0));
    REQUIRE(traffic.size() == 1);
    CHECK(traffic[0].exposed > Duration{});
    CHECK(traffic[0].exposed < traffic[0].transfer);
    // The update begins after all sums.
    const RoleProgram& role = step.timeline.roles[0];
    TimePoint sums;
    TimePoint update = step.timeline.end;
    for (std::size_t i = 0; i < role.operations.size(); ++i) {
      const Operation& operation = *role.operations[i].operation;
      const Interval& when = step.timeline.ranks[0].operations[i];
      const bool reduces =
          operation.name == "reduce_gradients" || operation.name == "scatter_gradients";
      if (reduces) sums = std::max(sums, when.end);
      if (operation.kind == OperationKind::update) update = std::min(update, when.start);
    }
    CHECK(update >= sums);
  }
}

TEST_CASE("updates by bucket overtake the sums of later buckets, where a layout asks for it") {
  for (const int zero : {0, 1}) {
    CAPTURE(zero);
    ParallelConfig with = replicas(zero);
    const Duration after_all = simulated(gpt(), with).timeline.end.since_start();
    CHECK(hidden(gpt(), with).at("dp") == 0);
    with.update = UpdateStart::by_bucket;
    CHECK(hidden(gpt(), with).at("dp") > 0);
    CHECK(simulated(gpt(), with).timeline.end.since_start() < after_all);
  }
}

TEST_CASE("experts' all-to-alls hide where the layout says ep, nowhere else") {
  ParallelConfig with = replicas(0);
  with.ep = 4;
  CHECK(hidden(with_experts(), with).at("ep") == 0);
  with.overlap = {Overlap::cp, Overlap::dp_gradients, Overlap::dp_parameters,
                  Overlap::pp, Overlap::tp,           Overlap::hsdp};
  CHECK(hidden(with_experts(), with).at("ep") == 0);
  with.overlap = {Overlap::ep};
  CHECK(hidden(with_experts(), with).at("ep") > 0);
}

TEST_CASE("sums over replicas of hybrid shards hide where the layout says hsdp, nowhere else") {
  ParallelConfig with = replicas(2);
  with.shard_ranks = 2;
  with.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
  CHECK(hidden(gpt(), with).at("hsdp") == 0);
  with.overlap = {Overlap::hsdp};
  const Hidden alone = hidden(gpt(), with);
  CHECK(alone.at("hsdp") > 0);
  CHECK(alone.at("dp") == 0);
}

namespace {

[[nodiscard]] ParallelConfig tensor_parallel(bool sequence_parallel, std::set<Overlap> overlap) {
  ParallelConfig out;
  out.tp = 4;
  out.global_batch = 2;
  out.sequence_parallel = sequence_parallel;
  out.overlap = std::move(overlap);
  return out;
}

/// When the operations of rank 0 with this end of their name run, in order of their starts.
[[nodiscard]] std::vector<Interval> intervals(const SimulatedTrainingStep& step,
                                              const std::string& end) {
  std::vector<Interval> out;
  const RoleProgram& role = step.timeline.roles[0];
  for (std::size_t i = 0; i < role.operations.size(); ++i)
    if (role.operations[i].operation->name.ends_with(end))
      out.push_back(step.timeline.ranks[0].operations[i]);
  return out;
}

}  // namespace

TEST_CASE("tp traffic hides where the layout says tp or tp_backward, nowhere else") {
  for (const bool sequence_parallel : {false, true}) {
    CAPTURE(sequence_parallel);
    const auto hidden_tp = [&](std::set<Overlap> overlap) {
      return hidden(gpt(), tensor_parallel(sequence_parallel, std::move(overlap))).at("tp");
    };
    CHECK(hidden_tp({}) == 0);
    CHECK(hidden_tp({Overlap::cp, Overlap::dp_gradients, Overlap::dp_parameters, Overlap::ep,
                     Overlap::hsdp, Overlap::pp}) == 0);
    CHECK(hidden_tp({Overlap::tp_backward}) > 0);
    CHECK(hidden_tp({Overlap::tp, Overlap::tp_backward}) == hidden_tp({Overlap::tp}));
  }
}

// Megatron-LM core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication: the
// gather of x is issued before dgrad and waited for before wgrad, the reduction of dX runs next to
// wgrad.
TEST_CASE("column-parallel layers gather next to dgrad and reduce next to wgrad") {
  for (const Overlap kind : {Overlap::tp_backward, Overlap::tp}) {
    const SimulatedTrainingStep step = simulated(gpt(), tensor_parallel(true, {kind}));
    const auto gathers = intervals(step, "mlp.up.weight_gradient.tp.all_gather");
    const auto data = intervals(step, "mlp.up.input_gradient");
    const auto reductions = intervals(step, "mlp.up.input_gradient.tp.reduce_scatter");
    const auto weights = intervals(step, "mlp.up.weight_gradient");
    REQUIRE(gathers.size() == 8);  // 4 layers, 2 microbatches
    REQUIRE(data.size() == 8);
    REQUIRE(reductions.size() == 8);
    REQUIRE(weights.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(gathers[i].start < data[i].end);
      CHECK(gathers[i].end <= weights[i].start);
      CHECK(reductions[i].start < weights[i].end);
      CHECK(reductions[i].start >= data[i].end);
    }
  }
}

TEST_CASE("row-parallel layers and forward passes stay exposed with tp_backward") {
  const SimulatedTrainingStep step =
      simulated(gpt(), tensor_parallel(true, {Overlap::tp_backward}));
  const RoleProgram& role = step.timeline.roles[0];
  for (const RoleOperation& each : role.operations) {
    const Operation& operation = *each.operation;
    if (operation.kind != OperationKind::collective || operation.communication->group != "tp")
      continue;
    CAPTURE(operation.name);
    const bool column = operation.name.ends_with("weight_gradient.tp.all_gather") ||
                        operation.name.ends_with("input_gradient.tp.reduce_scatter");
    CHECK((operation.stream != kComputeStream) == column);
  }
}

// PyTorch's asynchronous tensor parallelism scatters the result of one GEMM while it runs
// (torch/_inductor/fx_passes/micro_pipeline_tp.py). The input gradient of attention is a sum over
// three GEMMs, unless these are one kernel; that of the MLP is the result of one.
TEST_CASE("a sum over several GEMMs is reduced when it is complete") {
  for (const bool joined : {false, true}) {
    CAPTURE(joined);
    ParallelConfig with = tensor_parallel(true, {Overlap::tp});
    with.form.joined_gemms = joined;
    const ModelConfig model = gpt();
    const TrainingStepUnderTest step{model, with};
    int seen = 0;
    for (const RoleOperation& each : step.role(0).operations) {
      const Operation& operation = *each.operation;
      if (!operation.name.ends_with("input_gradient.tp.reduce_scatter")) continue;
      CAPTURE(operation.name);
      const bool sum = operation.name.starts_with("attention.") && !joined;
      CHECK((operation.stream == kComputeStream) == sum);
      ++seen;
    }
    CHECK(seen == 2 * (2 * 4 + 1));  // microbatches; attention and MLP of 4 layers, logits
  }
}

// Megatron-LM core/transformer/moe/token_dispatcher.py: dispatchers gather and reduce along tp in
// the order of computation, and keep what they gather.
TEST_CASE("tp traffic of the experts' tokens stays exposed, that of other layers hides") {
  const ModelConfig model = with_experts();
  ParallelConfig with = tensor_parallel(true, {Overlap::tp});
  const TrainingStepUnderTest step{model, with};
  int exposed = 0;
  int hidden = 0;
  for (const RoleOperation& each : step.role(0).operations) {
    const Operation& operation = *each.operation;
    if (operation.kind != OperationKind::collective || operation.communication->group != "tp")
      continue;
    CAPTURE(operation.name);
    const bool kept = operation.name.ends_with("weight_gradient.tp.all_gather");
    if (operation.name.starts_with("experts.") && !kept) {
      CHECK(operation.stream == kComputeStream);
      ++exposed;
    } else if (operation.name.starts_with("attention.")) {
      CHECK(operation.stream != kComputeStream);
      ++hidden;
    }
  }
  CHECK(exposed > 0);
  CHECK(hidden > 0);
}

}  // namespace lockstep::test
