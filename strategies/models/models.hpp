#pragma once

#include "strategies/models/block_builder.hpp"

/// One function per kind of model. Every chain begins with what takes the data in and ends with the
/// loss; what lies between is the depth of the model.
namespace lockstep {

/// embedding, layers, head.
void build_transformer(GraphBuilder& graph, const TransformerConfig& config);

/// input, first_layer, layer ..., head. `input` takes features [b, h] into the stream; the first
/// layer computes no gradient of them. The head is the cross-entropy of the stream against labels
/// [b], each of the h units a class: no weights, so that the model is its products alone.
void build_mlp(GraphBuilder& graph, const MlpConfig& config);

}  // namespace lockstep
