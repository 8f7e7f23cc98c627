#include "tests/strategies/verification/shrunk_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "strategies/models/count/count.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/sharding/device_mesh.hpp"

namespace lockstep::test {

namespace {

[[nodiscard]] int sign(std::int64_t a, std::int64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

[[nodiscard]] bool is_even(const std::vector<int>& stages) {
  return std::set<int>(stages.begin(), stages.end()).size() < 2;
}

[[nodiscard]] bool has_empty(const std::vector<int>& stages) {
  return std::find(stages.begin(), stages.end(), 0) != stages.end();
}

[[nodiscard]] std::int64_t layers_with_experts(const TransformerConfig& model) {
  std::int64_t out = 0;
  for (std::int64_t i = 0; i < model.layers; ++i) out += has_experts(model, i) ? 1 : 0;
  return out;
}

/// Whether the last of `tp` ranks has any when each takes as many as the first.
[[nodiscard]] bool has_words(std::int64_t vocabulary, std::int64_t tp) {
  return (vocabulary + tp - 1) / tp * (tp - 1) < vocabulary;
}

/// Holds the two layouts against each other.
class Comparison {
 public:
  Comparison(const ParallelConfig& from, int from_node, const ShrunkLayout& shrunk)
      : from_{from},
        to_{shrunk.parallel},
        from_ulysses_{ulysses_degree(from, from_node)},
        to_ulysses_{ulysses_degree(shrunk.parallel, shrunk.gpus_per_node)} {}

  void degrees(int ranks) {
    several("dp", from_.dp, to_.dp);
    several("tp", from_.tp, to_.tp);
    several("pp", from_.pp, to_.pp);
    several("cp", from_.cp, to_.cp);
    several("ep", from_.ep, to_.ep);
    several("vpp", from_.vpp, to_.vpp);
    several("servers", from_.servers, to_.servers);
    several("ulysses", from_ulysses_, to_ulysses_);
    several("ring", from_.cp / from_ulysses_, to_.cp / to_ulysses_);
    if (to_.ranks() > ranks) lost("few ranks", from_.ranks(), to_.ranks());
    const int from_all = from_.dp * from_.cp / from_.outer_degree();
    const int to_all = to_.dp * to_.cp / to_.outer_degree();
    same("outer_replicas given", from_.outer_replicas > 0, to_.outer_replicas > 0);
    same("outer_replicas against dp", sign(from_.outer_replicas, from_.dp),
         sign(to_.outer_replicas, to_.dp));
    const bool folds = from_.expert_tp() < from_.tp;  // then ranks along tp are ranks along ep, too
    same("etp < tp", folds, to_.expert_tp() < to_.tp);
    if (!folds) same("ep against replicas", sign(from_.ep, from_all), sign(to_.ep, to_all));
    same("shard_ranks given", from_.shard_ranks > 0, to_.shard_ranks > 0);
    same("shard_ranks against replicas", sign(from_.shard_ranks, from_all),
         sign(to_.shard_ranks, to_all));
    same("shard_ranks > 1", from_.shard_ranks > 1, to_.shard_ranks > 1);
  }

  void pipeline() {
    same("stages given", from_.stages.empty(), to_.stages.empty());
    same("stages even", is_even(from_.stages), is_even(to_.stages));
    same("stages empty", has_empty(from_.stages), has_empty(to_.stages));
    several("microbatches", from_.microbatches(), to_.microbatches());
    several("micro_batch", from_.micro_batch, to_.micro_batch);
    if (from_.microbatches() >= from_.pp && to_.microbatches() < to_.pp) {
      lost("microbatches for every stage", from_.microbatches(), to_.microbatches());
    }
    if (from_.microbatches() >= 2 * from_.pp && to_.microbatches() < std::min(3, 2 * to_.pp)) {
      lost("microbatches for a steady state", from_.microbatches(), to_.microbatches());
    }
  }

  void unchanged() {
    const auto same_state = [](const StateConfig& a, const StateConfig& b) {
      return a.weights == b.weights && a.gradients == b.gradients && a.master == b.master &&
             a.optimizer == b.optimizer && a.moments == b.moments && a.offload == b.offload &&
             a.newton_schulz_steps == b.newton_schulz_steps && a.muon_blocks == b.muon_blocks &&
             a.muon_syrk == b.muon_syrk;
    };
    require("order", from_.order == to_.order);
    require("recompute", from_.recompute == to_.recompute);
    require("recompute_modules", from_.recompute_modules == to_.recompute_modules);
    require("zero", from_.zero == to_.zero);
    require("scatter_gradients", from_.scatter_gradients == to_.scatter_gradients);
    require("reduce_gradients", from_.reduce_gradients == to_.reduce_gradients);
    require("update", from_.update == to_.update);
    require("reshard_after_forward", from_.reshard_after_forward == to_.reshard_after_forward);
    require("prefetch", from_.prefetch == to_.prefetch);
    require("sequence_parallel", from_.sequence_parallel == to_.sequence_parallel);
    require("precision", from_.precision == to_.precision);
    require("schedule", from_.schedule == to_.schedule);
    require("short_edges", from_.short_edges == to_.short_edges);
    require("cp_kind", from_.cp_kind == to_.cp_kind);
    require("ulysses by node", (from_.ulysses == 0) == (to_.ulysses == 0));
    require("microbatch_group", (from_.microbatch_group > 0) == (to_.microbatch_group > 0));
    require("zigzag", from_.zigzag == to_.zigzag);
    require("overlap", from_.overlap == to_.overlap);
    require("exchange", from_.exchange == to_.exchange);
    require("average_every", (from_.average_every > 1) == (to_.average_every > 1) &&
                                 to_.average_every <= to_.fragments + 1);
    require("outer_gradients", from_.outer_gradients == to_.outer_gradients);
    require("outer_on_host", from_.outer_on_host == to_.outer_on_host);
    require("fragments", (from_.fragments > 1) == (to_.fragments > 1) && to_.fragments <= 2);
    require("steps without an average",
            (from_.average_every > from_.fragments) == (to_.average_every > to_.fragments));
    require("state", same_state(from_.state, to_.state));
    require("expert_skew", from_.expert_skew == to_.expert_skew);
    require("capacity_factor", from_.capacity_factor == to_.capacity_factor);
    require("dispatcher", from_.dispatcher == to_.dispatcher);
    require("delay_wgrad_compute", from_.delay_wgrad_compute == to_.delay_wgrad_compute);
    require("dispatch_sms", from_.dispatch_sms == to_.dispatch_sms);
    require("algorithms", from_.algorithms == to_.algorithms);
  }

  void model(const TransformerConfig& from, const TransformerConfig& to) {
    style(from, to);
    heads(from, to);
    several("layers", from.layers, to.layers);
    several("sequence", from.sequence, to.sequence);
    same("vocabulary in equal parts", from.vocabulary > 1 && from.vocabulary % from_.tp != 0,
         to.vocabulary % to_.tp != 0);
    require("vocabulary for every rank",
            has_words(to.vocabulary, to_.tp) || !has_words(from.vocabulary, from_.tp));
    require("vocabulary to learn from", to.vocabulary > 1);
    same("experts", from.experts.has_value(), to.experts.has_value());
    same("latent", from.latent.has_value(), to.latent.has_value());
    if (from.experts && to.experts) experts(from, to);
    if (from.latent && to.latent) latent(*from.latent, *to.latent);
  }

  [[nodiscard]] std::string text() const { return text_; }

 private:
  void style(const TransformerConfig& from, const TransformerConfig& to) {
    require("gated", from.gated == to.gated);
    require("tied_embeddings", from.tied_embeddings == to.tied_embeddings);
    require("causal", from.causal == to.causal);
    require("bias", from.bias == to.bias && from.qkv_bias == to.qkv_bias);
    require("norm", from.norm == to.norm);
    require("function", from.function == to.function);
    require("positions", from.positions == to.positions);
    require("attention", from.attention == to.attention);
    require("dropout", from.dropout == to.dropout);
    require("even rotary", from.positions != Positions::rotary || from.head_size % 2 != 0 ||
                               to.head_size % 2 == 0);
  }

  void heads(const TransformerConfig& from, const TransformerConfig& to) {
    several("kv_heads", from.kv_heads, to.kv_heads);
    same("kv_heads against heads", sign(from.kv_heads, from.heads), sign(to.kv_heads, to.heads));
    same("kv_heads < tp * ulysses", from.kv_heads < from_.tp * from_ulysses_,
         to.kv_heads < to_.tp * to_ulysses_);
  }

  void experts(const TransformerConfig& from, const TransformerConfig& to) {
    same("experts against ep", sign(from.experts->experts, from_.ep),
         sign(to.experts->experts, to_.ep));
    same("experts against top_k", sign(from.experts->experts, from.experts->top_k),
         sign(to.experts->experts, to.experts->top_k));
    several("top_k", from.experts->top_k, to.experts->top_k);
    several("shared", from.experts->shared, to.experts->shared);
    several("every", from.experts->every, to.experts->every);
    same("shared experts", from.experts->shared > 0, to.experts->shared > 0);
    same("dense_layers", from.experts->dense_layers > 0, to.experts->dense_layers > 0);
    same("layers with experts", layers_with_experts(from) > 0, layers_with_experts(to) > 0);
    same("layers without experts", layers_with_experts(from) < from.layers,
         layers_with_experts(to) < to.layers);
  }

  void latent(const LatentAttention& from, const LatentAttention& to) {
    same("compressed queries", from.query_rank > 0, to.query_rank > 0);
    same("values as keys", from.value_size == from.key_size, to.value_size == to.key_size);
  }

  /// Above 1 as before, and not more than before.
  void several(const char* what, std::int64_t from, std::int64_t to) {
    if ((from > 1) != (to > 1) || to > from) lost(what, from, to);
  }
  void same(const char* what, int from, int to) {
    if (from != to) lost(what, from, to);
  }
  void require(const char* what, bool kept) {
    if (!kept) text_ += fmt::format("{} has changed\n", what);
  }
  void lost(const char* what, std::int64_t from, std::int64_t to) {
    text_ += fmt::format("{}: {} became {}\n", what, from, to);
  }

  const ParallelConfig& from_;
  const ParallelConfig& to_;
  int from_ulysses_;
  int to_ulysses_;
  std::string text_{};
};

}  // namespace

std::string lost_by_shrinking(const ModelConfig& model, const ParallelConfig& parallel,
                              int gpus_per_node, const ShrunkLayout& shrunk, int ranks) {
  Comparison out{parallel, gpus_per_node, shrunk};
  out.degrees(ranks);
  out.pipeline();
  out.unchanged();
  if (model.shape.index() != shrunk.model.shape.index()) return "another kind of model";
  if (model.transformer() != nullptr) out.model(*model.transformer(), *shrunk.model.transformer());
  std::string text = out.text();
  for (const LayoutProblem& problem : layout_problems(
           shrunk.model, shrunk.parallel, shrunk.parallel.ranks(), shrunk.gpus_per_node)) {
    text += fmt::format("{}: {}\n", problem.key, problem.message);
  }
  return text;
}

// A layer of at most 32 dimensions with heads of as many and an MLP of 48 has at most
// 4 * 32 * 32 + 3 * 32 * 48 weights, an expert 3 * 32 * 16: with some thirty layers, eight experts
// in a few of them and tables of 64 words this stays below 300,000.
std::string too_large(const ModelConfig& model) {
  const std::int64_t weights = count_parameters(model).total();
  if (weights > 300'000) return fmt::format("{} weights", weights);
  const TransformerConfig* shape = model.transformer();
  if (shape == nullptr) return "";
  if (shape->hidden > 32 || shape->sequence > 64 || shape->vocabulary > 64) {
    return fmt::format("hidden {}, sequence {}, vocabulary {}", shape->hidden, shape->sequence,
                       shape->vocabulary);
  }
  return "";
}

}  // namespace lockstep::test
