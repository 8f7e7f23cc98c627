#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/trace/memory/memory.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/step/simulate.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/files/cluster_file.hpp"

/// Memory while a step runs: activations by schedule, weights that ZeRO-3 gathers.

namespace lockstep::test {
namespace {

[[nodiscard]] Cluster star(int ranks) {
  const std::string text = R"({"name": "star", "summary": "test", "device": "host", "ranks": )" +
                           std::to_string(ranks) +
                           R"(, "topology": {"builder": "star", "link": {"bandwidth": "10 GB/s",
                           "latency": "1 us", "source": "by definition"}}})";
  return read_cluster(parse_json(text, "star.json")).cluster;
}

/// 1e12 operations and 1e11 bytes a second.
class Linear final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
};

[[nodiscard]] TransformerConfig gpt(std::int64_t layers) {
  TransformerConfig out;
  out.layers = layers;
  out.hidden = 128;
  out.heads = 8;
  out.sequence = 64;
  out.vocabulary = 128;
  out.dropout = 0.1;
  return out;
}

/// What every rank of a step holds over time.
[[nodiscard]] std::vector<MemoryAccount> accounts(const TransformerConfig& shape,
                                                  const ParallelConfig& with) {
  const auto program = std::make_shared<const Program>(build_program(transformer(shape), with, 8));
  SimulationOptions options;
  options.fidelity = Fidelity::representatives;
  options.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
  const SimulatedTrainingStep step =
      simulate(program, with, star(with.ranks()), Device{}, Linear{}, options);
  std::vector<MemoryAccount> out;
  for (const RankTimeline& rank : step.timeline.ranks) {
    out.push_back(memory_account(step.timeline.roles[rank.role], rank));
  }
  return out;
}

[[nodiscard]] std::int64_t most(const MemoryAccount& account, Category category) {
  std::int64_t out = 0;
  for (const MemoryPoint& point : account.device.curve) {
    out = std::max(out, point.held[category].count());
  }
  return out;
}

/// Layers of a stage whose forward pass is done and whose backward pass (the gradients of weights,
/// where these come apart) is not.
[[nodiscard]] std::vector<std::int64_t> layers_in_flight(PipelineOrder order, int microbatches) {
  ParallelConfig with;
  with.pp = 4;
  with.schedule = order;
  with.global_batch = microbatches;
  const TrainingStepUnderTest step{transformer(gpt(8)), with};
  const bool split = order >= PipelineOrder::zb_h1;
  const RoutineId forward = step.routine("layer.forward");
  const RoutineId done = step.routine(split ? "layer.weight_gradients" : "layer.backward");
  std::vector<std::int64_t> out;
  for (std::size_t stage = 0; stage < 4; ++stage) {
    std::int64_t held = 0;
    std::int64_t most_held = 0;
    for (const Call& call : step.program().roles[stage].calls) {
      if (call.routine == forward) most_held = std::max(most_held, ++held);
      if (call.routine == done) --held;
    }
    out.push_back(most_held);
  }
  return out;
}

[[nodiscard]] ParallelConfig sharded(bool prefetch, bool reshard = true) {
  ParallelConfig out;
  out.dp = 4;
  out.zero = 3;
  out.global_batch = 4;
  out.reshard_after_forward = reshard;
  out.prefetch = prefetch;
  out.overlap = {Overlap::dp_parameters, Overlap::dp_gradients};
  return out;
}

/// 2 (12h^2 + 13h) bytes.
constexpr std::int64_t kLayer = 2 * (12 * 128 * 128 + 13 * 128);

}  // namespace

TEST_CASE("microbatches in flight, of two layers each: by schedule and stage") {
  using Layers = std::vector<std::int64_t>;
  // PLANNERS, section 1: GPipe holds m, 1F1B min(m, p - i).
  CHECK(layers_in_flight(PipelineOrder::gpipe, 8) == Layers{16, 16, 16, 16});
  CHECK(layers_in_flight(PipelineOrder::one_f_one_b, 8) == Layers{8, 6, 4, 2});
  CHECK(layers_in_flight(PipelineOrder::one_f_one_b, 3) == Layers{6, 6, 4, 2});
  CHECK(layers_in_flight(PipelineOrder::naive, 8) == Layers{2, 2, 2, 2});
  // Qi et al., arXiv 2401.10241: ZB-H1 no more than 1F1B's worst, ZB-H2 up to 2p - 1.
  for (const std::int64_t held : layers_in_flight(PipelineOrder::zb_h1, 8)) CHECK(held <= 2 * 4);
  CHECK(layers_in_flight(PipelineOrder::zb_h2, 12)[0] == 2 * (2 * 4 - 1));
  for (const std::int64_t held : layers_in_flight(PipelineOrder::zb_h2, 12)) {
    CHECK(held <= 2 * (2 * 4 - 1));
  }
}

