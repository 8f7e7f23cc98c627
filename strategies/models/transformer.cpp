#include <utility>
#include <vector>

#include "strategies/models/models.hpp"
#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

namespace {

[[nodiscard]] LayerKind kind_of(const GraphBuilder& graph, const TransformerConfig& config,
                                std::int64_t index) {
  const bool windowed = is_windowed(config, index);
  // Windows as long as the sequence hide no key, but which layers turn queries may hang on them.
  const bool matters =
      windowed && (config.window->size < config.sequence || !config.window->full_rotary);
  const PrecisionRecipe& recipe = graph.options.recipe;
  const bool edge = index < recipe.first_layers || index >= config.layers - recipe.last_layers;
  return {.experts = has_experts(config, index),
          .windowed = matters,
          .wide = edge && is_narrow(graph.options.math)};
}

/// A block for every kind of layer, laid down where the first of them stands.
void append_layers(GraphBuilder& graph, TransformerParts parts, std::int64_t first = 0) {
  std::vector<std::pair<LayerKind, int>> kinds;
  for (std::int64_t i = first; i < parts.config.layers; ++i) {
    parts.layer = kind_of(graph, parts.config, i);
    auto known = kinds.begin();
    while (known != kinds.end() && known->first != parts.layer) ++known;
    if (known == kinds.end()) {
      known = kinds.emplace(kinds.end(), parts.layer, layer_block(graph, parts));
    }
    graph.graph.chain.push_back(known->second);
  }
}

}  // namespace

namespace {

/// Patches, layers, a head for every image.
void build_vision(GraphBuilder& graph, const TransformerParts& parts) {
  std::vector<int>& chain = graph.graph.chain;
  chain.push_back(patch_block(graph, parts));
  append_layers(graph, parts);
  chain.push_back(image_head_block(graph, parts));
}

/// What blocks at later positions have added to the gradient of a shared activation one by one is
/// clear before the last of them, which comes first.
void clear_shared_gradient(const GraphBuilder& graph, Block& block, const std::string& name) {
  Operation fill;
  fill.kind = OperationKind::fill;
  fill.name = name + ".gradient_zeros";
  fill.purpose = Purpose::backward;
  fill.writes = {graph.graph.shared->sum()};
  block.backward.insert(block.backward.begin(), std::move(fill));
}

/// Patches of latents, layers and a head, all of which read the conditions of the first block.
void build_diffusion(GraphBuilder& graph, TransformerParts parts) {
  std::vector<int>& chain = graph.graph.chain;
  chain.push_back(latent_block(graph, parts));
  parts.condition = graph.graph.shared->read();
  append_layers(graph, parts);
  chain.push_back(noise_head_block(graph, parts));
  clear_shared_gradient(graph, graph.graph.blocks.back(), "condition");
}

/// The layers of one of two stacks.
void append_stack(GraphBuilder& graph, TransformerParts parts) {
  std::vector<int>& chain = graph.graph.chain;
  const auto position = static_cast<int>(chain.size());
  Ref distances;
  parts.layer = kind_of(graph, parts.config, 0);
  chain.push_back(first_layer_block(graph, parts, distances));
  distances.position = position;
  parts.distances = distances;
  append_layers(graph, parts, 1);
}

/// The encoder's last norm, whose result all layers of the decoder read, and the tokens of these.
int between_stacks(GraphBuilder& graph, const TransformerParts& encoder,
                   const TransformerParts& decoder, const Ref& table) {
  const double dropout = decoder.config.dropout;
  const TensorId tokens =
      graph.input("decoder_tokens", {decoder.batch, decoder.sequence}, Dtype::int32);
  BlockBuilder block{graph, "decoder_embedding", encoder.residual, decoder.residual};
  block.set_between_stacks();
  const Ref normal = append_norm(block, encoder, "encoder.norm", block.input());
  const Ref encoded = append_dropout(block, dropout, "encoder.dropout", normal);
  graph.share(encoded.tensor, static_cast<int>(graph.graph.chain.size()));
  const Ref x =
      dropout == 0 ? block.output() : block.tensor("embedding", block.extents(block.output()));
  block.append(OperationKind::embedding, "embedding", {{.tensor = tokens}, table}, {x});
  (void)append_dropout(block, dropout, "embedding.dropout", x, block.output());
  return block.finish();
}

/// Embedding, layers of the encoder; embedding, layers of the decoder; head.
void build_encoder_decoder(GraphBuilder& graph, const TransformerConfig& config) {
  TransformerConfig of_encoder = config;
  of_encoder.causal = false;
  of_encoder.layers = config.encoder->layers;
  of_encoder.sequence = config.encoder->sequence;
  const Extent batch{Dim::batch, graph.options.batch};
  const Extent hidden{Dim::hidden, config.hidden};
  const auto parts_of = [&](const TransformerConfig& of, const std::string& stack) {
    const Extent sequence{Dim::sequence, of.sequence};
    TransformerParts out{
        of, batch, sequence, hidden, graph.boundary(stack + "residual", {batch, sequence, hidden}),
        {}};
    out.stack = stack;
    return out;
  };
  const TransformerParts encoder = parts_of(of_encoder, "encoder_");
  TransformerParts decoder = parts_of(config, "decoder_");
  std::vector<int>& chain = graph.graph.chain;
  Ref table;
  chain.push_back(embedding_block(graph, encoder, table));
  table.position = 0;
  append_stack(graph, encoder);
  chain.push_back(between_stacks(graph, encoder, decoder, table));
  decoder.encoded = graph.graph.shared->read();
  append_stack(graph, decoder);
  decoder.layer = kind_of(graph, config, config.layers - 1);
  chain.push_back(head_block(graph, decoder, table));
  clear_shared_gradient(graph, graph.graph.blocks.back(), "encoder");
}

}  // namespace

void build_transformer(GraphBuilder& graph, const TransformerConfig& config) {
  if (config.encoder) return build_encoder_decoder(graph, config);
  const Extent batch{Dim::batch, graph.options.batch};
  const Extent sequence{Dim::sequence, config.sequence};
  const Extent hidden{Dim::hidden, config.hidden};
  TransformerParts parts{
      config, batch, sequence, hidden, graph.boundary("residual", {batch, sequence, hidden}), {}};
  if (config.diffusion) return build_diffusion(graph, parts);
  if (config.image) return build_vision(graph, parts);
  Ref table;
  std::vector<int>& chain = graph.graph.chain;
  chain.push_back(embedding_block(graph, parts, table));
  append_layers(graph, parts);
  table.position = 0;
  parts.layer = kind_of(graph, config, config.layers - 1);
  chain.push_back(head_block(graph, parts, table));
}

}  // namespace lockstep
