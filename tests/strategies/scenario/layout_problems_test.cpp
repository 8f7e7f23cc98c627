#include <doctest/doctest.h>

#include <algorithm>

#include "strategies/scenario/parallel/layout_problems.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Layouts that cannot be: one sentence each, with the key, the value and what would be possible.

namespace lockstep::test {
namespace {

/// 8 layers, 16 heads, 4 of keys, ffn 256, seq 96.
[[nodiscard]] TransformerConfig gpt() {
  TransformerConfig out;
  out.layers = 8;
  out.hidden = 64;
  out.heads = 16;
  out.kv_heads = 4;
  out.sequence = 96;
  out.vocabulary = 128;
  return out;
}

[[nodiscard]] TransformerConfig moe() {
  TransformerConfig out = gpt();
  out.experts = ExpertsConfig{};
  out.experts->experts = 8;
  out.experts->ffn = 128;
  return out;
}

class Check {
 public:
  Check(ModelConfig model, ParallelConfig with) : model_{std::move(model)}, with_{with} {}
  Check(TransformerConfig shape, ParallelConfig with) : Check{transformer(shape), with} {}

  /// There is one problem, with this key, which says all of `parts`.
  void says(const std::string& key, std::initializer_list<const char*> parts) const {
    const auto problems = found();
    REQUIRE(problems.size() == 1);
    CAPTURE(problems[0].message);
    CHECK(problems[0].key == "parallel." + key);
    for (const char* part : parts) {
      CAPTURE(part);
      CHECK(problems[0].message.find(part) != std::string::npos);
    }
    // A sentence for the line of a list: no capital at the start, no full stop at the end.
    CHECK(problems[0].message.find('\n') == std::string::npos);
    CHECK(problems[0].message.back() != '.');
  }

  void is_possible() const { CHECK(found().empty()); }

 private:
  [[nodiscard]] std::vector<LayoutProblem> found() const {
    return layout_problems(model_, with_, with_.ranks(), 8);
  }

  ModelConfig model_;
  ParallelConfig with_;
};

[[nodiscard]] ParallelConfig with_tp(int tp) {
  ParallelConfig out;
  out.tp = tp;
  return out;
}

[[nodiscard]] ParallelConfig with_pp(int pp, PipelineOrder schedule, std::int64_t batch = 8) {
  ParallelConfig out;
  out.pp = pp;
  out.schedule = schedule;
  out.global_batch = batch;
  return out;
}

[[nodiscard]] ParallelConfig with_cp(int cp, ContextKind kind) {
  ParallelConfig out;
  out.cp = cp;
  out.cp_kind = kind;
  return out;
}

[[nodiscard]] ParallelConfig with_dp(int dp) {
  ParallelConfig out;
  out.dp = dp;
  out.global_batch = dp;
  return out;
}

}  // namespace

TEST_CASE("a possible layout has no problem") {
  Check{gpt(), ParallelConfig{}}.is_possible();
  Check{moe(), ParallelConfig{}}.is_possible();
}

TEST_CASE("ranks other than the cluster's") {
  ParallelConfig with = with_dp(4);
  with.tp = 2;
  const auto problems = layout_problems(transformer(gpt()), with, 16, 8);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].key == "parallel.dp");
  CHECK(problems[0].message ==
        "dp * pp * cp * tp = 4 * 1 * 1 * 2 = 8, but the cluster has 16 GPUs; dp = 8 would fill it: "
        "--set parallel.dp=8 --set parallel.global_batch=8");
  // Where no dp would fill it none is named.
  const auto odd = layout_problems(transformer(gpt()), with, 15, 8);
  CHECK(odd.at(0).message.find("would fill") == std::string::npos);
}

TEST_CASE(
    "products of degrees beyond 32 bits are reported as they are, and nothing is made of them") {
  ParallelConfig with;
  with.tp = with.pp = 65536;  // 2^32, which is 0 in 32 bits
  const auto square = layout_problems(transformer(gpt()), with, 8, 8);
  REQUIRE(square.size() == 1);
  CHECK(square[0].key == "parallel.dp");
  CHECK(square[0].message ==
        "dp * pp * cp * tp = 1 * 65536 * 1 * 65536 = 4294967296, but the cluster has 8 GPUs");
  with.dp = 3033169;  // 3033169 * 24 * 59 = 2^32 + 8, which is 8 in 32 bits
  with.tp = 24;
  with.pp = 59;
  CHECK(layout_problems(transformer(gpt()), with, 8, 8).at(0).message.find("4294967304") !=
        std::string::npos);
  with.dp = with.tp = with.pp = with.cp = 1 << 24;  // 2^96
  CHECK(layout_problems(transformer(gpt()), with, 8, 8)
            .at(0)
            .message.find("79228162514264337593543950336") != std::string::npos);
}

