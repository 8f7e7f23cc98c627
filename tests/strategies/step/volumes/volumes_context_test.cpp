#include <doctest/doctest.h>

#include <algorithm>

#include "tests/strategies/step/volumes/volumes.hpp"

/// How often context and expert parallelism communicate, and how much, against closed forms.
namespace lockstep::test::volumes {

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

TEST_CASE("context parallelism by all-gather: keys and values twice, their gradients once") {
  // Llama Team, arXiv 2407.21783, section 3.3.2: every rank gathers the keys and values of the
  // sequence, 2sb g/h of the stream each, again in backward, and reduce-scatters their gradients.
  for (const int n : {2, 4}) {
    for (const std::int64_t kv_heads : {8, 2}) {
      CAPTURE(n);
      CAPTURE(kv_heads);
      TransformerConfig grouped = shape();
      grouped.kv_heads = kv_heads;
      ParallelConfig with = layout();
      with.cp = n;
      with.cp_kind = ContextKind::all_gather;
      const TrainingStepUnderTest step{transformer(grouped), with};
      const std::int64_t times = kLayers * kM;
      const Traffic keys_and_values{2 * times, 2 * times * kStream * kv_heads / 8};
      CHECK(step.traffic("cp", Collective::all_gather, "layer.forward") == keys_and_values);
      CHECK(step.traffic("cp", Collective::all_gather, "layer.backward") == keys_and_values);
      CHECK(step.traffic("cp", Collective::reduce_scatter, "layer.backward") == keys_and_values);
      CHECK(step.traffic("cp").count == 3 * keys_and_values.count);
    }
  }
}

/// With an encoder of 3 layers and twice as many tokens in front of it.
TransformerConfig stacks() {
  TransformerConfig out = shape();
  out.attention = AttentionKind::unfused;
  out.positions = Positions::none;
  out.encoder = EncoderStack{.layers = 3, .sequence = 2 * kS, .buckets = 16};
  return out;
}

TEST_CASE(
    "encoder and decoder by all-gather: the decoder gathers what it makes of both sequences") {
  // Keys and values of 2sbh each, in a layer of the decoder also 2s'bh of the encoder's tokens.
  for (const int n : {2, 4}) {
    CAPTURE(n);
    ParallelConfig with = layout();
    with.cp = n;
    with.cp_kind = ContextKind::all_gather;
    const TrainingStepUnderTest step{transformer(stacks()), with};
    const std::int64_t decoder = kLayers * kM;
    const std::int64_t encoder = 3 * kM;
    const Traffic once{2 * (2 * decoder + encoder),
                       2 * (decoder * (kStream + 2 * kStream) + encoder * 2 * kStream)};
    CHECK(step.traffic("cp", Collective::all_gather) == Traffic{2 * once.count, 2 * once.bytes});
    CHECK(step.traffic("cp", Collective::reduce_scatter) == once);
    CHECK(step.traffic("cp").count == 3 * once.count);
  }
}

TEST_CASE(
    "encoder and decoder in a ring: keys for scores and values for what follows, each alone") {
  // As fused: n - 1 hops of both in each pass, and n - 1 of the sums of their gradients, of both
  // sequences in the decoder. Ring self-attention (Li et al., arXiv 2105.13120, section 3.2).
  for (const int n : {2, 4}) {
    CAPTURE(n);
    ParallelConfig with = layout();
    with.cp = n;
    const TrainingStepUnderTest step{transformer(stacks()), with};
    const std::int64_t decoder = kLayers * kM;
    const std::int64_t encoder = 3 * kM;
    const std::int64_t calls = 2 * (2 * decoder + encoder) * (n - 1);
    const std::int64_t bytes =
        2 * (decoder * (kStream + 2 * kStream) + encoder * 2 * kStream) / n * (n - 1);
    CHECK(step.traffic("cp", Collective::send_recv) == Traffic{3 * calls, 3 * bytes});
    CHECK(step.traffic("cp").count == 3 * calls);
  }
}

TEST_CASE("ring attention: n - 1 hops of keys and values in each pass, n - 1 of their gradients") {
  // One hop passes 2 * 2(s/n)b g d bytes (Liu et al., arXiv 2310.01889). In backward a rank's own
  // keys and values come last, and with them their gradients, which so are at home: n - 1 hops of
  // both (TransformerEngine context_parallel.py, AttnFuncWithCPAndKVP2P.backward).
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
            Traffic{times * 2 * (n - 1), times * 2 * (n - 1) * pair});
    }
  }
}

TEST_CASE("expert parallelism: two all-to-alls of k s b h forward, two backward") {
  // Lepikhin et al., arXiv 2006.16668, section 3.1: dispatch and combine. b sequences of this rank.
  const TransformerConfig experts = routed();
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

// Liu et al., arXiv 2504.14960, section 3.1. Under sequence parallelism a rank has 1 / tp of the
// tokens. Sharded experts gather them over tp and reduce-scatter their results; whole experts
// (etp 1) do neither.
TEST_CASE("expert tensor parallelism of its own degree: tp gathers nothing for experts") {
  const TransformerConfig experts = routed();
  ParallelConfig with = layout(4);
  with.tp = 2;
  with.sequence_parallel = true;
  const std::int64_t times = kLayers * kM;
  with.ep = 4;
  const TrainingStepUnderTest sharded{transformer(experts), with};
  with.etp = 1;
  with.ep = 8;
  const TrainingStepUnderTest whole{transformer(experts), with};
  const Traffic wanted{2 * times, 2 * times * kStream};
  CHECK(sharded.traffic("ep", Collective::all_to_all, "expert_layer.forward") == wanted);
  CHECK(whole.traffic("ep", Collective::all_to_all, "expert_layer.forward") == wanted);
  CHECK(whole.traffic("ep", Collective::all_to_all, "expert_layer.backward") == wanted);
  for (const Collective of : {Collective::all_gather, Collective::reduce_scatter}) {
    CHECK(sharded.traffic("tp", of, "expert_layer.forward").count == 2 * times);
    CHECK(whole.traffic("tp", of, "expert_layer.forward").count == times);
  }
  // Each rank has one expert of 2 h by h matrices, or half of two.
  CHECK(whole.bytes_of("experts.up.weight") == sharded.bytes_of("experts.up.weight"));
}

// Whichever axes ep is cut from: context parallelism's own traffic is the ring alone, n - 1 hops
// forward and 2(n - 1) backward a layer.
TEST_CASE("experts within context parallelism: their all-to-alls are called ep, the ring cp") {
  const TransformerConfig experts = routed();
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
      CHECK(step.traffic("cp").count == times * (3 + 6));
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
  const TransformerConfig experts = routed();
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

}  // namespace lockstep::test::volumes
