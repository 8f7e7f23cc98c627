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
void append_layers(GraphBuilder& graph, TransformerParts parts) {
  std::vector<std::pair<LayerKind, int>> kinds;
  for (std::int64_t i = 0; i < parts.config.layers; ++i) {
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

}  // namespace

void build_transformer(GraphBuilder& graph, const TransformerConfig& config) {
  const Extent batch{Dim::batch, graph.options.batch};
  const Extent sequence{Dim::sequence, config.sequence};
  const Extent hidden{Dim::hidden, config.hidden};
  TransformerParts parts{
      config, batch, sequence, hidden, graph.boundary("residual", {batch, sequence, hidden}), {}};
  if (config.image) return build_vision(graph, parts);
  Ref table;
  std::vector<int>& chain = graph.graph.chain;
  chain.push_back(embedding_block(graph, parts, table));
  append_layers(graph, parts);
  const int last = static_cast<int>(chain.size());
  if (config.tied_embeddings || config.mtp) {
    graph.graph.tied =
        ModelGraph::Tied{table.tensor, graph.gradient_of_weight(table.tensor), 0, last};
    table.position = 0;
  }
  parts.layer = kind_of(graph, config, config.layers - 1);
  chain.push_back(head_block(graph, parts, table));
}

}  // namespace lockstep