TEST_CASE("degrees below one, and nothing else said before they are mended") {
  for (const char* key : {"dp", "tp", "pp", "cp", "ep", "vpp"}) {
    ParallelConfig with;
    const std::string of = key;
    int& degree = of == "dp"   ? with.dp
                  : of == "tp" ? with.tp
                  : of == "pp" ? with.pp
                  : of == "cp" ? with.cp
                  : of == "ep" ? with.ep
                               : with.vpp;
    degree = 0;
    const auto problems = layout_problems(transformer(gpt()), with, 8, 8);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].key == "parallel." + of);
    CHECK(problems[0].message == of + " = 0, but there must be at least 1");
  }
}

TEST_CASE("an order that leaves out an axis or names one twice") {
  ParallelConfig with;
  with.order = {"tp", "cp", "dp"};
  Check{gpt(), with}.says("order", {"tp, cp, dp and pp", "each once"});
  with.order = {"tp", "cp", "dp", "dp"};
  Check{gpt(), with}.says("order", {"each once"});
}

TEST_CASE("a batch that does not divide") {
  ParallelConfig with = with_dp(4);
  with.micro_batch = 2;
  with.global_batch = 20;
  Check{gpt(), with}.says("global_batch", {"20", "micro_batch * dp = 2 * 4 = 8", "16 or 24"});
  with.global_batch = 4;
  Check{gpt(), with}.says("global_batch", {"8 would be"});
}

TEST_CASE("tensor parallelism: heads, keys and inner dimension") {
  TransformerConfig shape = gpt();
  shape.ffn = 3 * 256;
  shape.kv_heads = 3;
  Check{shape, with_tp(3)}.says("tp", {"tp = 3", "heads = 16", "it may be 1"});
  shape = gpt();
  shape.ffn = 4 * 65;
  Check{shape, with_tp(8)}.says("tp", {"tp = 8", "ffn = 260"});
  shape = gpt();
  shape.heads = 12;
  shape.head_size = 8;
  shape.ffn = 256 * 3;
  shape.kv_heads = 4;
  Check{shape, with_tp(6)}.says("tp", {"tp = 6", "kv_heads = 4"});
  // Fewer heads of keys than ranks is possible where these are a multiple of them.
  Check{gpt(), with_tp(8)}.is_possible();
}

TEST_CASE("sequence parallelism: the sequence is cut by tensor parallelism") {
  TransformerConfig shape = gpt();
  shape.sequence = 90;
  ParallelConfig with = with_tp(4);
  Check{shape, with}.is_possible();
  with.sequence_parallel = true;
  Check{shape, with}.says("tp", {"tp = 4", "90", "sequence_parallel"});
}

TEST_CASE("pipeline: layers that cannot be cut, and stages that do not add up") {
  ParallelConfig with = with_pp(3, PipelineOrder::one_f_one_b, 6);
  Check{gpt(), with}.says("pp", {"8 layers", "pp * vpp = 3 * 1", "`stages`", "divides 8"});
  with.stages = {3, 3, 2};
  Check{gpt(), with}.is_possible();
  with.stages = {3, 3, 3};
  Check{gpt(), with}.says("stages", {"9 layers", "the model has 8"});
  with.stages = {4, 4};
  Check{gpt(), with}.says("stages", {"2 entries", "pp * vpp = 3"});
  with.stages = {9, 0, -1};
  Check{gpt(), with}.says("stages", {"fewer than 0"});
}

TEST_CASE("pipeline: shorter edges") {
  // One layer less in the first and the last part: 10 have to divide.
  ParallelConfig with = with_pp(5, PipelineOrder::one_f_one_b, 5);
  with.short_edges = true;
  Check{gpt(), with}.is_possible();
  with = with_pp(4, PipelineOrder::one_f_one_b);
  with.short_edges = true;
  Check{gpt(), with}.says("pp", {"8 layers, one less in the first and the last", "divides 10"});
}

