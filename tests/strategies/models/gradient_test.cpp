#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "strategies/models/build_model.hpp"
#include "tests/sim/execute/kernels/kernel_case.hpp"

// The backward pass against differences of the loss: whatever is forgotten, added twice or read
// from the wrong place there gives another gradient than moving a weight and looking at the loss.
namespace lockstep {
namespace {

/// All of a tensor, zeros.
Part whole_of(const Tensor& tensor) {
  Shape shape;
  for (const Extent& extent : tensor.extents) shape.emplace_back(extent.dim, extent.size);
  return zeros(tensor.name, shape);
}

/// Runs a model's step on numbers, position by position.
class Run {
 public:
  explicit Run(const ModelGraph& graph) : graph_{graph} {
    for (std::size_t i = 0; i < graph.chain.size(); ++i) {
      for (const TensorId weight : block(i).weights) fill({weight, i}, 0.4);
    }
  }

  double forward() {
    set_inputs();
    for (std::size_t i = 0; i < graph_.chain.size(); ++i) run(block(i).forward, i);
    double sum = 0;
    for (const Operation& operation : block(graph_.chain.size() - 1).forward) {
      if (operation.kind != OperationKind::loss) continue;
      sum += values_.at(key(operation.writes.at(0), graph_.chain.size() - 1)).values.at(0);
    }
    return sum;
  }

  void backward() {
    for (std::size_t i = graph_.chain.size(); i-- > 0;) run(block(i).backward, i);
  }

  /// The largest difference between the gradients and those of differences of the loss, over all
  /// elements of all weights, relative to the largest gradient.
  double worst_difference() {
    (void)forward();
    backward();
    double worst = 0;
    double largest = 0;
    for (std::size_t i = 0; i < graph_.chain.size(); ++i) {
      for (std::size_t w = 0; w < block(i).weights.size(); ++w) {
        const std::vector<double> gradient = values_.at({block(i).gradients[w], i}).values;
        for (std::size_t j = 0; j < gradient.size(); ++j) {
          const double by_differences = difference({block(i).weights[w], i}, j);
          worst = std::max(worst, std::abs(gradient[j] - by_differences));
          largest = std::max(largest, std::abs(by_differences));
        }
      }
    }
    REQUIRE(largest > 1e-3);
    return worst / largest;
  }

 private:
  using Key = std::pair<TensorId, std::size_t>;  // tensor, position

  [[nodiscard]] const Block& block(std::size_t position) const {
    return graph_.blocks.at(static_cast<std::size_t>(graph_.chain.at(position)));
  }
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return graph_.tensors.at(id); }

  /// Numbers of a linear congruential generator, within -range .. range.
  void fill(const Key& key, double range) {
    Part& part = values_.insert_or_assign(key, whole_of(tensor(key.first))).first->second;
    for (double& value : part.values) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      value = range * (static_cast<double>(state_ >> 11U) / 4503599627370496.0 - 1);
    }
  }

  /// Every position has its inputs; integers count up and around.
  void set_inputs() {
    state_ = 7;
    for (const TensorId input : graph_.inputs) {
      for (std::size_t i = 0; i < graph_.chain.size(); ++i) {
        fill({input, i}, 1);
        if (tensor(input).dtype != Dtype::int32) continue;
        Part& part = values_.at({input, i});
        const auto row = static_cast<std::size_t>(tensor(input).extents.back().size);
        const std::size_t most = tensor(input).name == "position_ids" ? row : 5;
        for (std::size_t j = 0; j < part.values.size(); ++j) {
          part.values[j] = static_cast<double>((most == 5 ? 3 * j + 1 : j) % most);
        }
      }
    }
  }

  [[nodiscard]] static Key key(const Ref& ref, std::size_t position) {
    if (ref.position) return {ref.tensor, static_cast<std::size_t>(*ref.position)};
    return {ref.tensor, position + static_cast<std::size_t>(ref.further)};
  }

  void run(const std::vector<Operation>& operations, std::size_t position) {
    for (const Operation& operation : operations) {
      std::vector<Part> reads;
      for (const Ref& read : operation.reads) reads.push_back(values_.at(key(read, position)));
      std::vector<Part> writes;
      for (const Ref& write : operation.writes) writes.push_back(whole_of(tensor(write.tensor)));
      Values<double> results = lockstep::run<double>(operation, reads, writes);
      for (std::size_t i = 0; i < writes.size(); ++i) {
        writes[i].values = std::move(results[i]);
        store(operation, operation.writes[i], position, writes[i]);
      }
    }
  }

