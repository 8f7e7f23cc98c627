#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"

namespace lockstep {

TransformerConfig plain_t5() {
  TransformerConfig out;
  out.bias = false;
  out.norm = Normalization::rms;
  out.positions = Positions::none;
  out.attention = AttentionKind::unfused;
  return out;
}

namespace {

EncoderStack read_encoder(ObjectReader& in, const TransformerConfig& config) {
  EncoderStack out;
  out.layers = in.integer({"encoder_layers", "Number of layers of the encoder (default: layers)"},
                          1, kMostLayers, config.layers);
  out.sequence = in.integer({"encoder_seq", "Length of the encoder's sequence in tokens"}, 1,
                            kLongestSequence);
  out.buckets =
      in.integer({"buckets", "Buckets of relative positions, even (default: 32)"}, 4, 4096, 32);
  if (out.buckets % 4 != 0)
    in.note("buckets",
            "half of the buckets are of each direction, and half of these are exact: a "
            "multiple of 4");
  return out;
}

}  // namespace

TransformerConfig read_t5(ObjectReader& in) {
  TransformerConfig config = plain_t5();
  config.layers = in.integer({"layers", "Number of layers of the decoder"}, 1, kMostLayers);
  config.hidden = in.integer({"hidden", "Hidden size"}, 1, kWidest);
  config.heads = in.integer({"heads", "Number of attention heads"}, 1, kMostHeads);
  config.kv_heads = config.heads;
  config.head_size = in.integer({"head_size", "Width of a head (default: 64)"}, 1, kWidest, 64);
  config.ffn = in.integer({"ffn", "Inner dimension of the MLP (default: 4 * hidden)"}, 1,
                          4 * kWidest, 4 * config.hidden);
  config.gated = in.boolean({"gated_mlp",
                             "Gated MLP with three matrices, as in T5 1.1 "
                             "(default: false)"},
                            false);
  config.function =
      read_activation(in, "Activation function (default: relu; geglu with gated_mlp)",
                      config.gated ? ActivationFunction::geglu : ActivationFunction::relu);
  config.sequence =
      in.integer({"seq", "Length of the decoder's sequence in tokens"}, 1, kLongestSequence);
  config.encoder = read_encoder(in, config);
  config.vocabulary =
      in.integer({"vocab", "Vocabulary size, padded as the framework pads it"}, 1, kMostWords);
  config.tied_embeddings = in.boolean(
      {"tied_embeddings",
       "Share the token embedding, which both stacks have, with the output layer (default: true)"},
      true);
  read_dropout(in, config);
  if (in.self().problems().any()) return config;
  if (config.gated != is_gated(config.function))
    in.note("activation", config.gated
                              ? R"(a gated MLP has the activation "swiglu" or "geglu")"
                              : R"("swiglu" and "geglu" are activations of gated MLPs alone)");
  TransformerConfig both = config;
  both.layers = 2 * config.layers + config.encoder->layers;  // with attention to the encoder
  if (is_too_large(both))
    in.note(fmt::format("a model of more than {:g} parameters", kMostParameters));
  return config;
}

}  // namespace lockstep