TEST_CASE("pipeline: schedules and what they need") {
  Check{gpt(), with_pp(2, PipelineOrder::none)}.says("schedule", {"pp = 2", "1f1b"});
  Check{gpt(), with_pp(2, PipelineOrder::interleaved)}.says("schedule", {"vpp", "at least 2"});
  ParallelConfig with = with_pp(2, PipelineOrder::interleaved, 5);
  with.vpp = 2;
  Check{gpt(), with}.says("schedule", {"5 microbatches in groups of 2",
                                       "microbatch_group = 3 would", "global_batch=6"});
  with = with_pp(2, PipelineOrder::gpipe);
  with.vpp = 2;
  Check{gpt(), with}.says("schedule", {"2 chunks", "interleaved"});
  with = ParallelConfig{};
  with.vpp = 2;
  Check{gpt(), with}.says("vpp", {"vpp = 2", "pp above 1"});
}

TEST_CASE("ulysses: at most as many ranks as heads, keys replicated or cut") {
  Check{gpt(), with_cp(16, ContextKind::ulysses)}.is_possible();
  TransformerConfig shape = gpt();
  shape.sequence = 128;
  Check{shape, with_cp(32, ContextKind::ulysses)}.says(
      "cp", {"32 ranks", "heads / tp = 16 / 1", "at most 16", "cp_kind ring"});
  ParallelConfig with = with_cp(8, ContextKind::ulysses);
  with.tp = 4;
  Check{shape, with}.says("cp", {"8 ranks", "16 / 4", "at most 4"});
  shape.heads = 12;
  shape.head_size = 8;
  shape.sequence = 96;
  Check{shape, with_cp(6, ContextKind::ulysses)}.says("cp", {"6 ranks", "4 heads of keys"});
}

TEST_CASE("ring attention: fused attention, and twice as many parts for zigzag") {
  TransformerConfig shape = gpt();
  shape.attention = AttentionKind::unfused;
  Check{shape, with_cp(2, ContextKind::ring)}.says("cp_kind", {"flash"});
  Check{shape, with_cp(2, ContextKind::ulysses)}.is_possible();
  shape = gpt();
  shape.sequence = 36;
  Check{shape, with_cp(4, ContextKind::ring)}.says("cp", {"36", "2 * cp", "zigzag"});
  ParallelConfig with = with_cp(4, ContextKind::ring);
  with.zigzag = false;
  Check{shape, with}.is_possible();
}

TEST_CASE("both kinds: the inner one divides") {
  ParallelConfig with = with_cp(6, ContextKind::both);
  with.ulysses = 4;
  Check{gpt(), with}.says("cp", {"ulysses = 4", "cp = 6"});
}

TEST_CASE("experts: their number, the ranks, a model that has none") {
  ParallelConfig with = with_dp(3);
  with.ep = 3;
  Check{moe(), with}.says("ep", {"ep = 3", "experts = 8", "1, 2, 4, 8"});
  with = with_dp(4);
  with.ep = 8;
  Check{moe(), with}.says("ep", {"ep = 8", "dp * cp = 4"});
  with.ep = 2;
  Check{gpt(), with}.says("ep", {"ep = 2", "no experts"});
  with.ep = 1;
  with.etp = 1;
  Check{gpt(), with}.says("etp", {"etp = 1", "no experts"});
  with.etp = 2;  // tp is 1
  Check{moe(), with}.says("etp", {"etp = 2", "tp = 1"});
  with = with_dp(4);
  with.tp = 2;
  with.etp = 1;
  Check{moe(), with}.says("etp", {"etp = 1", "tp = 2", "sequence_parallel"});
  with.sequence_parallel = true;
  Check{moe(), with}.is_possible();
  TransformerConfig shared = moe();
  shared.experts->shared = 1;
  shared.experts->shared_ffn = 130;
  Check{shared, with_tp(4)}.says("tp", {"tp = 4", "shared", "130", "it may be 1, 2"});
}

TEST_CASE("ZeRO: stages, shards") {
  ParallelConfig with = with_dp(4);
  with.zero = 4;
  Check{gpt(), with}.says("zero", {"zero = 4", "0, 1, 2 or 3"});
  with.zero = 2;
  with.shard_ranks = 3;
  Check{gpt(), with}.says("shard_ranks", {"shard_ranks = 3", "dp * cp = 4"});
}

