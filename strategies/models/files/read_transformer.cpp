#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"

namespace lockstep {

namespace {

/// Of a layer: what GPT has, or Llama where MLPs are gated.
void read_style(ObjectReader& in, TransformerConfig& config) {
  const bool gated = config.gated;
  config.norm =
      named<Normalization>(in, {"norm", "Normalization (default: layer; rms with gated_mlp)"},
                           "norm", {{"layer", Normalization::layer}, {"rms", Normalization::rms}},
                           gated ? Normalization::rms : Normalization::layer);
  config.function =
      read_activation(in, "Activation function (default: gelu; swiglu with gated_mlp)",
                      gated ? ActivationFunction::swiglu : ActivationFunction::gelu);
  config.positions = named<Positions>(
      in, {"positions", "Position embedding (default: learned; rotary with gated_mlp)"},
      "kind of positions",
      {{"learned", Positions::learned}, {"rotary", Positions::rotary}, {"none", Positions::none}},
      gated ? Positions::rotary : Positions::learned);
  config.attention = read_attention_kind(in);
  read_dropout(in, config);
  config.causal = in.boolean({"causal", "Causal attention (default: true)"}, true);
  if (gated != is_gated(config.function)) {
    in.note("activation", gated ? R"(a gated MLP has the activation "swiglu" or "geglu")"
                                : R"("swiglu" and "geglu" are activations of gated MLPs alone)");
  }
}

void read_biases(ObjectReader& in, TransformerConfig& config) {
  config.bias = in.boolean(
      {"bias", "Bias of all linear layers (default: true; false with gated_mlp)"}, !config.gated);
  config.qkv_bias = in.boolean(
      {"qkv_bias", "Bias of the query, key and value projections only (default: false)"}, false);
  config.out_bias =
      in.boolean({"out_bias", "Bias of the attention output projection (default: false)"}, false);
  config.mlp_bias = in.boolean({"mlp_bias", "Bias of MLPs and experts (default: false)"}, false);
  config.router_bias =
      in.boolean({"router_bias", "Bias of the expert router (default: false)"}, false);
  config.head_bias = in.boolean({"head_bias", "Bias of the output layer (default: false)"}, false);
  config.norm_bias = in.boolean({"norm_bias", "Bias of layer norms (default: true)"}, true);
  if (!config.norm_bias && config.norm == Normalization::rms) {
    in.note("norm_bias", "rms norms have no bias to leave out");
  }
}

/// What distinguishes families of models: where norms stand, what else is in attention.
void read_features(ObjectReader& in, TransformerConfig& config) {
  config.norm_place = named<NormPlace>(
      in,
      {"norm_place",
       "Position of norms: before attention and MLP, after them, or both (default: before)"},
      "place of norms",
      {{"before", NormPlace::before}, {"after", NormPlace::after}, {"around", NormPlace::around}},
      NormPlace::before);
  config.qk_norm =
      named<QueryKeyNorm>(in,
                          {"qk_norm",
                           "Norm of queries and keys: shared (one gain for all heads), per_head (a "
                           "gain per head) or all_heads (one norm over all heads) (default: none)"},
                          "norm of queries and keys",
                          {{"none", QueryKeyNorm::none},
                           {"shared", QueryKeyNorm::shared},
                           {"per_head", QueryKeyNorm::per_head},
                           {"all_heads", QueryKeyNorm::all_heads}},
                          QueryKeyNorm::none);
  config.residual = named<Residual>(in,
                                    {"residual",
                                     "Residual structure: sequential, parallel (attention and MLP "
                                     "after one norm) or parallel_two_norms (default: sequential)"},
                                    "residual",
                                    {{"sequential", Residual::sequential},
                                     {"parallel", Residual::parallel},
                                     {"parallel_two_norms", Residual::parallel_two_norms}},
                                    Residual::sequential);
  config.embedding_norm =
      in.boolean({"embedding_norm", "Norm after the embedding (default: false)"}, false);
  config.position_rows = in.integer(
      {"position_rows", "Rows of the learned position table, at least seq; 0: seq (default: 0)"}, 0,
      kLongestSequence, 0);
  config.sinks = in.boolean(
      {"sinks",
       "Attention sinks: a learned logit per head in the softmax, as in gpt-oss (default: false)"},
      false);
  config.output_layer = in.boolean(
      {"output_layer", "Output layer; false: cross-entropy over the hidden units (default: true)"},
      true);
}

AttentionWindow read_window(ObjectReader& in) {
  AttentionWindow window;
  window.size =
      in.integer({"size", "Keys visible to a query, including its own"}, 1, kLongestSequence);
  window.chunked = in.boolean({"chunked",
                               "Chunked attention: keys of the query's own chunk instead of the "
                               "last ones (default: false)"},
                              false);
  window.first_layer =
      in.integer({"first_layer", "First layer with a window (default: 0)"}, 0, kMostLayers, 0);
  window.full_every =
      in.integer({"full_every", "Every n-th layer has full attention; 0: none (default: 0)"}, 0,
                 kMostLayers, 0);
  window.full_rotary = in.boolean(
      {"full_rotary", "Rotary positions in layers with full attention (default: true)"}, true);
  if (window.full_every == 1) in.note("full_every", "then no layer has the window");
  return window;
}

DocumentDraw read_drawn_documents(ObjectReader& in) {
  DocumentDraw out;
  const std::string kind = in.one_of({"distribution", "Distribution that lengths are drawn from"},
                                     "distribution", {"lognormal", "uniform"});
  out.kind = kind == "uniform" ? DocumentDraw::Kind::uniform : DocumentDraw::Kind::lognormal;
  const auto shortest =
      in.optional_integer({"shortest", "uniform: fewest tokens (default: 1)"}, 1, kLongestSequence);
  const auto longest =
      in.optional_integer({"longest", "uniform: most tokens"}, 1, kLongestSequence);
  const auto mean = in.optional_number({"mean", "lognormal: mean length in tokens"}, 1,
                                       static_cast<double>(kLongestSequence));
  const auto sigma = in.optional_number(
      {"sigma", "lognormal: standard deviation of the logarithm (default: 1)"}, 0, 10);
  out.seed = static_cast<std::uint64_t>(
      in.integer({"seed", "Each sequence of a step is drawn from a stream of its own (default: 0)"},
                 0, INT64_MAX, 0));
  const bool uniform = out.kind == DocumentDraw::Kind::uniform;
  if (in.self().problems().any() || in.describes()) return out;
  if (uniform && !longest) in.note("uniform lengths need longest");
  if (!uniform && !mean) in.note("lognormal lengths need mean");
  if (!uniform && (shortest || longest))
    in.note(shortest ? "shortest" : "longest", "lognormal lengths have mean and sigma");
  if (uniform && (mean || sigma))
    in.note(mean ? "mean" : "sigma", "uniform lengths have shortest and longest");
  out.shortest = shortest.value_or(1);
  out.longest = longest.value_or(out.shortest);
  if (uniform && longest && out.longest < out.shortest)
    in.note("longest", fmt::format("less than the shortest, {}", out.shortest));
  if (uniform) return out;
  out.mean = mean.value_or(1);
  out.sigma = sigma.value_or(1);
  return out;
}

/// Lengths, or for each of several sequences its own.
void read_listed_documents(const ValueReader& given, TransformerConfig& config) {
  const auto tokens = [](std::vector<std::int64_t>& to) {
    return [&to](const ValueReader& of) { to.push_back(of.integer(1, kLongestSequence)); };
  };
  const auto one = [&](const ValueReader& sequence) {
    if (sequence.is_array() || sequence.describes()) {
      std::vector<std::int64_t> list;
      sequence.array(tokens(list), 1, kMostDocuments);
      if (!sequence.describes()) config.packed.lists.push_back(std::move(list));
    }
    if (!sequence.is_array()) tokens(config.documents)(sequence);
  };
  given.array(one, 0, kMostDocuments);
  if (!config.documents.empty() && !config.packed.lists.empty())
    given.note("expected lengths, or a list of lengths for each of several sequences, not both");
}

void read_documents(ObjectReader& in, TransformerConfig& config) {
  const auto given = in.optional(
      {"documents",
       "Tokens of the documents packed into every sequence, in order and from the first again "
       "until it is full; a token attends to its own document (default: none). A list of such "
       "lists: sequence i of a step has list i modulo their number; an object: drawn for each "
       "sequence"});
  if (!given) return;
  if (!given->is_object() && !given->is_array() && !given->describes())
    return given->refuse(
        "an array of lengths, an array of such arrays, or an object with a distribution");
  if (!given->is_object()) read_listed_documents(*given, config);
  if (given->is_object() || given->describes()) {
    const DocumentDraw drawn = given->object(read_drawn_documents);
    if (!given->describes()) config.packed.drawn = drawn;
  }
}

void read_groups(ObjectReader& in, ExpertsConfig& experts) {
  experts.groups =
      in.integer({"groups",
                  "Groups of equally many experts; a token's experts are of group_top_k of them "
                  "(default: 1)"},
                 1, kMostExperts, 1);
  experts.group_top_k = in.integer(
      {"group_top_k", "Groups per token: nodes, where a node has one group (default: 1)"}, 1,
      kMostExperts, 1);
  if (experts.experts % experts.groups != 0) {
    in.note("groups", fmt::format("not a divisor of the {} experts", experts.experts));
  } else if (experts.group_top_k > experts.groups) {
    in.note("group_top_k", fmt::format("at most the {} groups that there are", experts.groups));
  } else if (const std::int64_t most = experts.experts / experts.groups * experts.group_top_k;
             experts.top_k > most && experts.top_k <= experts.experts) {
    in.note("group_top_k", fmt::format("groups of {} experts: {} of them have {}, less than the "
                                       "{} of top_k",
                                       experts.experts / experts.groups, experts.group_top_k, most,
                                       experts.top_k));
  }
}

ExpertsConfig read_experts(ObjectReader& in, const TransformerConfig& config) {
  ExpertsConfig experts;
  experts.experts = in.integer({"count", "Number of routed experts"}, 2, kMostExperts);
  experts.top_k = in.integer({"top_k", "Routed experts per token"}, 1, kMostExperts);
  experts.ffn = in.integer({"ffn", "Inner dimension of an expert (default: ffn of the model)"}, 1,
                           4 * kWidest, config.ffn);
  experts.shared = in.integer({"shared", "Shared experts, applied to every token (default: 0)"}, 0,
                              kMostExperts, 0);
  experts.shared_ffn = in.integer(
      {"shared_ffn", "Inner dimension of a shared expert (default: that of routed experts)"}, 1,
      4 * kWidest, experts.ffn);
  if (experts.shared == 0 && experts.shared_ffn != experts.ffn)
    in.note("shared_ffn", "there are no shared experts: \"shared\" is 0");
  experts.dense_layers = in.integer(
      {"dense_layers", "Number of first layers with a dense MLP (default: 0)"}, 0, kMostLayers, 0);
  experts.every =
      in.integer({"every", "Every n-th layer has experts (default: 1)"}, 1, kMostLayers, 1);
  if (experts.top_k > experts.experts) {
    in.note("top_k", fmt::format("at most the {} experts that there are", experts.experts));
  }
  read_groups(in, experts);
  return experts;
}

LatentAttention read_latent(ObjectReader& in) {
  LatentAttention latent;
  latent.query_rank = in.integer(
      {"query_rank", "Rank of compressed queries; 0: not compressed (default: 0)"}, 0, kWidest, 0);
  latent.kv_rank = in.integer({"kv_rank", "Rank of compressed keys and values"}, 1, kWidest);
  latent.key_size = in.integer(
      {"key_size", "Width of the key part without rotary positions, per head"}, 1, kWidest);
  latent.rotary_size =
      in.integer({"rotary_size", "Width of the rotary key part, shared by all heads"}, 1, kWidest);
  latent.value_size = in.integer({"value_size", "Width of values, per head"}, 1, kWidest);
  return latent;
}

TokenPrediction read_prediction(ObjectReader& in) {
  constexpr std::int64_t kMostModules = 16;
  TokenPrediction out;
  out.layers = in.integer({"layers", "Modules, each with one layer, for one further token each"}, 1,
                          kMostModules);
  out.loss_scaling_factor =
      in.number({"loss_scaling_factor",
                 "Factor of the mean of their losses in the loss (default: 0.1, as Megatron-Core)"},
                0, 100, 0.1);
  return out;
}

/// An upper bound of the number of parameters, in floating point, where 64 bits might not do.
[[nodiscard]] double most_parameters(const TransformerConfig& config) {
  const auto hidden = static_cast<double>(config.hidden);
  const auto heads = static_cast<double>(config.heads);
  double rows =
      4 * heads * static_cast<double>(config.head_size) + 3 * static_cast<double>(config.ffn);
  if (config.latent) {
    const LatentAttention& latent = *config.latent;
    const auto ranks = static_cast<double>(latent.query_rank + latent.kv_rank);
    const auto sizes =
        static_cast<double>(latent.key_size + latent.rotary_size + latent.value_size);
    rows += ranks + (ranks / hidden + 2) * heads * sizes;
  }
  if (config.experts) {
    const ExpertsConfig& experts = *config.experts;
    rows += static_cast<double>(experts.experts) * (3 * static_cast<double>(experts.ffn) + 1) +
            3 * static_cast<double>(experts.shared) * static_cast<double>(experts.shared_ffn);
  }
  if (config.mtp) rows += 2 * hidden;
  return static_cast<double>(all_layers(config)) * hidden * rows;
}

/// Notes `message` at `key` where that is so.
void note_if(ObjectReader& in, bool wrong, std::string_view key, std::string_view message) {
  if (wrong) in.note(key, std::string{message});
}

void check_attention(ObjectReader& in, const TransformerConfig& config) {
  note_if(in, config.window && !config.causal, "window", "windows are of causal attention alone");
  note_if(in, (!config.documents.empty() || config.packed.any()) && !config.causal, "documents",
          "documents are packed for causal attention alone");
  note_if(in, config.sinks && config.attention != AttentionKind::flash, "sinks",
          "sinks need the attention \"flash\"");
  note_if(in, config.latent && config.sinks, "sinks", "latent attention has no sinks");
  note_if(in, config.latent && config.qk_norm != QueryKeyNorm::none, "qk_norm",
          "latent attention has norms of its own");
}

void check_rest(ObjectReader& in, const TransformerConfig& config) {
  note_if(in, config.residual != Residual::sequential && config.norm_place != NormPlace::before,
          "norm_place", "attention and MLP side by side have their norms before");
  note_if(in, config.tied_embeddings && !config.output_layer, "output_layer",
          "tied embeddings need an output layer");
  note_if(in, config.head_bias && !config.output_layer, "head_bias",
          "a model without an output layer has no bias of it");
  note_if(in, config.mtp && !config.output_layer, "mtp",
          "multi-token prediction needs an output layer");
  note_if(in, config.mtp && config.positions == Positions::learned, "mtp",
          "multi-token prediction with learned positions is not modeled");
  note_if(in, config.mtp && config.embedding_norm, "mtp",
          "multi-token prediction with a norm after the embedding is not modeled");
  note_if(in, config.router_bias && !config.experts, "router_bias",
          "a model without experts has no router");
  note_if(in, config.position_rows > 0 && config.positions != Positions::learned, "position_rows",
          "only learned positions have a table");
  if (config.position_rows > 0 && config.position_rows < config.sequence) {
    in.note("position_rows", fmt::format("{} positions are fewer than the {} tokens of a sequence",
                                         config.position_rows, config.sequence));
  }
}

}  // namespace

bool is_too_large(const TransformerConfig& config) {
  return most_parameters(config) > kMostParameters;
}

void check_transformer(ObjectReader& in, const TransformerConfig& config,
                       std::string_view kv_heads) {
  if (config.heads % config.kv_heads != 0) {
    in.note(kv_heads, fmt::format("{} heads are not divisible by {} heads of keys and values",
                                  config.heads, config.kv_heads));
  }
  if (config.latent && config.kv_heads != config.heads) {
    in.note(kv_heads, "latent attention has as many heads of keys and values as of queries");
  }
  check_attention(in, config);
  check_rest(in, config);
  if (is_too_large(config)) {
    in.note(fmt::format("a model of more than {:g} parameters", kMostParameters));
  }
}

TransformerConfig read_transformer(ObjectReader& in) {
  TransformerConfig config;
  config.layers = in.integer({"layers", "Number of layers"}, 1, kMostLayers);
  config.hidden = in.integer({"hidden", "Hidden size"}, 1, kWidest);
  config.heads = in.integer({"heads", "Number of attention heads"}, 1, kMostHeads);
  config.kv_heads =
      in.integer({"kv_heads", "Number of key and value heads; divides heads (default: heads)"}, 1,
                 kMostHeads, config.heads);
  config.ffn = in.integer({"ffn", "Inner dimension of the MLP (default: 4 * hidden)"}, 1,
                          4 * kWidest, 4 * config.hidden);
  config.gated =
      in.boolean({"gated_mlp",
                  "Gated MLP with three matrices; defaults of norm, activation, bias and positions "
                  "are then those of Llama instead of GPT (default: false)"},
                 false);
  config.sequence = in.integer({"seq", "Sequence length in tokens"}, 1, kLongestSequence);
  config.vocabulary = in.integer(
      {"vocab", "Vocabulary size, padded as the framework pads it (default: none, layers only)"}, 1,
      kMostWords, 1);
  config.tied_embeddings = in.boolean(
      {"tied_embeddings", "Share the token embedding with the output layer (default: false)"},
      false);
  read_style(in, config);
  read_biases(in, config);
  read_features(in, config);
  config.window = in.optional_object(
      {"window", "Sliding-window or chunked attention (default: none)"}, read_window);
  read_documents(in, config);
  config.latent =
      in.optional_object({"latent", "Multi-head latent attention (DeepSeek)"}, read_latent);
  config.mtp = in.optional_object(
      {"mtp",
       "Multi-token prediction (DeepSeek-V3): layers like the last one behind the model, with its "
       "embedding and output layer, for further tokens (default: none)"},
      read_prediction);
  const auto size =
      in.optional_integer({"head_size", "Width of a head (default: hidden / heads)"}, 1, kWidest);
  const bool values_read = !in.self().problems().any();
  if (values_read && !size && !config.latent && config.hidden % config.heads != 0) {
    in.note("heads", fmt::format("a hidden size of {} is not divisible by {} heads; give head_size",
                                 config.hidden, config.heads));
  }
  config.head_size = size.value_or(std::max<std::int64_t>(1, config.hidden / config.heads));
  if (config.latent) config.head_size = config.latent->key_size + config.latent->rotary_size;
  config.experts = in.optional_object(
      {"experts", "Mixture of experts"},
      [&config](ObjectReader& experts) { return read_experts(experts, config); });
  // Values that stand in for refused ones would be refused for what nobody wrote.
  if (values_read) check_transformer(in, config);
  return config;
}

}  // namespace lockstep
