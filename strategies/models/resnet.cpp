#include "sim/base/math.hpp"
#include "strategies/models/loss.hpp"
#include "strategies/models/models.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

constexpr std::int64_t kExpansion = 4;  // He et al. 2016, table 1: channels out of a bottleneck
constexpr std::int64_t kColours = 3;

/// Appends the operations of convolutional nets.
class Layers {
 public:
  explicit Layers(BlockBuilder& block) : block_{block} {}

  /// A square window with the padding that keeps ceil(size / stride) pixels.
  [[nodiscard]] Ref convolution(const std::string& name, const Ref& x, std::int64_t channels,
                                int window, int stride) {
    const std::int64_t in = block_.extents(x).back().size;
    const Ref weight = block_.weight(
        name + ".weight", {{Dim::window, window * window * in}, {Dim::channels, channels}});
    const Ref y = block_.tensor(name, strided(x, channels, stride));
    Operation& made = block_.append(Kind::convolution, name, {x, weight}, {y});
    made.window = window;
    made.stride = stride;
    made.math = block_.options().math;
    return y;
  }

  [[nodiscard]] Ref batch_norm(const std::string& name, const Ref& x) {
    const Extent channels = block_.extents(x).back();
    const Ref gain = block_.weight(name + ".gain", {channels});
    const Ref bias = block_.weight(name + ".bias", {channels});
    const Ref statistics =
        block_.tensor(name + ".statistics", {channels, {Dim::statistic, 2}}, Dtype::fp32);
    const Ref y = block_.like(name, x);
    block_.append(Kind::batch_norm, name, {x, gain, bias}, {y, statistics});
    return y;
  }

  void relu(const std::string& name, const Ref& x, const Ref& y) {
    block_.append(Kind::activation, name, {x}, {y}).function = ActivationFunction::relu;
  }

  /// Convolution, batch norm and ReLU.
  [[nodiscard]] Ref unit(const std::string& name, const Ref& x, std::int64_t channels, int window,
                         int stride) {
    const Ref normal = batch_norm(name + ".norm", convolution(name, x, channels, window, stride));
    const Ref y = block_.like(name + ".relu", normal);
    relu(name + ".relu", normal, y);
    return y;
  }

  [[nodiscard]] Ref temporal_shift(const Ref& x) {
    const Ref y = block_.like("shift", x);
    block_.append(Kind::temporal_shift, "shift", {x}, {y});
    return y;
  }

  [[nodiscard]] std::vector<Extent> strided(const Ref& x, std::int64_t channels, int stride) const {
    std::vector<Extent> out = block_.extents(x);
    for (Extent& extent : out) {
      if (extent.dim == Dim::height || extent.dim == Dim::width) {
        extent.size = ceil_div<std::int64_t>(extent.size, stride);
      }
    }
    out.back() = {Dim::channels, channels};
    return out;
  }

 private:
  BlockBuilder& block_;
};

[[nodiscard]] std::vector<Extent> image_extents(const GraphBuilder& graph,
                                                const ResNetConfig& config, std::int64_t side,
                                                std::int64_t channels) {
  std::vector<Extent> out{{Dim::batch, graph.options.batch}};
  if (config.frames > 1) out.push_back({Dim::time, config.frames});
  out.insert(out.end(), {{Dim::height, side}, {Dim::width, side}, {Dim::channels, channels}});
  return out;
}

int attachment_block(GraphBuilder& graph, const ResNetConfig& config, const Boundary& stream) {
  const TensorId images = graph.input(
      "images", image_extents(graph, config, config.image, kColours), graph.options.activations);
  BlockBuilder block{graph, "stem", std::nullopt, stream};
  Layers layers{block};
  const Ref x = layers.unit("stem.convolution", {.tensor = images}, config.width, 7, 2);
  Operation& pool = block.append(Kind::pool, "stem.pool", {x}, {block.output()});
  pool.window = 3;
  pool.stride = 2;
  return block.finish();
}

/// y = relu(x' + bn(1x1(unit 3x3(unit 1x1(shift(x)))))), where x' = x, or bn(1x1(x)) at the entry
/// of a stage.
int bottleneck_block(GraphBuilder& graph, const ResNetConfig& config, const std::string& name,
                     const Boundary& in, const Boundary& out, std::int64_t width, int stride) {
  BlockBuilder block{graph, name, in, out};
  Layers layers{block};
  const Ref x = config.temporal_shift ? layers.temporal_shift(block.input()) : block.input();
  const Ref narrow = layers.unit("convolution1", x, width, 1, 1);
  const Ref middle = layers.unit("convolution2", narrow, width, 3, stride);
  const Ref wide = layers.batch_norm(
      "convolution3.norm", layers.convolution("convolution3", middle, kExpansion * width, 1, 1));
  Ref beside = block.input();
  if (in.value != out.value) {
    const Ref projected =
        layers.convolution("shortcut", block.input(), kExpansion * width, 1, stride);
    beside = layers.batch_norm("shortcut.norm", projected);
  }
  const Ref sum = block.like("sum", wide);
  block.append(Kind::add, "add", {wide, beside}, {sum});
  layers.relu("relu", sum, block.output());
  return block.finish();
}

int resnet_head(GraphBuilder& graph, const ResNetConfig& config, const Boundary& stream) {
  const Extent batch{Dim::batch, graph.options.batch};
  const Extent classes{Dim::vocabulary, config.classes};
  const TensorId labels = graph.input("labels", {batch}, Dtype::int32);
  BlockBuilder block{graph, "head", stream, std::nullopt};
  const Extent channels = block.extents(block.input()).back();
  const Ref mean = block.tensor("head.mean", {batch, channels});
  block.append(Kind::pool, "head.mean", {block.input()}, {mean}).window = 0;
  const Ref weight = block.weight("head.weight", {channels, classes});
  const Ref bias = block.weight("head.bias", {classes});
  const Ref logits = block.tensor("logits", {batch, classes});
  block.matmul("logits", mean, weight, bias, logits);
  append_loss(block, logits, labels);
  return block.finish();
}

[[nodiscard]] std::int64_t half(std::int64_t side) {
  return (side + 1) / 2;
}

}  // namespace

void build_resnet(GraphBuilder& graph, const ResNetConfig& config) {
  std::vector<int>& chain = graph.graph.chain;
  std::int64_t side = half(half(config.image));
  std::int64_t width = config.width;
  Boundary in = graph.boundary("stem.out", image_extents(graph, config, side, width));
  chain.push_back(attachment_block(graph, config, in));
  for (std::size_t stage = 0; stage < config.stages.size(); ++stage) {
    const std::string name = "stage" + std::to_string(stage + 1);
    const int stride = stage == 0 ? 1 : 2;
    if (stride == 2) side = half(side);
    const Boundary out =
        graph.boundary(name + ".out", image_extents(graph, config, side, kExpansion * width));
    chain.push_back(bottleneck_block(graph, config, name + ".entry", in, out, width, stride));
    if (config.stages[stage] > 1) {
      const int block = bottleneck_block(graph, config, name + ".block", out, out, width, 1);
      for (std::int64_t i = 1; i < config.stages[stage]; ++i) chain.push_back(block);
    }
    in = out;
    width *= 2;
  }
  chain.push_back(resnet_head(graph, config, in));
}

}  // namespace lockstep