TEST_CASE("exchanges by hosts are for data parallelism alone") {
  for (const auto& [exchange, name] :
       {std::pair{GradientExchange::parameter_server, "parameter_server"},
        std::pair{GradientExchange::host_average, "host_average"},
        std::pair{GradientExchange::parameter_averaging, "parameter_averaging"}}) {
    CAPTURE(name);
    ParallelConfig with = with_dp(2);
    with.exchange = exchange;
    Check{gpt(), with}.is_possible();
    with.tp = 2;
    Check{gpt(), with}.says("exchange", {name, "tp, pp, cp and ep must be 1"});
    with.tp = 1;
    with.zero = 1;
    Check{gpt(), with}.says("zero", {"zero = 1", "all_reduce", name});
  }
}

TEST_CASE("Muon: matrices on ranks, after all gradients") {
  ParallelConfig with = with_dp(8);
  with.state.optimizer = Optimizer::muon;
  Check{gpt(), with}.is_possible();
  with.state.offload = true;
  Check{gpt(), with}.says("state.offload", {"muon takes whole matrices on the device"});
  with.state.offload = false;
  with.update = UpdateStart::by_bucket;
  Check{gpt(), with}.says("update", {"muon takes matrices of one size together", "after_all"});
  with.update = UpdateStart::after_all;
  with.exchange = GradientExchange::parameter_server;
  Check{gpt(), with}.says("exchange",
                          {"muon requires exchange all_reduce or diloco, not parameter_server"});
  with.exchange = GradientExchange::diloco;
  Check{gpt(), with}.is_possible();
}

TEST_CASE("DiLoCo: replicas that train apart, fragments, and what it is not with") {
  ParallelConfig with = with_dp(8);
  with.exchange = GradientExchange::diloco;
  with.average_every = 4;
  Check{gpt(), with}.is_possible();
  with.outer_replicas = 3;
  Check{gpt(), with}.says("outer_replicas", {"outer_replicas = 3 does not divide dp = 8"});
  with.outer_replicas = 2;
  with.zero = 2;
  with.shard_ranks = 8;
  Check{gpt(), with}.says("shard_ranks",
                          {"shard_ranks = 8 does not divide dp * cp / outer_replicas = 4"});
  with.shard_ranks = 2;
  Check{gpt(), with}.is_possible();
  with.fragments = 5;
  Check{gpt(), with}.says("fragments", {"fragments = 5 is more than average_every = 4"});
  with.fragments = 4;
  with.state.offload = true;
  Check{gpt(), with}.says("state.offload", {"diloco has no offloaded optimizer"});
  with.state.offload = false;
  with.exchange = GradientExchange::all_reduce;
  with.average_every = with.fragments = 1;
  Check{gpt(), with}.says("outer_replicas", {"outer_replicas = 2 requires exchange diloco"});
  with.outer_replicas = 0;
  with.fragments = 4;
  Check{gpt(), with}.says("fragments", {"fragments = 4 requires exchange diloco"});
  with.fragments = 1;
  with.outer_gradients = Dtype::nvfp4;
  Check{gpt(), with}.says("outer_gradients", {"outer_gradients = nvfp4 requires exchange diloco"});
  with.outer_gradients = Dtype::fp32;
  with.average_every = 4;
  Check{gpt(), with}.says("average_every", {"requires exchange parameter_averaging or diloco"});
}

TEST_CASE("an offloaded optimizer has its gradients on the GPU") {
  ParallelConfig with = with_dp(2);
  with.exchange = GradientExchange::parameter_server;
  with.state.offload = true;
  Check{gpt(), with}.says("state.offload", {"parameter_server"});
}

TEST_CASE("models without a sequence") {
  ModelConfig mlp;
  mlp.name = "two-layer MLP";
  mlp.shape = MlpConfig{64, 256, 4, ActivationFunction::relu, false};
  Check{mlp, with_tp(2)}.is_possible();
  Check{mlp, with_tp(3)}.says("tp", {"tp = 3", "ffn = 256"});
  Check{mlp, with_cp(2, ContextKind::ring)}.says("cp", {"cp = 2", "two-layer MLP", "no sequence"});
  ParallelConfig with = with_dp(2);
  with.ep = 2;
  Check{mlp, with}.says("ep", {"ep = 2", "no experts"});
  with = with_tp(2);
  with.sequence_parallel = true;
  Check{mlp, with}.says("sequence_parallel", {"no sequence"});
  ModelConfig resnet;
  resnet.name = "ResNet-50";
  resnet.shape = ResNetConfig{};
  Check{resnet, with_dp(4)}.is_possible();
  Check{resnet, with_tp(2)}.says("tp", {"tp = 2", "convolutions"});
}

