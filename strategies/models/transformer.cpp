#include "strategies/models/models.hpp"
#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

void build_transformer(GraphBuilder& graph, const TransformerConfig& config) {
  const Extent batch{Dim::batch, graph.options.batch};
  const Extent sequence{Dim::sequence, config.sequence};
  const Extent hidden{Dim::hidden, config.hidden};
  const TransformerParts parts{config, batch, sequence, hidden,
                               graph.boundary("residual", {batch, sequence, hidden})};
  Ref table;
  std::vector<int>& chain = graph.graph.chain;
  chain.push_back(embedding_block(graph, parts, table));
  const int layer = layer_block(graph, parts);
  for (std::int64_t i = 0; i < config.layers; ++i) chain.push_back(layer);
  const int last = static_cast<int>(chain.size());
  if (config.tied_embeddings) {
    graph.graph.tied =
        ModelGraph::Tied{table.tensor, graph.gradient_of_weight(table.tensor), 0, last};
    table.position = 0;
  }
  chain.push_back(head_block(graph, parts, table));
}

}  // namespace lockstep