  void store(const Operation& operation, const Ref& written, std::size_t position,
             const Part& result) {
    const Key at = key(written, position);
    const bool adds = operation.accumulate || tensor(written.tensor).category == Category::gradient;
    const auto found = values_.find(at);
    if (!adds || found == values_.end()) {
      values_.insert_or_assign(at, result);
      return;
    }
    std::vector<double>& held = found->second.values;
    for (std::size_t i = 0; i < held.size(); ++i) held[i] += result.values.at(i);
  }

  double difference(const Key& weight, std::size_t element) {
    constexpr double kStep = 1e-5;
    double& value = values_.at(weight).values.at(element);
    const double at = value;
    value = at + kStep;
    const double above = forward();
    value = at - kStep;
    const double below = forward();
    value = at;
    return (above - below) / (2 * kStep);
  }

  const ModelGraph& graph_;
  std::map<Key, Part> values_{};
  std::uint64_t state_ = 1;
};

double worst_difference(const decltype(ModelConfig::shape)& shape, const BuildOptions& options) {
  const ModelGraph graph = build_model({.name = "test", .shape = shape, .source = {}}, options);
  return Run{graph}.worst_difference();
}

// Central differences of step 1e-5 are wrong by h^2 |f'''| / 6, 2e-11 |f'''|, and by eps |f| / h of
// rounding, 4e-11 for losses of log 5; both over the largest gradient, which is more than 1e-3.
constexpr double kClose = 1e-7;
// Batch norm over few pixels is curved more.
constexpr double kCloseWhereCurved = 1e-6;

TransformerConfig tiny() {
  TransformerConfig config;
  config.layers = 2;
  config.hidden = 4;
  config.heads = 2;
  config.kv_heads = 2;
  config.head_size = 2;
  config.ffn = 6;
  config.sequence = 3;
  config.vocabulary = 5;
  config.tied_embeddings = true;
  return config;
}

TransformerConfig tiny_llama() {
  TransformerConfig config = tiny();
  config.kv_heads = 1;
  config.gated = true;
  config.tied_embeddings = false;
  config.bias = false;
  config.qkv_bias = true;
  config.norm = Normalization::rms;
  config.function = ActivationFunction::swiglu;
  config.positions = Positions::rotary;
  return config;
}

TEST_CASE("gradients of GPT are those of its loss") {
  TransformerConfig gpt = tiny();
  CHECK(worst_difference(gpt, {.batch = 2, .microbatches = 3}) < kClose);
  gpt.attention = AttentionKind::unfused;
  gpt.dropout = 0.25;
  CHECK(worst_difference(gpt, {.batch = 2}) < kClose);
}

TEST_CASE("gradients of Llama are those of its loss") {
  TransformerConfig llama = tiny_llama();
  CHECK(worst_difference(llama, {.batch = 2}) < kClose);
  llama.causal = false;
  llama.attention = AttentionKind::unfused;
  CHECK(worst_difference(llama, {.batch = 1}) < kClose);
}

TEST_CASE("gradients of experts and of latent attention are those of the loss") {
  TransformerConfig moe = tiny_llama();
  moe.experts = ExpertsConfig{.experts = 3,
                              .top_k = 2,
                              .ffn = 3,
                              .shared = 1,
                              .shared_ffn = 2,
                              .dense_layers = 1,
                              .every = 1};
  CHECK(worst_difference(moe, {.batch = 2, .capacity_factor = 1.5}) < kClose);
  moe.kv_heads = 2;
  moe.head_size = 5;
  for (const std::int64_t query_rank : {0, 3}) {
    moe.latent = LatentAttention{
        .query_rank = query_rank, .kv_rank = 3, .key_size = 3, .rotary_size = 2, .value_size = 2};
    CHECK(worst_difference(moe, {.batch = 1, .capacity_factor = 1.5}) < kClose);
  }
}

