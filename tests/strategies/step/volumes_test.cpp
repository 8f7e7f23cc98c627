#include <doctest/doctest.h>

#include <algorithm>

#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// How often a strategy communicates, and how much, against closed forms. Symbols: s sequence,
/// b sequences of a microbatch on one data-parallel rank, h hidden, d head size, V vocabulary, L
/// layers, M microbatches, P parameters, t = tp, n = the group. Activations and weights are bf16:
/// 2 bytes. A message is what the contract counts: the larger of what a rank gives and gets.

namespace lockstep::test {
namespace {

constexpr std::int64_t kS = 64;
constexpr std::int64_t kH = 64;
constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kV = 256;
constexpr std::int64_t kB = 2;
constexpr std::int64_t kM = 3;

/// 2sbh bytes: the residual stream of a microbatch.
constexpr std::int64_t kStream = 2 * kS * kB * kH;

[[nodiscard]] TransformerConfig shape() {
  TransformerConfig out;
  out.layers = kLayers;
  out.hidden = kH;
  out.heads = 8;
  out.sequence = kS;
  out.vocabulary = kV;
  return out;
}

[[nodiscard]] ParallelConfig layout(std::int64_t dp = 1) {
  ParallelConfig out;
  out.dp = static_cast<int>(dp);
  out.micro_batch = kB;
  out.global_batch = kB * kM * dp;
  return out;
}

[[nodiscard]] std::int64_t parameters(const ModelConfig& model) {
  return count_parameters(model).total();
}

}  // namespace

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

TEST_CASE("gradients are summed over context parallelism too") {
  // Each rank has seen its tokens alone.
  const ModelConfig model = transformer(shape());
  ParallelConfig with = layout(2);
  with.cp = 2;
  const TrainingStepUnderTest step{model, with};
  CHECK(step.traffic("dp", Collective::all_reduce).bytes == 2 * parameters(model));
  for (const Message& message : step.messages()) {
    if (message.group() == "dp") CHECK(message.members == 4);
  }
}

TEST_CASE("ulysses: four all-to-alls of 2sbh/n forward and four backward") {
  // Jacobs et al., arXiv 2309.14509, section 3.2: queries, keys, values and the context.
  for (const int n : {2, 4, 8}) {
    CAPTURE(n);
    ParallelConfig with = layout();
    with.cp = n;
    with.cp_kind = ContextKind::ulysses;
    const TrainingStepUnderTest step{transformer(shape()), with};
    const Traffic wanted{4 * kLayers * kM, 4 * kLayers * kM * kStream / n};
    CHECK(step.traffic("cp", Collective::all_to_all, "layer.forward") == wanted);
    CHECK(step.traffic("cp", Collective::all_to_all, "layer.backward") == wanted);
    CHECK(step.traffic("cp").count == 2 * wanted.count);
  }
}

TEST_CASE("ulysses with grouped keys: keys and values are smaller messages") {
  TransformerConfig grouped = shape();
  grouped.kv_heads = 4;  // of 8 heads: half of the bytes
  ParallelConfig with = layout();
  with.cp = 4;
  with.cp_kind = ContextKind::ulysses;
  const TrainingStepUnderTest step{transformer(grouped), with};
  const std::int64_t queries = kStream / 4;
  const Traffic wanted{4 * kLayers * kM, kLayers * kM * (2 * queries + 2 * queries / 2)};
  CHECK(step.traffic("cp", Collective::all_to_all, "layer.forward") == wanted);
  CHECK(step.traffic("cp", Collective::all_to_all, "layer.backward") == wanted);
}

TEST_CASE("ulysses over more ranks than heads of keys: these are replicated by a gather") {
  // n = 8 ranks, g = 2 heads of keys: 4 ranks share a head. They gather their tokens (s/2 of both
  // heads), then exchange among 2 (s tokens of one head): 2sb(h/8) bytes with 8 heads of queries.
  // Backward the other way round: the four ranks have a summand each, which they reduce-scatter.
  TransformerConfig grouped = shape();
  grouped.kv_heads = 2;
  ParallelConfig with = layout();
  with.cp = 8;
  with.cp_kind = ContextKind::ulysses;
  const TrainingStepUnderTest step{transformer(grouped), with};
  const std::int64_t head = kStream / 8;
  const std::int64_t times = kLayers * kM;
  const Traffic replicas{2 * times, 2 * times * head};
  CHECK(step.traffic("cp", Collective::all_gather, "layer.forward") == replicas);
  CHECK(step.traffic("cp", Collective::reduce_scatter, "layer.backward") == replicas);
  const Traffic exchanged{4 * times, times * (2 * kStream / 8 + 2 * head)};
  CHECK(step.traffic("cp", Collective::all_to_all, "layer.forward") == exchanged);
  CHECK(step.traffic("cp", Collective::all_to_all, "layer.backward") == exchanged);
}

TEST_CASE("ring attention: n - 1 hops of keys and values forward; backward gradients come home") {
  // Liu et al., arXiv 2310.01889: one hop passes 2 * 2(s/n)b g d bytes. Backward keys and values go
  // round again, and their gradients with them: n - 1 hops and one home.
  for (const int n : {2, 4, 8}) {
    for (const std::int64_t kv_heads : {8, 2}) {
      CAPTURE(n);
      CAPTURE(kv_heads);
      TransformerConfig grouped = shape();
      grouped.kv_heads = kv_heads;
      ParallelConfig with = layout();
      with.cp = n;
      const TrainingStepUnderTest step{transformer(grouped), with};
      const std::int64_t pair = 2 * 2 * (kS / n) * kB * kv_heads * (kH / 8);
      const std::int64_t times = kLayers * kM;
      CHECK(step.traffic("cp", Collective::send_recv, "layer.forward") ==
            Traffic{times * (n - 1), times * (n - 1) * pair});
      CHECK(step.traffic("cp", Collective::send_recv, "layer.backward") ==
            Traffic{times * (2 * n - 1), times * (2 * n - 1) * pair});
    }
  }
}

TEST_CASE("expert parallelism: two all-to-alls of k s b h forward, two backward") {
  // Lepikhin et al., arXiv 2006.16668, section 3.1: dispatch and combine. b sequences of this rank.
  TransformerConfig experts = shape();
  experts.experts = ExpertsConfig{};
  experts.experts->experts = 8;
  experts.experts->top_k = 2;
  experts.experts->ffn = 2 * kH;
  ParallelConfig with = layout(4);
  with.ep = 4;
  const TrainingStepUnderTest step{transformer(experts), with};
  const std::int64_t times = kLayers * kM;
  const Traffic wanted{2 * times, 2 * times * 2 * kStream};
  CHECK(step.traffic("ep", Collective::all_to_all, "expert_layer.forward") == wanted);
  CHECK(step.traffic("ep", Collective::all_to_all, "expert_layer.backward") == wanted);
  CHECK(step.traffic("ep").count == 2 * wanted.count);
  // With room for half as many tokens more, half as much again travels.
  with.capacity_factor = 1.5;
  const TrainingStepUnderTest roomy{transformer(experts), with};
  CHECK(roomy.traffic("ep").bytes == step.traffic("ep").bytes * 3 / 2);
}

// Whichever axes ep is cut from: context parallelism's own traffic is the ring alone, n - 1 hops
// forward and 2n - 1 backward a layer.
TEST_CASE("experts within context parallelism: their all-to-alls are called ep, the ring cp") {
  TransformerConfig experts = shape();
  experts.experts = ExpertsConfig{};
  experts.experts->experts = 8;
  experts.experts->top_k = 2;
  experts.experts->ffn = 2 * kH;
  const std::int64_t times = kLayers * kM;
  for (const int ep : {2, 4, 8}) {
    for (const bool sequence_parallel : {false, true}) {
      CAPTURE(ep);
      CAPTURE(sequence_parallel);
      ParallelConfig with = layout(2);
      with.cp = 4;
      with.ep = ep;
      with.tp = 2;
      with.sequence_parallel = sequence_parallel;
      const TrainingStepUnderTest step{transformer(experts), with};
      CHECK(step.traffic("cp").count == times * (3 + 7));
      CHECK(step.traffic("cp", Collective::send_recv) == step.traffic("cp"));
      CHECK(step.traffic("ep").count == 4 * times);
      CHECK(step.traffic("ep", Collective::all_to_all) == step.traffic("ep"));
      // Gradients are summed over replicas: dp, whether of experts or not.
      for (const Message& message : step.messages()) {
        if (message.operation->name == "reduce_gradients") CHECK(message.group() == "dp");
      }
    }
  }
  ParallelConfig exchanged = layout();
  exchanged.cp = 4;
  exchanged.ep = 4;
  exchanged.cp_kind = ContextKind::ulysses;
  const TrainingStepUnderTest step{transformer(experts), exchanged};
  CHECK(step.traffic("cp").count == 8 * times);
  CHECK(step.traffic("ep").count == 4 * times);
}

TEST_CASE("experts' gradients are summed among those who have the same experts") {
  TransformerConfig experts = shape();
  experts.experts = ExpertsConfig{};
  experts.experts->experts = 4;
  experts.experts->ffn = 2 * kH;
  const ModelConfig model = transformer(experts);
  ParallelConfig with = layout(8);
  with.ep = 4;
  const TrainingStepUnderTest step{model, with};
  const ParameterCount count = count_parameters(model);
  std::int64_t of_experts = 0;
  std::int64_t others = 0;
  for (const Message& message : step.messages()) {
    if (message.group() != "dp") continue;
    (message.members == 2 ? of_experts : others) += message.bytes;
    if (message.members != 2) CHECK(message.members == 8);
  }
  CHECK(of_experts == 2 * count.experts / 4);
  CHECK(others == 2 * (count.total() - count.experts));
  // One expert apart in every rank: nobody to sum with.
  ParallelConfig alone = layout(4);
  alone.ep = 4;
  const TrainingStepUnderTest each{model, alone};
  CHECK(each.traffic("dp").bytes == 2 * (count.total() - count.experts));
}

TEST_CASE("experts under sequence parallelism: slots are gathered before, scattered behind") {
  // Every rank along tp routes its own tokens; the experts' GEMMs, cut by tensor, want them all,
  // as a plain MLP does: one gather and one reduce-scatter each way, and one gather more for the
  // weights' gradients. Slots are k s b h * 2 bytes, k = 2; attention has its own 2sbh.
  TransformerConfig experts = shape();
  experts.experts = ExpertsConfig{};
  experts.experts->experts = 8;
  experts.experts->top_k = 2;
  experts.experts->ffn = 2 * kH;
  ParallelConfig with = layout(2);
  with.tp = 4;
  with.sequence_parallel = true;
  const TrainingStepUnderTest step{transformer(experts), with};
  const std::int64_t times = kLayers * kM;
  const auto expected = [&](std::int64_t of_attention, std::int64_t of_experts) {
    return Traffic{times * (of_attention + of_experts),
                   times * (of_attention + 2 * of_experts) * kStream};
  };
  CHECK(step.traffic("tp", Collective::all_gather, "expert_layer.forward") == expected(1, 1));
  CHECK(step.traffic("tp", Collective::reduce_scatter, "expert_layer.forward") == expected(1, 1));
  CHECK(step.traffic("tp", Collective::all_gather, "expert_layer.backward") == expected(2, 2));
  CHECK(step.traffic("tp", Collective::reduce_scatter, "expert_layer.backward") == expected(1, 1));
}

TEST_CASE("both kinds of context parallelism: all-to-alls inside, the ring outside") {
  ParallelConfig with = layout();
  with.cp = 8;
  with.cp_kind = ContextKind::both;
  with.ulysses = 4;
  const TrainingStepUnderTest step{transformer(shape()), with};
  const std::int64_t times = kLayers * kM;
  // A rank has s/8 tokens of all heads, then s/2 of two heads: 2sbh/8 bytes either way.
  CHECK(step.traffic("cp", Collective::all_to_all, "layer.forward") ==
        Traffic{4 * times, 4 * times * kStream / 8});
  // One hop of two: keys and values as they lie in attention.
  CHECK(step.traffic("cp", Collective::send_recv, "layer.forward") ==
        Traffic{times, times * 2 * kStream / 8});
  for (const Message& message : step.messages()) {
    if (message.group() != "cp") continue;
    CHECK(message.members == (message.collective() == Collective::send_recv ? 2 : 4));
  }
}

TEST_CASE("pipeline: 2sbh over every boundary, forward and back") {
  ParallelConfig with = layout();
  with.pp = 4;
  with.schedule = PipelineOrder::one_f_one_b;
  with.global_batch = kB * 8;
  const TrainingStepUnderTest step{transformer(shape()), with};
  const Traffic all{8, 8 * kStream};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    const Traffic before = stage > 0 ? all : Traffic{};
    const Traffic behind = stage < 3 ? all : Traffic{};
    CHECK(step.traffic(OperationKind::send, "send.forward", stage) == behind);
    CHECK(step.traffic(OperationKind::receive, "receive.backward", stage) == behind);
    CHECK(step.traffic(OperationKind::receive, "receive.forward", stage) == before);
    CHECK(step.traffic(OperationKind::send, "send.backward", stage) == before);
  }
}