TEST_CASE("activations of 1F1B: a stage holds as many microbatches as stages follow, itself too") {
  // Between two inner stages, which have neither embedding nor head, the difference is a microbatch
  // of two layers: 2 (34sbh + 16sb + 4asb).
  ParallelConfig with;
  with.pp = 4;
  with.schedule = PipelineOrder::one_f_one_b;
  with.global_batch = 8;
  const auto all = accounts(gpt(8), with);
  const std::int64_t microbatch = 2 * (34 * 64 * 128 + 16 * 64 + 4 * 8 * 64);
  const std::int64_t second = most(all[1], Category::activation);
  const std::int64_t third = most(all[2], Category::activation);
  CHECK(second - third == microbatch);
}

// Without dropout a layer of a decoder keeps of attention residual stream and norm (4sbh), queries,
// keys and values (6), probabilities 2as^2b and context (2); of that to the encoder stream and norm
// (4), queries (2), keys and values 4s'bh, probabilities 2ass'b, context (2); of the MLP stream and
// norm (4), both sides of the activation (16): 40sbh. RMS norms: 4sb each.
TEST_CASE("activations of a decoder's stages: in flight, each with the encoder's result, 2s'bh") {
  TransformerConfig t5 = gpt(8);
  t5.dropout = 0;
  t5.bias = false;
  t5.norm = Normalization::rms;
  t5.positions = Positions::none;
  t5.attention = AttentionKind::unfused;
  t5.encoder = EncoderStack{.layers = 4, .sequence = 96, .buckets = 8};
  ParallelConfig with;
  with.pp = 6;
  with.schedule = PipelineOrder::one_f_one_b;
  with.global_batch = 12;
  const auto all = accounts(t5, with);
  constexpr std::int64_t kS = 64;
  constexpr std::int64_t kEncoded = 96;
  constexpr std::int64_t kH = 128;
  constexpr std::int64_t kA = 8;
  const std::int64_t layer =
      40 * kS * kH + 4 * kEncoded * kH + 2 * kA * kS * (kS + kEncoded) + 3 * 4 * kS;
  // The second and third of four, which have neither embedding nor head.
  CHECK(most(all[3], Category::activation) - most(all[4], Category::activation) ==
        2 * layer + 2 * kEncoded * kH);
}

TEST_CASE("ZeRO-3: gathered weights are given up layer by layer") {
  // Shards of all weights, and the layer that computes; with prefetch the next one too. The
  // embedding and the head are smaller than a layer here.
  const std::int64_t parameters =
      8 * (12 * 128 * 128 + 13 * 128) + 2 * 128 * 128 + 64 * 128 + 2 * 128;
  const std::int64_t shards = 2 * parameters / 4;
  const std::int64_t one = most(accounts(gpt(8), sharded(false))[0], Category::weight);
  CHECK(one == shards + kLayer);
  const std::int64_t two = most(accounts(gpt(8), sharded(true))[0], Category::weight);
  CHECK(two == shards + 2 * kLayer);
}

TEST_CASE("ZeRO-3 without resharding keeps all weights from forward to backward") {
  const std::int64_t kept = most(accounts(gpt(8), sharded(true, false))[0], Category::weight);
  CHECK(kept >= 8 * kLayer * 5 / 4);  // all layers and their shards
}

TEST_CASE("ZeRO-2 holds the gradients of few layers at once") {
  ParallelConfig with = sharded(true);
  with.zero = 2;
  const std::int64_t shards = 8 * kLayer / 4;
  const std::int64_t held = most(accounts(gpt(8), with)[0], Category::gradient);
  CHECK(held > shards);
  CHECK(held <= shards + 4 * kLayer);
  with.zero = 1;
  CHECK(most(accounts(gpt(8), with)[0], Category::gradient) >= 8 * kLayer);
}

TEST_CASE("full recomputation holds one layer's activations and every layer's input") {
  ParallelConfig with;
  with.recompute = Recompute::full;
  const std::int64_t layer = 34 * 64 * 128 + 16 * 64 + 4 * 8 * 64;
  const std::int64_t input = 2 * 64 * 128;
  const auto peak = [&](std::int64_t layers) {
    return most(accounts(gpt(layers), with)[0], Category::activation);
  };
  CHECK(peak(9) - peak(8) == input);
  CHECK(peak(8) < 9 * input + 2 * layer);
  with.recompute = Recompute::none;
  CHECK(peak(9) - peak(8) == layer);
}

TEST_CASE("ZeRO-2 that reduces once a step holds whole gradients until then") {
  // Of 2 bytes a number: the shard, a quarter, from the start on; in every microbatch beside it the
  // block's own at most, the embedding, the head or a layer; once a step all of them.
  const std::int64_t gradients = 2 * count_parameters(transformer(gpt(4))).total();
  ParallelConfig with = sharded(true);
  with.zero = 2;
  with.overlap.clear();
  with.global_batch = 8;
  const auto held = [&] { return most(accounts(gpt(4), with)[0], Category::gradient); };
  CHECK(held() == gradients / 4 + kLayer);
  with.reduce_gradients = GradientReduction::last_microbatch;
  CHECK(held() == gradients / 4 + gradients);
  with.global_batch = 4;  // one microbatch: each block's are given up when they are reduced
  CHECK(held() == gradients / 4 + kLayer);
}

}  // namespace lockstep::test