TEST_CASE("gradients of what families differ in are those of the loss") {
  for (TransformerConfig shape : {tiny(), tiny_llama()}) {
    shape.hidden = 6;  // a class for every label, where there is no output layer
    shape.sequence = 5;
    shape.layers = 3;
    const auto check = [&shape](auto&& change) {
      TransformerConfig changed = shape;
      change(changed);
      CHECK(worst_difference(changed, {.batch = 2}) < kClose);
    };
    check([](auto& of) { of.window = AttentionWindow{.size = 2, .full_every = 2}; });
    check([](auto& of) { of.window = AttentionWindow{.size = 2, .chunked = true}; });
    check([](auto& of) { of.documents = {1, 2}; });
    check([](auto& of) {
      of.window = AttentionWindow{.size = 2, .full_every = 2};
      of.documents = {3, 1};
    });
    check([](auto& of) { of.sinks = true; });
    check([](auto& of) { of.norm_place = NormPlace::around; });
    check([](auto& of) { of.norm_place = NormPlace::after; });
    check([](auto& of) { of.qk_norm = QueryKeyNorm::shared; });
    check([](auto& of) { of.qk_norm = QueryKeyNorm::per_head; });
    check([](auto& of) { of.qk_norm = QueryKeyNorm::all_heads; });
    check([](auto& of) { of.residual = Residual::parallel; });
    check([](auto& of) { of.residual = Residual::parallel_two_norms; });
    check([](auto& of) { of.embedding_norm = true; });
    check([](auto& of) { of.norm_bias = false; });
    check([](auto& of) { of.head_bias = of.out_bias = of.mlp_bias = true; });
    check([](auto& of) { of.output_layer = of.tied_embeddings = false; });
    // Two modules: the second reads what the first comes to; the output layer and the embedding
    // have a gradient from each, the sum of the losses is what is differentiated.
    for (const bool tied : {false, true}) {
      check([tied](auto& of) {
        of.positions = Positions::rotary;
        of.tied_embeddings = tied;
        of.mtp = TokenPrediction{.layers = 2, .loss_scaling_factor = 0.7};
      });
    }
    check([](auto& of) {
      of.positions = Positions::rotary;
      of.head_bias = true;
      of.window = AttentionWindow{.size = 2, .full_every = 2};
      of.mtp = TokenPrediction{.layers = 1, .loss_scaling_factor = 0.7};
    });
    check([](auto& of) {
      of.function = of.gated ? ActivationFunction::geglu : ActivationFunction::squared_relu;
    });
  }
}

TEST_CASE("gradients of an MLP are those of its loss") {
  for (const ActivationFunction function :
       {ActivationFunction::relu, ActivationFunction::gelu, ActivationFunction::silu}) {
    const MlpConfig mlp{.hidden = 5, .ffn = 7, .layers = 3, .function = function, .bias = true};
    CHECK(worst_difference(mlp, {.batch = 3}) < kClose);
  }
}

TEST_CASE("gradients of ResNets are those of their loss") {
  ResNetConfig resnet{.stages = {2, 1}, .width = 2, .image = 10, .classes = 5};
  CHECK(worst_difference(resnet, {.batch = 2}) < kCloseWhereCurved);
  resnet.frames = 2;
  resnet.temporal_shift = true;
  resnet.stages = {1};
  CHECK(worst_difference(resnet, {.batch = 2}) < kCloseWhereCurved);
}

TEST_CASE("gradients of vision transformers are those of their loss") {
  for (const bool class_token : {true, false}) {
    TransformerConfig vit = tiny();
    vit.causal = false;
    vit.head_bias = true;
    vit.image = ImageInput{.side = 4, .patch = 2, .channels = 3, .class_token = class_token};
    vit.sequence = vit.image->tokens();
    CHECK(worst_difference(vit, {.batch = 2}) < kClose);
    vit.dropout = 0.2;
    CHECK(worst_difference(vit, {.batch = 2}) < kClose);
  }
}

TEST_CASE("gradients of diffusion transformers are those of their loss") {
  for (const bool variance : {true, false}) {
    TransformerConfig dit = tiny();
    dit.layers = 2;
    dit.causal = false;
    dit.norm_gain = false;
    dit.image = ImageInput{.side = 4, .patch = 2, .channels = 3, .class_token = false};
    dit.sequence = dit.image->tokens();
    dit.diffusion = DiffusionTransformer{.frequencies = 6, .learned_variance = variance};
    CHECK(worst_difference(dit, {.batch = 2}) < kClose);
  }
}

TEST_CASE("gradients of an encoder and a decoder are those of their loss") {
  TransformerConfig t5 = tiny();
  t5.layers = 2;
  t5.positions = Positions::none;
  t5.attention = AttentionKind::unfused;
  t5.norm = Normalization::rms;
  t5.bias = false;
  for (const bool tied : {true, false}) {
    t5.tied_embeddings = tied;
    t5.encoder = EncoderStack{.layers = 2, .sequence = 5, .buckets = 4};
    CHECK(worst_difference(t5, {.batch = 2}) < kClose);
  }
}

}  // namespace
}  // namespace lockstep
