#include <doctest/doctest.h>

#include <algorithm>

#include "sim/trace/memory/memory.hpp"
#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// ZeRO (Rajbhandari et al., arXiv 1910.02054): what is communicated and what is kept.

namespace lockstep::test {
namespace {

constexpr std::int64_t kM = 3;

[[nodiscard]] ModelConfig small() {
  TransformerConfig shape;
  shape.layers = 3;
  shape.hidden = 64;
  shape.heads = 4;
  shape.sequence = 32;
  shape.vocabulary = 128;
  return transformer(shape);
}

[[nodiscard]] ParallelConfig layout(int dp, int zero) {
  ParallelConfig out;
  out.dp = dp;
  out.zero = zero;
  out.global_batch = dp * kM;
  return out;
}

/// Weights of a rank in bytes.
[[nodiscard]] std::int64_t weights_of(const ModelConfig& model) {
  return 2 * count_parameters(model).total();
}

/// Two weights a layer without biases: 2 * 5000 * 15000 * 50 = 7.5e9 parameters.
[[nodiscard]] ModelConfig of_7_5_billion() {
  ModelConfig out;
  out.name = "mlp";
  out.shape = MlpConfig{5000, 15000, 50, ActivationFunction::gelu, false};
  return out;
}

[[nodiscard]] std::int64_t states(const ModelConfig& model, const ParallelConfig& with,
                                  bool on_host = false) {
  const TrainingStepUnderTest step{model, with};
  return model_state_bytes(resident_bytes(step.role(), on_host)).count();
}

[[nodiscard]] ParallelConfig on_64(int zero) {
  ParallelConfig out;
  out.dp = 64;
  out.zero = zero;
  out.global_batch = 64;
  return out;
}

}  // namespace

TEST_CASE("ZeRO-1: a reduce-scatter of the gradients once a step, an all-gather of the weights") {
  const ModelConfig model = small();
  const TrainingStepUnderTest step{model, layout(4, 1)};
  CHECK(step.traffic("dp", Collective::reduce_scatter).bytes == weights_of(model));
  CHECK(step.traffic("dp", Collective::all_gather).bytes == weights_of(model));
  CHECK(step.traffic("dp", Collective::all_reduce) == Traffic{});
}

// The optimizer's shard is cut from the sum: what is received besides is not needed, so that a ring
// carries a half more than with the reduce-scatter.
TEST_CASE("ZeRO-1 with whole sums: an all-reduce of the gradients, an all-gather of the weights") {
  const ModelConfig model = small();
  ParallelConfig with = layout(8, 1);
  with.scatter_gradients = false;
  with.shard_ranks = 4;  // replicas of shards need no sum of their own
  const TrainingStepUnderTest step{model, with};
  CHECK(step.traffic("dp", Collective::all_reduce).bytes == weights_of(model));
  CHECK(step.traffic("dp", Collective::all_gather).bytes == weights_of(model));
  CHECK(step.traffic("dp", Collective::reduce_scatter) == Traffic{});
}

TEST_CASE("ZeRO-2: gradients go to their shards after every microbatch") {
  const ModelConfig model = small();
  const TrainingStepUnderTest step{model, layout(4, 2)};
  CHECK(step.traffic("dp", Collective::reduce_scatter).bytes == kM * weights_of(model));
  CHECK(step.traffic("dp", Collective::all_gather).bytes == weights_of(model));
}

TEST_CASE("ZeRO-2 and -3 that reduce in the last microbatch scatter once a step") {
  const ModelConfig model = small();
  for (const int zero : {2, 3}) {
    for (const int pp : {1, 3}) {
      CAPTURE(zero);
      CAPTURE(pp);
      ParallelConfig with = layout(4, zero);
      with.pp = pp;
      with.schedule = pp > 1 ? PipelineOrder::one_f_one_b : PipelineOrder::none;
      const auto scattered = [&] {
        const TrainingStepUnderTest step{model, with};
        std::int64_t out = 0;
        for (int stage = 0; stage < pp; ++stage) {
          const auto role = static_cast<std::size_t>(stage);
          out += step.traffic("dp", Collective::reduce_scatter, "", role).bytes;
        }
        return out;
      };
      CHECK(scattered() == kM * weights_of(model));
      with.reduce_gradients = GradientReduction::last_microbatch;
      CHECK(scattered() == weights_of(model));
    }
  }
}

TEST_CASE("what is reduced once a step under a pipeline comes when a stage's backward is over") {
  ParallelConfig with = layout(4, 2);
  with.pp = 3;
  with.schedule = PipelineOrder::one_f_one_b;
  with.reduce_gradients = GradientReduction::last_microbatch;
  for (const bool overlap : {false, true}) {
    if (overlap) with.overlap = {Overlap::dp_gradients};
    const TrainingStepUnderTest step{small(), with};
    const auto& operations = step.role(1).operations;
    const auto is = [&](const char* name) {
      return [name](const RoleOperation& one) { return one.operation->name == name; };
    };
    const auto sent = std::find_if(operations.rbegin(), operations.rend(), is("send.backward"));
    const auto first = std::find_if(operations.begin(), operations.end(), is("scatter_gradients"));
    REQUIRE(first != operations.end());
    // Before the last send where it may hide: behind the last backward pass of the chunk.
    CHECK((first > sent.base() - 1) == !overlap);
    CHECK(std::none_of(first, operations.end(), [](const RoleOperation& one) {
      return one.operation->purpose == Purpose::backward;
    }));
  }
}

TEST_CASE("ZeRO-3: weights are gathered before forward and before backward") {
  // Three times the weights a microbatch (PLANNERS: AG fwd + AG bwd + RS).
  const ModelConfig model = small();
  ParallelConfig with = layout(4, 3);
  const TrainingStepUnderTest step{model, with};
  CHECK(step.traffic("dp", Collective::all_gather).bytes == 2 * kM * weights_of(model));
  CHECK(step.traffic("dp", Collective::reduce_scatter).bytes == kM * weights_of(model));
  with.reshard_after_forward = false;  // kept until backward
  const TrainingStepUnderTest kept{model, with};
  CHECK(kept.traffic("dp", Collective::all_gather).bytes == kM * weights_of(model));
  CHECK(kept.traffic("dp", Collective::reduce_scatter).bytes == kM * weights_of(model));
}

TEST_CASE(
    "ZeRO-3 that prefetches asks for the next weights before it reduces this block's gradients") {
  ParallelConfig with = layout(4, 3);
  with.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
  const TrainingStepUnderTest step{small(), with};
  // One communicator, so one stream: in backward, after the first gather of it, gathers and
  // reductions take turns, gather first, until the last block has nothing left to ask for.
  std::vector<Collective> order;
  for (const Message& message : step.messages()) {
    if (message.group() != "dp") continue;
    CHECK(message.operation->stream == step.messages().front().operation->stream);
    order.push_back(message.collective());
  }
  const auto first = std::find(order.begin(), order.end(), Collective::reduce_scatter);
  REQUIRE(first - order.begin() >= 2);
  CHECK(*(first - 1) == Collective::all_gather);
  CHECK(*(first + 1) == Collective::all_gather);
  CHECK(order.back() == Collective::reduce_scatter);
}

// PyTorch fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce: what a microbatch leaves in a
// shard is all-reduced before it is added to the sharded gradient.
TEST_CASE("replicas of shards that are summed in every microbatch: an all-reduce for each") {
  const ModelConfig model = small();
  for (const int zero : {2, 3}) {
    CAPTURE(zero);
    ParallelConfig with = layout(8, zero);
    with.shard_ranks = 4;
    with.reduce_replicas = GradientReduction::every_microbatch;
    const TrainingStepUnderTest step{model, with};
    CHECK(step.traffic("dp", Collective::reduce_scatter).bytes == kM * weights_of(model));
    CHECK(step.traffic("hsdp", Collective::all_reduce).bytes == kM * weights_of(model) / 4);
    with.reduce_gradients = GradientReduction::last_microbatch;
    const TrainingStepUnderTest last{model, with};
    CHECK(last.traffic("hsdp", Collective::all_reduce).bytes == weights_of(model) / 4);
  }
}

// PyTorch fsdp/_fully_shard/_fsdp_collectives.py, torchtitan config/configs.py: fp32 shards, bf16
// gathers, fp32 reductions.
TEST_CASE("FSDP2: ZeRO-3 with shards in fp32 gathers 2 bytes of every weight and reduces 4") {
  const ModelConfig model = small();
  for (const int shard_ranks : {0, 2}) {
    CAPTURE(shard_ranks);
    ParallelConfig with = layout(4, 3);
    with.shard_ranks = shard_ranks;
    with.shards = Dtype::fp32;
    with.state.gradients = Dtype::fp32;
    const TrainingStepUnderTest step{model, with};
    CHECK(step.traffic("dp", Collective::all_gather).bytes == 2 * kM * weights_of(model));
    CHECK(step.traffic("dp", Collective::reduce_scatter).bytes == 2 * kM * weights_of(model));
    CHECK(step.traffic("hsdp", Collective::all_reduce).bytes ==
          (shard_ranks > 0 ? 2 * weights_of(model) / shard_ranks : 0));
  }
}

TEST_CASE("FSDP2's shards are the optimizer's weights: 4 + 4 + 8 bytes, as 2 + 2 + 12") {
  const ModelConfig model = of_7_5_billion();
  constexpr std::int64_t kP = 7'500'000'000;
  ParallelConfig with = on_64(3);
  with.shards = Dtype::fp32;
  with.state.gradients = Dtype::fp32;
  CHECK(states(model, with) == 16 * kP / 64);
  with.state.gradients = Dtype::bf16;  // on the way alone
  CHECK(states(model, with) == 16 * kP / 64);
  // Without a copy of its own the optimizer has weights in bf16, and with offload on the host.
  with.state.master = false;
  CHECK(states(model, with) == 12 * kP / 64);
  with.zero = 1;
  with.state.master = true;
  CHECK(states(model, with) == 4 * kP + 12 * kP / 64);
}

TEST_CASE("hybrid sharding: shards within a part of the replicas, their sums over the rest") {
  // Zhao et al., arXiv 2304.11277, section 3.2.2: all-gather and reduce-scatter among F ranks, an
  // all-reduce of a shard (1/F of the gradients) among W/F.
  const ModelConfig model = small();
  for (const int zero : {1, 2, 3}) {
    CAPTURE(zero);
    ParallelConfig with = layout(8, zero);
    with.shard_ranks = 4;
    const TrainingStepUnderTest step{model, with};
    const std::int64_t scatters = zero == 1 ? 1 : kM;
    CHECK(step.traffic("dp", Collective::reduce_scatter).bytes == scatters * weights_of(model));
    CHECK(step.traffic("hsdp", Collective::all_reduce).bytes == weights_of(model) / 4);
    CHECK(step.traffic("dp", Collective::all_reduce) == Traffic{});
    for (const Message& message : step.messages()) {
      CHECK(message.members == (message.collective() == Collective::all_reduce ? 2 : 4));
    }
    // Neighbours share shards, those four ranks apart sum them.
    CHECK(step.mesh().members(5, step.mesh().axis("shard")) == std::vector<int>{4, 5, 6, 7});
    CHECK(step.mesh().members(5, step.mesh().axis("replicate")) == std::vector<int>{1, 5});
  }
}

TEST_CASE("ZeRO: model states of 7.5 billion parameters on 64 GPUs") {
  // Figure 1 there: 120, 31.4, 16.6 and 1.9 GB (1e9 bytes). 2 + 2 + 12 bytes per parameter; of
  // 64ths: the 12, then also the gradients' 2, then also the weights' 2.
  const ModelConfig model = of_7_5_billion();
  constexpr std::int64_t kP = 7'500'000'000;
  REQUIRE(count_parameters(model).total() == kP);
  CHECK(states(model, on_64(0)) == 16 * kP);                // 120e9
  CHECK(states(model, on_64(1)) == 4 * kP + 12 * kP / 64);  // 31.40625e9
  CHECK(states(model, on_64(2)) == 2 * kP + 14 * kP / 64);  // 16.640625e9
  CHECK(states(model, on_64(3)) == 16 * kP / 64);           // 1.875e9
  CHECK(16 * kP == 120'000'000'000);
  CHECK(states(model, on_64(1)) / 100'000'000 == 314);
  CHECK(states(model, on_64(2)) / 100'000'000 == 166);
  CHECK((states(model, on_64(3)) + 50'000'000) / 100'000'000 == 19);
}

TEST_CASE("every part of the model states can be chosen") {
  const ModelConfig model = of_7_5_billion();
  constexpr std::int64_t kP = 7'500'000'000;
  ParallelConfig with = on_64(0);
  SUBCASE("gradients in fp32: Megatron's 18 bytes") {
    with.state.gradients = Dtype::fp32;
    CHECK(states(model, with) == (2 + 4 + 12) * kP);
  }
  SUBCASE("no master copy") {
    with.state.master = false;
    CHECK(states(model, with) == (2 + 2 + 8) * kP);
  }
  SUBCASE("weights in fp32 need none") {
    with.state.weights = Dtype::fp32;
    with.state.gradients = Dtype::fp32;
    CHECK(states(model, with) == (4 + 4 + 8) * kP);
  }
  SUBCASE("SGD keeps nothing but the master copy") {
    with.state.optimizer = Optimizer::sgd;
    CHECK(states(model, with) == (2 + 2 + 4) * kP);
  }
  SUBCASE("momentum keeps one number") {
    with.state.optimizer = Optimizer::momentum;
    CHECK(states(model, with) == (2 + 2 + 4 + 4) * kP);
  }
  SUBCASE("moments in bf16") {
    with.state.moments = Dtype::bf16;
    CHECK(states(model, with) == (2 + 2 + 4 + 2 + 2) * kP);
  }
  SUBCASE("moments in 8 bits, with a scale of a byte per 32") {
    with.state.moments = Dtype::fp8_block;
    CHECK(states(model, with) == (2 + 2 + 4) * kP + 2 * kP * 33 / 32);
  }
  SUBCASE("offloaded: the host has the 12 bytes") {
    with.state.offload = true;
    CHECK(states(model, with) == (2 + 2) * kP);
    CHECK(states(model, with, true) == 12 * kP);
  }
  SUBCASE("offloaded shards") {
    with.zero = 2;
    with.state.offload = true;
    CHECK(states(model, with) == 2 * kP + 2 * kP / 64);
    CHECK(states(model, with, true) == 12 * kP / 64);
  }
}

TEST_CASE("offloading copies gradients to the host and weights back, once a step") {
  const ModelConfig model = small();
  for (const int zero : {0, 1, 3}) {
    CAPTURE(zero);
    ParallelConfig with = layout(4, zero);
    with.state.offload = true;
    const TrainingStepUnderTest step{model, with};
    const std::int64_t of_rank = weights_of(model) / (zero > 0 ? 4 : 1);
    CHECK(step.traffic(OperationKind::host_copy, "offload").bytes == of_rank);
    CHECK(step.traffic(OperationKind::host_copy, "load").bytes == of_rank);
  }
}

TEST_CASE("sharding pads what does not divide: every rank has the same size") {
  // A norm's 64 gains over 3 * 4 = 12 ranks: 6 each, 72 together.
  ParallelConfig with = layout(12, 3);
  const TrainingStepUnderTest step{small(), with};
  CHECK(step.bytes_of("head.norm.gain.shard") == 2 * 6);
}

TEST_CASE("ZeRO-1 and -2 may gather the updated weights at the start of the next step") {
  const ModelConfig model = small();
  ParallelConfig with = layout(4, 1);
  const auto first_gather = [&] {
    const TrainingStepUnderTest step{model, with};
    const auto& operations = step.role().operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].operation->name == "gather_weights") {
        return std::pair{i, operations.size()};
      }
    }
    return std::pair{operations.size(), operations.size()};
  };
  const auto [at_end, all] = first_gather();
  CHECK(at_end > all / 2);
  with.overlap.insert(Overlap::dp_parameters);
  CHECK(first_gather().first == 0);
  // The shards that were updated are kept from one step to the next: 2 bytes more per parameter.
  const TrainingStepUnderTest step{model, with};
  CHECK(resident_bytes(step.role())[Category::buffer].count() >= weights_of(model) / 4);
}

}  // namespace lockstep::test