TEST_CASE("pipeline: sequence parallelism sends each rank's part of the boundary") {
  ParallelConfig with = layout();
  with.pp = 2;
  with.tp = 4;
  with.sequence_parallel = true;
  with.schedule = PipelineOrder::gpipe;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic(OperationKind::send, "send.forward") == Traffic{kM, kM * kStream / 4});
}

TEST_CASE("pipeline: ranks along tensor that have the same boundary send a part of it each") {
  // Narayanan et al., arXiv 2104.04473, section 4.1: scatter before, all-gather behind.
  ParallelConfig with = layout();
  with.pp = 2;
  with.tp = 4;
  with.schedule = PipelineOrder::gpipe;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic(OperationKind::send, "send.forward", 0) == Traffic{kM, kM * kStream / 4});
  CHECK(step.traffic("tp", Collective::all_gather, "receive.forward", 1) ==
        Traffic{kM, kM * kStream});
  CHECK(step.traffic("tp", Collective::all_gather, "receive.backward", 0) ==
        Traffic{kM, kM * kStream});
}

TEST_CASE("interleaving passes the boundary once for every chunk") {
  // Narayanan et al., arXiv 2104.04473, section 2.2: v times the communication.
  ParallelConfig with = layout();
  with.pp = 2;
  with.vpp = 2;
  with.schedule = PipelineOrder::interleaved;
  with.global_batch = kB * 4;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic(OperationKind::send, "send.forward", 0).count == 2 * 4);
  CHECK(step.traffic(OperationKind::send, "send.forward", 1).count == 4);  // the last chunk ends
  CHECK(step.traffic(OperationKind::receive, "receive.forward", 0).count == 4);
}

TEST_CASE("tied embeddings: their gradients are summed between the first and the last stage") {
  TransformerConfig tied = shape();
  tied.tied_embeddings = true;
  ParallelConfig with = layout();
  with.pp = 4;
  with.tp = 2;
  with.schedule = PipelineOrder::one_f_one_b;
  const TrainingStepUnderTest step{transformer(tied), with};
  const Traffic once{1, 2 * kV * kH / 2};  // 2Vh/t
  CHECK(step.traffic("embedding", 0) == once);
  CHECK(step.traffic("embedding", 1) == Traffic{});
  CHECK(step.traffic("embedding", 2) == Traffic{});
  CHECK(step.traffic("embedding", 3) == once);
  // On one stage there is one table.
  with.pp = 1;
  with.schedule = PipelineOrder::none;
  CHECK(TrainingStepUnderTest{transformer(tied), with}.traffic("embedding") == Traffic{});
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

}  // namespace lockstep::test