TEST_CASE("a class token is not cut from its patches, whose mean is of any rank's") {
  TransformerConfig shape = gpt();
  shape.causal = false;
  shape.image = ImageInput{};  // 14 x 14 patches
  shape.sequence = shape.image->tokens();
  ModelConfig vit = transformer(shape);
  ParallelConfig sequence = with_tp(2);
  sequence.sequence_parallel = true;
  Check{vit, with_tp(2)}.is_possible();
  Check{vit, sequence}.says("sequence_parallel", {"class token", "model.pooling \"mean\""});
  Check{vit, with_cp(2, ContextKind::ring)}.says("cp", {"cp = 2", "class token"});
  shape.image->class_token = false;
  shape.sequence = shape.image->tokens();
  vit = transformer(shape);
  Check{vit, sequence}.is_possible();
  Check{vit, with_cp(2, ContextKind::ring)}.is_possible();
  Check{vit, with_cp(8, ContextKind::ring)}.says("cp", {"cp = 8", "196"});
}

TEST_CASE("a diffusion transformer is cut as a decoder is") {
  TransformerConfig shape = gpt();
  shape.causal = false;
  shape.image = ImageInput{.side = 32, .patch = 2, .channels = 4, .class_token = false};
  shape.sequence = shape.image->tokens();
  shape.diffusion = DiffusionTransformer{};
  ParallelConfig sequence = with_tp(2);
  sequence.sequence_parallel = true;
  Check{shape, sequence}.is_possible();
  Check{shape, with_cp(2, ContextKind::ring)}.is_possible();
  ParallelConfig sharded = with_dp(2);
  sharded.zero = 3;
  Check{shape, sharded}.is_possible();
  Check{shape, with_pp(2, PipelineOrder::one_f_one_b)}.is_possible();
}

TEST_CASE("layers of an encoder and of a decoder are divided together, tokens of each") {
  TransformerConfig shape = gpt();
  shape.kv_heads = shape.heads;
  shape.attention = AttentionKind::unfused;
  shape.encoder = EncoderStack{.layers = 8, .sequence = 90};
  ParallelConfig sequence = with_tp(4);
  Check{shape, sequence}.is_possible();
  sequence.sequence_parallel = true;
  Check{shape, sequence}.says("tp", {"tp = 4", "encoder_seq = 90"});
  shape.encoder->sequence = 92;
  Check{shape, sequence}.is_possible();
  shape.layers = 4;
  Check{shape, with_pp(6, PipelineOrder::one_f_one_b)}.is_possible();
  Check{shape, with_pp(8, PipelineOrder::one_f_one_b)}.says(
      "pp", {"12 layers cannot be cut", "pp * vpp = 8 * 1", "stages=2,2,2,2,1,1,1,1"});
  ParallelConfig stages = with_pp(2, PipelineOrder::one_f_one_b);
  stages.stages = {8, 3};
  Check{shape, stages}.says("stages", {"add up to 11 layers", "the model has 12"});
  Check{shape, with_cp(4, ContextKind::ulysses)}.is_possible();
  for (const ContextKind kind : {ContextKind::ring, ContextKind::both, ContextKind::all_gather})
    Check{shape, with_cp(2, kind)}.is_possible();
  ParallelConfig gathers = with_cp(4, ContextKind::all_gather);
  Check{shape, gathers}.says("cp", {"a zigzag cuts encoder_seq = 92 into 2 * cp = 8"});
  gathers.zigzag = false;
  Check{shape, gathers}.is_possible();
  Check{shape, with_cp(8, ContextKind::ulysses)}.says("cp", {"cp = 8", "encoder_seq = 92"});
  ParallelConfig sharded = with_dp(2);
  sharded.zero = 3;
  Check{shape, sharded}.is_possible();
}

TEST_CASE("all problems of a layout are reported at once") {
  ParallelConfig with = with_tp(3);
  with.global_batch = 7;
  with.micro_batch = 2;
  const auto problems = layout_problems(transformer(gpt()), with, 8, 8);
  const auto told = [&](const char* key) {
    return std::any_of(problems.begin(), problems.end(), [&](const LayoutProblem& one) {
      return one.key == std::string{"parallel."} + key;
    });
  };
  CHECK(told("dp"));  // 3 ranks of 8
  CHECK(told("global_batch"));
  CHECK(told("tp"));
}

}  // namespace lockstep::test
