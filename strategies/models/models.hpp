#pragma once

#include "strategies/models/block_builder.hpp"

/// One builder per kind of model. Every chain starts with a block that reads the data and ends with
/// the loss.
namespace lockstep {

/// embedding, layers (of both kinds), head.
void build_transformer(GraphBuilder& graph, const TransformerConfig& config);

/// input, first_layer, layer ..., head. `input` reads features [b, h]; the first layer computes no
/// gradient of them. The head is the cross-entropy of the stream against labels [b], each of the h
/// units a class, without weights: all GEMMs are in the layers.
void build_mlp(GraphBuilder& graph, const MlpConfig& config);

/// stem (convolution and pooling), one block per bottleneck, head (mean, linear, cross-entropy).
/// Images are [b, height, width, channels], clips [b, time, height, width, channels], convolution
/// weights [window = k k channels in, channels out]. The mean of a clip includes its frames, which
/// for a linear head equals TSM's average of the frames' logits.
void build_resnet(GraphBuilder& graph, const ResNetConfig& config);

}  // namespace lockstep
