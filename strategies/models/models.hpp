#pragma once

#include "strategies/models/block_builder.hpp"

/// One function per kind of model. Every chain begins with what takes the data in and ends with the
/// loss; what lies between is the depth of the model.
namespace lockstep {

/// embedding, layers (of either kind), head.
void build_transformer(GraphBuilder& graph, const TransformerConfig& config);

/// input, first_layer, layer ..., head. `input` takes features [b, h] into the stream; the first
/// layer computes no gradient of them. The head is the cross-entropy of the stream against labels
/// [b], each of the h units a class: no weights, so that the model is its products alone.
void build_mlp(GraphBuilder& graph, const MlpConfig& config);

/// stem (convolution and pool), one block per bottleneck, head (mean, linear, cross-entropy).
/// Images are [b, height, width, channels], clips [b, time, height, width, channels]; weights of
/// convolutions [window = k k channels in, channels out]. A clip's mean goes over its frames too,
/// which for a linear head is TSM's average of the frames' logits.
void build_resnet(GraphBuilder& graph, const ResNetConfig& config);

}  // namespace lockstep
