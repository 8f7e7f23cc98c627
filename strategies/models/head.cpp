#include "strategies/models/loss.hpp"
#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// The output layer: a table of its own, or the embedding's.
struct OutputLayer {
  Extent vocabulary;
  Ref weight;
  std::optional<Ref> bias{};
};

[[nodiscard]] OutputLayer output_layer(BlockBuilder& block, const TransformerParts& parts,
                                       const Ref& table) {
  const Extent vocabulary{Dim::vocabulary, parts.config.vocabulary};
  const Ref weight = parts.config.tied_embeddings
                         ? table
                         : block.weight("head.weight", {vocabulary, parts.hidden});
  return {vocabulary, weight, append_bias(block, parts.config.head_bias, "head", {vocabulary})};
}

[[nodiscard]] Ref append_logits(BlockBuilder& block, const TransformerParts& parts,
                                const OutputLayer& layer, const Ref& x) {
  const Ref logits = block.tensor("logits", {parts.batch, parts.sequence, layer.vocabulary});
  block.matmul("logits", x, layer.weight, layer.bias, logits, block.options().output_math());
  return logits;
}

/// Modules of multi-token prediction (DeepSeek-AI 2024, arXiv 2412.19437, section 2.2).
class PredictionModules {
 public:
  PredictionModules(BlockBuilder& block, const TransformerParts& parts, const Ref& table,
                    const OutputLayer& output)
      : block_{block}, parts_{parts}, table_{table}, output_{output} {}

  /// `x`: the normalized stream behind the last layer; `labels`: the tokens that it predicts.
  void append(Ref x, TensorId labels) {
    const TokenPrediction& prediction = *parts_.config.mtp;
    const double share = prediction.loss_scaling_factor / static_cast<double>(prediction.layers);
    for (std::int64_t i = 1; i <= prediction.layers; ++i) {
      block_.set_prefix(i == 1 ? "mtp." : "mtp_" + std::to_string(i) + ".");
      const TensorId next = block_.graph().input(block_.prefix() + "labels",
                                                 {parts_.batch, parts_.sequence}, Dtype::int32);
      x = append_module(x, labels);
      append_loss(block_, append_logits(block_, parts_, output_, x), next, share);
      labels = next;
    }
    block_.set_prefix("");
  }

 private:
  /// Embedding of the tokens, projection of it and of the stream, a layer, a norm.
  [[nodiscard]] Ref append_module(const Ref& x, TensorId tokens) {
    const Ref looked_up = stream("embedding");
    block_.append(Kind::embedding, "embedding", {{.tensor = tokens}, table_}, {looked_up});
    const Ref embedded =
        append_dropout(block_, parts_.config.dropout, "embedding.dropout", looked_up);
    const Ref y = stream("residual");
    append_layer(block_, parts_, append_projection(x, embedded), y);
    return append_norm(block_, parts_, "head.norm", y);
  }

  /// [norm(x); norm(embedded)] M with M [2h, h]: two GEMMs that add up to one result, as one
  /// kernel.
  [[nodiscard]] Ref append_projection(const Ref& x, const Ref& embedded) {
    const Extent joined{Dim::joined, parts_.hidden.size};
    const auto half = [&](const std::string& name, const Ref& of) {
      return append_norm(block_, parts_, name, of,
                         block_.tensor(name, {parts_.batch, parts_.sequence, joined}));
    };
    const Ref left = half("stream.norm", x);
    const Ref right = half("embedding.norm", embedded);
    const Ref of_stream = block_.weight("stream.weight", {joined, parts_.hidden});
    const Ref of_embedding = block_.weight("embedding.weight", {joined, parts_.hidden});
    const Ref y = stream("projection");
    const int fused = block_.next_fused();
    block_.matmul("stream.projection", left, of_stream, std::nullopt, y).fused = fused;
    Operation& second = block_.matmul("embedding.projection", right, of_embedding, std::nullopt, y);
    second.fused = fused;
    second.accumulate = true;
    return y;
  }

  [[nodiscard]] Ref stream(const std::string& name) {
    return block_.tensor(name, {parts_.batch, parts_.sequence, parts_.hidden});
  }

  BlockBuilder& block_;
  const TransformerParts& parts_;
  const Ref& table_;
  const OutputLayer& output_;
};

}  // namespace

int head_block(GraphBuilder& graph, const TransformerParts& parts, const Ref& table) {
  const TensorId labels = graph.input("labels", {parts.batch, parts.sequence}, Dtype::int32);
  BlockBuilder block{graph, "head", parts.residual, std::nullopt};
  const Ref normal = append_norm(block, parts, "head.norm", block.input());
  // T5 has dropout at the end of both stacks.
  const Ref x = append_dropout(block, parts.config.encoder ? parts.config.dropout : 0,
                               "head.dropout", normal);
  if (!parts.config.output_layer) {
    append_loss(block, x, labels);
    return block.finish();
  }
  const OutputLayer output = output_layer(block, parts, table);
  append_loss(block, append_logits(block, parts, output, x), labels);
  if (parts.config.mtp) PredictionModules{block, parts, table, output}.append(x, labels);
  return block.finish();
}

}  // namespace lockstep
