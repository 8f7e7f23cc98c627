#include <array>

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
  std::array<std::optional<int>, 2> kinds{};  // plain layers, layers of experts
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const bool experts = has_experts(config, i);
    std::optional<int>& kind = kinds.at(experts ? 1 : 0);
    if (!kind) kind = layer_block(graph, parts, experts);
    chain.push_back(*kind);
  }
  const int last = static_cast<int>(chain.size());
  if (config.tied_embeddings) {
    graph.graph.tied =
        ModelGraph::Tied{table.tensor, graph.gradient_of_weight(table.tensor), 0, last};
    table.position = 0;
  }
  chain.push_back(head_block(graph, parts, table));
}

}  // namespace lockstep
