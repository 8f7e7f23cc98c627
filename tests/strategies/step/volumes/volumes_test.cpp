#include <doctest/doctest.h>

#include <algorithm>

#include "sim/trace/memory/memory.hpp"
#include "tests/strategies/step/volumes/volumes.hpp"

/// How often tensor and data parallelism, servers and averaging communicate, and how much, against
/// closed forms.
namespace lockstep::test::volumes {

TEST_CASE("one device communicates with nobody") {
  const TrainingStepUnderTest step{transformer(shape()), layout()};
  CHECK(step.messages().empty());
}

TEST_CASE("tensor parallelism: two all-reduces of 2sbh a layer forward, two backward") {
  // Shoeybi et al., arXiv 1909.08053, section 3: g after the attention's and after the MLP's row
  // GEMM, f before each of them on the way back.
  ParallelConfig with = layout();
  with.tp = 4;
  const TrainingStepUnderTest step{transformer(shape()), with};
  const Traffic of_layers{2 * kLayers * kM, 2 * kLayers * kM * kStream};
  CHECK(step.traffic("tp", Collective::all_reduce, "layer.forward") == of_layers);
  CHECK(step.traffic("tp", Collective::all_reduce, "layer.backward") == of_layers);
  // Rows of the table are on one rank, the others add zeros; backward nothing is missing.
  CHECK(step.traffic("tp", Collective::all_reduce, "embedding.forward") ==
        Traffic{kM, kM * kStream});
  CHECK(step.traffic("tp", Collective::all_reduce, "embedding.backward") == Traffic{});
  // Maximum, sum of exponents and the label's logit, sb floats each; backward the gradient of the
  // logits' input.
  CHECK(step.traffic("tp", Collective::all_reduce, "head.forward") ==
        Traffic{3 * kM, 3 * kM * 4 * kS * kB});
  CHECK(step.traffic("tp", Collective::all_reduce, "head.backward") == Traffic{kM, kM * kStream});
  // Nothing else: norms see the same tokens on every rank.
  CHECK(step.traffic("tp").count == kM * (4 * kLayers + 1 + 3 + 1));
  CHECK(step.messages().size() == static_cast<std::size_t>(step.traffic("tp").count));
}

TEST_CASE("the maximum over a cut vocabulary is a maximum, its sums are sums") {
  ParallelConfig with = layout();
  with.tp = 2;
  const TrainingStepUnderTest step{transformer(shape()), with};
  std::int64_t maxima = 0;
  for (const Message& message : step.messages()) {
    if (message.operation->communication->reduction != Reduction::maximum) continue;
    CHECK(message.operation->name == "loss.maximum.tp.all_reduce");
    ++maxima;
  }
  CHECK(maxima == kM);
}

TEST_CASE("sequence parallelism: all-gathers and reduce-scatters, one gather more backward") {
  // Korthikanti et al., arXiv 2205.05198, section 4.2.2: each all-reduce becomes an all-gather and
  // a reduce-scatter. What was gathered forward is not kept, so that a GEMM's weight gradient
  // gathers its input again: attention's and the MLP's first.
  ParallelConfig with = layout();
  with.tp = 4;
  with.sequence_parallel = true;
  const TrainingStepUnderTest step{transformer(shape()), with};
  const auto per_layer = [](std::int64_t count) {
    return Traffic{count * kLayers * kM, count * kLayers * kM * kStream};
  };
  CHECK(step.traffic("tp", Collective::all_gather, "layer.forward") == per_layer(2));
  CHECK(step.traffic("tp", Collective::reduce_scatter, "layer.forward") == per_layer(2));
  CHECK(step.traffic("tp", Collective::reduce_scatter, "layer.backward") == per_layer(2));
  CHECK(step.traffic("tp", Collective::all_gather, "layer.backward") == per_layer(2 + 2));
  CHECK(step.traffic("tp", Collective::all_reduce, "layer.forward") == Traffic{});
  CHECK(step.traffic("tp", Collective::all_reduce, "layer.backward") == Traffic{});
  // The embedding's sum is scattered, its gradient gathered; the logits want all tokens.
  CHECK(step.traffic("tp", Collective::reduce_scatter, "embedding.forward") ==
        Traffic{kM, kM * kStream});
  CHECK(step.traffic("tp", Collective::all_gather, "embedding.backward") ==
        Traffic{kM, kM * kStream});
  CHECK(step.traffic("tp", Collective::all_gather, "head.forward") == Traffic{kM, kM * kStream});
}

TEST_CASE("under sequence parallelism what is not cut by tensor has gradients summed over it") {
  // Every rank has seen its tokens alone: norms (two a layer and one at the end, gain and bias),
  // biases after row GEMMs (two a layer), learned positions.
  ParallelConfig with = layout();
  with.tp = 4;
  with.sequence_parallel = true;
  const TrainingStepUnderTest step{transformer(shape()), with};
  const std::int64_t elements = kH * (2 * (2 * kLayers + 1) + 2 * kLayers) + kS * kH;
  const Traffic after = step.traffic("tp", Collective::all_reduce, "reduce_within_tp");
  CHECK(after.bytes == 2 * elements);  // once a step, whatever M
  // Without it they see the same tokens and have the same gradients.
  with.sequence_parallel = false;
  const TrainingStepUnderTest without{transformer(shape()), with};
  CHECK(without.traffic("tp", Collective::all_reduce, "reduce_within_tp") == Traffic{});
}

TEST_CASE("data parallelism sums all gradients once a step, however many microbatches") {
  const ModelConfig model = transformer(shape());
  for (const std::int64_t microbatches : {1, 2, 8}) {
    CAPTURE(microbatches);
    ParallelConfig with = layout(4);
    with.global_batch = kB * 4 * microbatches;
    const TrainingStepUnderTest step{model, with};
    CHECK(step.traffic("dp").bytes == 2 * parameters(model));
    CHECK(step.traffic("dp", Collective::all_reduce) == step.traffic("dp"));
  }
}

TEST_CASE("gradients in fp32 are twice as much to sum") {
  const ModelConfig model = transformer(shape());
  ParallelConfig with = layout(4);
  with.state.gradients = Dtype::fp32;
  const TrainingStepUnderTest step{model, with};
  CHECK(step.traffic("dp").bytes == 4 * parameters(model));
}

TEST_CASE("a bucket is full at its size, the last one is whatever is left") {
  const ModelConfig model = transformer(shape());
  ParallelConfig with = layout(2);
  with.bucket = Bytes{100'000};
  const TrainingStepUnderTest step{model, with};
  std::vector<std::int64_t> sizes;
  std::int64_t largest = 0;  // gradient
  for (const Message& message : step.messages()) {
    sizes.push_back(message.bytes);
    for (const std::uint32_t instance : message.in_role->reads) {
      largest = std::max(largest, local_bytes(step.mesh(), step.role().tensor(instance)).count());
    }
  }
  REQUIRE(sizes.size() > 2);
  sizes.pop_back();
  for (const std::int64_t size : sizes) {
    CHECK(size >= 100'000);
    CHECK(size < 100'000 + largest);
  }
}

TEST_CASE("parameter servers: gradients are reduced to a host, weights broadcast from it") {
  const ModelConfig model = transformer(shape());
  for (const int servers : {1, 3}) {
    CAPTURE(servers);
    ParallelConfig with = layout(4);
    with.exchange = GradientExchange::parameter_server;
    with.servers = servers;
    const TrainingStepUnderTest step{model, with};
    REQUIRE(step.roles().size() == static_cast<std::size_t>(1 + servers));
    CHECK(step.traffic("dp", Collective::reduce).bytes == 2 * parameters(model));
    CHECK(step.traffic("dp", Collective::broadcast).bytes == 2 * parameters(model));
    std::int64_t summed = 0;
    std::int64_t most = 0;
    for (std::size_t role = 1; role < step.roles().size(); ++role) {
      const std::int64_t of_server = step.traffic("dp", Collective::reduce, {}, role).bytes;
      CHECK(step.traffic("dp", Collective::broadcast, {}, role).bytes == of_server);
      summed += of_server;
      most = std::max(most, of_server);
    }
    CHECK(summed == 2 * parameters(model));
    // Positions (layers, embedding, head) are dealt whole, each to the least loaded.
    const std::int64_t layer = 2 * (12 * kH * kH + 13 * kH);
    CHECK(most <= 2 * parameters(model) / servers + layer);
  }
}

TEST_CASE("averaging on a host: gradients go there and come back, every GPU updates") {
  const ModelConfig model = transformer(shape());
  ParallelConfig with = layout(4);
  with.exchange = GradientExchange::host_average;
  const TrainingStepUnderTest step{model, with};
  CHECK(step.traffic("dp", Collective::reduce).bytes == 2 * parameters(model));
  CHECK(step.traffic("dp", Collective::broadcast).bytes == 2 * parameters(model));
  const auto updates = [&](std::size_t role) {
    return std::count_if(
        step.role(role).operations.begin(), step.role(role).operations.end(),
        [](const RoleOperation& one) { return one.operation->kind == OperationKind::update; });
  };
  CHECK(updates(0) == kLayers + 2);
  CHECK(updates(1) == 0);
}

TEST_CASE("averaging parameters: the weights' master copies once, and no gradients") {
  const ModelConfig model = transformer(shape());
  ParallelConfig with = layout(4);
  with.exchange = GradientExchange::parameter_averaging;
  const TrainingStepUnderTest step{model, with};
  CHECK(step.traffic("dp", Collective::all_reduce).bytes == 4 * parameters(model));
  for (const Message& message : step.messages()) {
    CHECK(message.operation->name == "average_weights");
  }
}

TEST_CASE("DiLoCo: what every parameter moved, in fp32, once in so many steps") {
  const ModelConfig model = transformer(shape());
  ParallelConfig with = layout(4);
  with.exchange = GradientExchange::diloco;
  with.outer_replicas = 2;
  with.average_every = 10;
  const TrainingStepUnderTest step{model, with};
  CHECK(step.traffic("outer", Collective::all_reduce).bytes == 4 * parameters(model));
  CHECK(step.traffic("outer").count == 1);
  const auto sent_in = [&](Dtype dtype) {
    with.outer_gradients = dtype;
    return TrainingStepUnderTest{model, with}.traffic("outer").bytes;
  };
  CHECK(sent_in(Dtype::bf16) == 2 * parameters(model));
  // A scale of a byte per 32, and per 16 of 4 bits; every tensor is a multiple of 32.
  CHECK(sent_in(Dtype::fp8_block) == parameters(model) * 33 / 32);
  CHECK(sent_in(Dtype::nvfp4) == parameters(model) * 9 / 16);
  // Gradients as without: over the two that train together.
  CHECK(step.traffic("dp", Collective::all_reduce).bytes == 2 * parameters(model));
}

TEST_CASE("DiLoCo: two fp32 numbers per parameter more, in shards as the optimizer's states") {
  const ModelConfig model = transformer(shape());
  const auto states = [&](int zero, GradientExchange exchange) {
    ParallelConfig with = layout(8);
    with.zero = zero;
    with.shard_ranks = zero > 0 ? 4 : 0;
    with.exchange = exchange;
    if (exchange == GradientExchange::diloco) with.outer_replicas = 2;
    const TrainingStepUnderTest step{model, with};
    return resident_bytes(step.role())[Category::optimizer_state].count();
  };
  using enum GradientExchange;
  CHECK(states(0, diloco) - states(0, all_reduce) == 8 * parameters(model));
  // Master, two moments and these two, all fp32 and in equal shards of 4: 5/3 as much.
  CHECK(3 * states(3, diloco) == 5 * states(3, all_reduce));
}

TEST_CASE("DiLoCo: weights of the last outer step on hosts come twice and go back once") {
  // 4 bytes per parameter for gradients and for the update, and what these make of them, in shards.
  const ModelConfig model = transformer(shape());
  for (const int zero : {0, 1}) {
    ParallelConfig with = layout(8);
    with.zero = zero;
    with.shard_ranks = zero > 0 ? 4 : 0;
    with.exchange = GradientExchange::diloco;
    with.outer_replicas = 2;
    const TrainingStepUnderTest on_device{model, with};
    with.outer_on_host = true;
    const TrainingStepUnderTest step{model, with};
    const std::int64_t once = 4 * parameters(model) / (zero > 0 ? 4 : 1);
    CHECK(step.traffic(OperationKind::host_copy, "load").bytes == 2 * once);
    CHECK(step.traffic(OperationKind::host_copy, "offload").bytes == once);
    CHECK(step.traffic("outer").bytes == on_device.traffic("outer").bytes);
    const auto states = [](const TrainingStepUnderTest& of, bool on_host) {
      return resident_bytes(of.role(), on_host)[Category::optimizer_state].count();
    };
    CHECK(states(step, true) == once);
    CHECK(states(step, false) == states(on_device, false) - once);
  }
}

TEST_CASE("Streaming DiLoCo: fragments together send and hold what the whole does") {
  const ModelConfig model = transformer(shape());
  ParallelConfig with = layout(4);
  with.exchange = GradientExchange::diloco;
  with.outer_replicas = 2;
  with.average_every = 6;
  const CategoryBytes whole = resident_bytes(TrainingStepUnderTest{model, with}.role());
  with.fragments = 3;
  std::int64_t sent = 0;
  std::int64_t most = 0;
  for (int fragment = 0; fragment <= with.fragments; ++fragment) {
    const Program program = build_program(
        model, with, 8, {.ends_with_average = fragment < with.fragments, .fragment = fragment});
    const RoleProgram role = unroll(program, 0);
    CHECK(resident_bytes(role)[Category::optimizer_state] == whole[Category::optimizer_state]);
    std::int64_t bytes = 0;
    for (const RoleOperation& one : role.operations) {
      if (one.operation->name != "reduce_outer_gradients") continue;
      for (const std::uint32_t read : one.reads)
        bytes += local_bytes(program.mesh, role.tensor(read)).count();
    }
    CHECK((bytes > 0) == (fragment < with.fragments));
    sent += bytes;
    most = std::max(most, bytes);
  }
  CHECK(sent == 4 * parameters(model));
  // Positions: embedding, 4 layers, head; every third: two of them each.
  const std::int64_t layer = 4 * (12 * kH * kH + 13 * kH);
  CHECK(most <= 2 * layer);
}

}  // namespace lockstep::test::volumes
