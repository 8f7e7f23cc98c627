#include <algorithm>
#include <numeric>
#include <optional>
#include <variant>

#include "sim/base/math.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

/// One transformer on its way down.
class Shrinking {
 public:
  Shrinking(TransformerConfig& model, const SizedLayout& whole, const SizedLayout& small,
            const ShrinkLimits& limits)
      : model_{model},
        was_{std::get<TransformerConfig>(whole.model.shape)},
        whole_{whole.parallel},
        small_{small.parallel},
        limits_{limits},
        tp_{small.parallel.tp},
        ulysses_{ulysses_degree(small.parallel, small.gpus_per_node)},
        whole_ulysses_{ulysses_degree(whole.parallel, whole.gpus_per_node)} {}

  void run() {
    shrink_heads();
    if (model_.latent) shrink_latent();
    set("hidden", model_.hidden, hidden());
    if (model_.image) fit_heads();
    set("ffn", model_.ffn, inner(was_.ffn));
    set(model_.image ? "classes" : "vocab", model_.vocabulary, vocabulary());
    if (model_.image) {
      shrink_image(*model_.image);
    } else {
      set("seq", model_.sequence, sequence(was_.sequence));
    }
    if (model_.encoder) shrink_encoder(*model_.encoder);
    if (model_.window) shrink_window(*model_.window);
    if (has_documents(was_)) shrink_documents();
    if (model_.mtp) set("mtp.layers", model_.mtp->layers, few(was_.mtp->layers, 2));
    if (was_.position_rows > 0) set("position_rows", model_.position_rows, position_rows());
    if (model_.experts) shrink_experts(*model_.experts);
    if (model_.encoder && small_.pp > 1) {
      shrink_stacks();
    } else {
      set("layers", model_.layers, layers());
    }
  }

 private:
  [[nodiscard]] bool keeps(const std::string& key) const { return stays(limits_, "model." + key); }
  void set(const std::string& key, std::int64_t& size, std::int64_t to) const {
    if (!keeps(key)) size = to;
  }

  /// Few heads that are divided among ranks as many are.
  void shrink_heads() {
    const LayoutTraits before = head_traits(was_.heads, was_.kv_heads, whole_.tp, whole_ulysses_);
    std::optional<int> best;
    for (const std::int64_t heads : head_counts()) {
      for (std::int64_t kv = 1; kv <= heads; ++kv) {
        if (heads % kv != 0 || (keeps("kv_heads") && kv != was_.kv_heads) || !divides(kv)) continue;
        const int apart = distance(before, head_traits(heads, kv, tp_, ulysses_));
        if (best && apart >= *best) continue;
        best = apart;
        model_.heads = heads;
        model_.kv_heads = kv;
      }
    }
    set("head_size", model_.head_size, head_size());
  }

  /// Whether ranks have whole heads of keys and values, or whole numbers of ranks one head.
  [[nodiscard]] bool divides(std::int64_t kv) const {
    const std::int64_t left = std::max<std::int64_t>(1, kv / tp_);
    return (kv % tp_ == 0 || tp_ % kv == 0) && (left % ulysses_ == 0 || ulysses_ % left == 0);
  }

  [[nodiscard]] std::vector<std::int64_t> head_counts() const {
    if (keeps("heads")) return {was_.heads};
    const std::int64_t ranks = std::int64_t{tp_} * ulysses_;
    std::vector<std::int64_t> out{ranks};
    for (std::int64_t i = 2; i <= 4 && i * ranks <= was_.heads; ++i) out.push_back(i * ranks);
    return out;
  }

  /// Even, for rotary positions.
  [[nodiscard]] std::int64_t head_size() const {
    const std::int64_t least = model_.heads < 4 ? 4 : 2;
    return std::min(was_.head_size, least);
  }

  void shrink_latent() {
    LatentAttention& latent = *model_.latent;
    const LatentAttention was = latent;
    if (was.query_rank > 0) set("latent.query_rank", latent.query_rank, few(was.query_rank, 6));
    set("latent.kv_rank", latent.kv_rank, few(was.kv_rank, 5));
    set("latent.key_size", latent.key_size, few(was.key_size, 4));
    set("latent.rotary_size", latent.rotary_size, few(was.rotary_size, 2));
    set("latent.value_size", latent.value_size,
        few(was.value_size, was.value_size == was.key_size ? 4 : 3));
    model_.head_size = latent.key_size + latent.rotary_size;
  }

  [[nodiscard]] static std::int64_t few(std::int64_t was, std::int64_t least) {
    return std::min(was, least);
  }

  [[nodiscard]] std::int64_t hidden() const {
    return few(was_.hidden, std::clamp<std::int64_t>(model_.heads * model_.head_size, 8, 32));
  }

  /// Heads of a vision transformer divide the hidden size; nobody says how wide they are.
  void fit_heads() {
    model_.head_size = std::max<std::int64_t>(1, model_.hidden / model_.heads);
    set("hidden", model_.hidden, model_.heads * model_.head_size);
  }

  /// Of an MLP: cut by tensor parallelism.
  [[nodiscard]] std::int64_t inner(std::int64_t was) const {
    return multiple(tp_, model_.hidden * 3 / 2, was);
  }

  /// With one word alone every loss and every gradient is 0. What tensor parallelism cuts into
  /// unequal parts stays so, and none of them empty.
  [[nodiscard]] std::int64_t vocabulary() const {
    if (was_.vocabulary > 1 && was_.vocabulary % whole_.tp != 0) {
      return std::min(was_.vocabulary,
                      std::max<std::int64_t>(std::int64_t{3} * tp_, multiple(tp_, 24, 24)) - 1);
    }
    return multiple(tp_, 24, was_.vocabulary == 1 ? 24 : was_.vocabulary);
  }

  /// Every rank has as many tokens between the parts that are cut by heads, and two runs of them in
  /// a zigzag.
  [[nodiscard]] std::int64_t sequence(std::int64_t was) const {
    const bool zigzag = small_.cp > ulysses_ && small_.zigzag && was_.causal;
    const std::int64_t parts = std::int64_t{small_.cp} * (zigzag ? 2 : 1);
    return multiple(parts * (small_.sequence_parallel ? tp_ : 1), 16, was);
  }

  void shrink_encoder(EncoderStack& encoder) const {
    const EncoderStack was = encoder;
    if (small_.pp == 1) set("encoder_layers", encoder.layers, few(was.layers, 2));
    set("encoder_seq", encoder.sequence, sequence(was.sequence));
    set("buckets", encoder.buckets, few(was.buckets, 8));
  }

  /// Layers of both stacks together are divided into stages.
  void shrink_stacks() {
    const std::int64_t encoder = was_.encoder->layers;
    const auto together = [&](std::int64_t least) {
      return fewer_layers(encoder + was_.layers, whole_, small_, least);
    };
    if (keeps("layers") && keeps("encoder_layers")) return;
    if (keeps("layers")) {
      model_.encoder->layers = std::max<std::int64_t>(1, together(was_.layers + 1) - was_.layers);
    } else if (keeps("encoder_layers")) {
      model_.layers = std::max<std::int64_t>(1, together(encoder + 1) - encoder);
    } else {
      divide_layers(model_, together(std::min<std::int64_t>(4, encoder + was_.layers)));
    }
  }

  /// Few patches of few pixels; ranks that share them have as many each.
  void shrink_image(ImageInput& image) const {
    const std::int64_t parts =
        std::int64_t{small_.cp} * (small_.sequence_parallel ? std::int64_t{tp_} : 1);
    const std::int64_t most = was_.image->side / was_.image->patch;
    set("patch", image.patch, few(image.patch, 2));
    std::int64_t across = 2;
    while (across < most && across * across % parts != 0) ++across;
    set("image", image.side, image.patch * std::min(across, most));
    model_.sequence = image.tokens();
  }

  /// Shorter than the sequence, where it was, with tokens that see less of it.
  void shrink_window(AttentionWindow& window) const {
    const AttentionWindow was = window;
    const std::int64_t third = std::max<std::int64_t>(2, (model_.sequence + 2) / 3);
    set("window.size", window.size,
        was.size < was_.sequence ? std::min(was.size, third) : model_.sequence);
    const bool none = was.first_layer >= was_.layers;
    if (!none) set("window.first_layer", window.first_layer, few(was.first_layer, 1));
    if (was.full_every > 0 && was.full_every <= was_.layers) {
      set("window.full_every", window.full_every, 2);
    }
  }

  /// The same shares of a sequence as before, of the first documents: kept with the sequence alone.
  void shrink_documents() {
    if (keeps("seq") && keeps("documents")) return;
    shrink_documents(model_.documents);
    for (auto& documents : model_.packed.lists) shrink_documents(documents);
    if (!model_.packed.drawn) return;
    DocumentDraw& drawn = *model_.packed.drawn;
    const auto share = static_cast<double>(model_.sequence) / static_cast<double>(was_.sequence);
    drawn.mean = std::max(1.0, drawn.mean * share);
    for (std::int64_t* tokens : {&drawn.shortest, &drawn.longest})
      *tokens = std::max<std::int64_t>(1, *tokens * model_.sequence / was_.sequence);
  }
  void shrink_documents(std::vector<std::int64_t>& documents) const {
    const std::vector<std::int64_t> was = documents;
    documents.clear();
    for (const std::int64_t tokens : was) {
      if (documents.size() == kMostDocuments) break;
      documents.push_back(std::clamp<std::int64_t>(tokens * model_.sequence / was_.sequence, 1,
                                                   model_.sequence - 1));
    }
  }

  /// More than tokens, where they were.
  [[nodiscard]] std::int64_t position_rows() const {
    return model_.sequence + std::min<std::int64_t>(2, was_.position_rows - was_.sequence);
  }

  void shrink_experts(ExpertsConfig& experts) const {
    const ExpertsConfig was = experts;
    set("experts.count", experts.experts, expert_count(was));
    const std::int64_t reachable = experts.experts / groups(was) * group_top_k(was);
    set("experts.top_k", experts.top_k, std::min(top_k(was, experts.experts), reachable));
    set("experts.groups", experts.groups, groups(was));
    set("experts.group_top_k", experts.group_top_k, group_top_k(was));
    set("experts.ffn", experts.ffn, multiple(tp_, model_.hidden / 2, was.ffn));
    set("experts.shared", experts.shared, few(was.shared, 2));
    set("experts.shared_ffn", experts.shared_ffn, multiple(tp_, model_.hidden / 2, was.shared_ffn));
    const bool all_dense = was.dense_layers >= was_.layers;
    if (!all_dense) set("experts.dense_layers", experts.dense_layers, few(was.dense_layers, 1));
    set("experts.every", experts.every, few(was.every, 2));
  }

  /// Groups of experts, of which a token visits some: two of more, unless what was asked for says
  /// how many.
  [[nodiscard]] std::int64_t groups(const ExpertsConfig& was) const {
    const bool all =
        keeps("experts.groups") || keeps("experts.group_top_k") || keeps("experts.count");
    return all ? was.groups : few(was.groups, 2);
  }
  [[nodiscard]] std::int64_t group_top_k(const ExpertsConfig& was) const {
    return groups(was) == was.groups ? was.group_top_k : std::min<std::int64_t>(1, was.group_top_k);
  }

  /// More than visited and more than ranks, where they were, enough for the busiest to have so many
  /// more tokens than the mean, and equally many in groups, of which tokens visit enough.
  [[nodiscard]] std::int64_t expert_count(const ExpertsConfig& was) const {
    const std::int64_t of_groups = groups(was);
    if (was.experts == whole_.ep && of_groups == 1) return small_.ep;
    const std::int64_t visits =
        keeps("experts.top_k") ? was.top_k : std::min(was.top_k, kMostVisits);
    std::int64_t least = std::max<std::int64_t>(2, visits);
    if (was.experts > was.top_k) ++least;
    while (static_cast<double>(least) <
           small_.expert_skew.value_or(1) * static_cast<double>(visits))
      ++least;
    if (of_groups > 1)
      least = std::max(least, of_groups * ceil_div<std::int64_t>(visits, group_top_k(was)));
    if (small_.ep > 1) least = std::max<std::int64_t>(least, 2L * small_.ep);
    const std::int64_t unit = std::lcm<std::int64_t, std::int64_t>(small_.ep, of_groups);
    return unit * ceil_div<std::int64_t>(least, unit);
  }

  [[nodiscard]] static std::int64_t top_k(const ExpertsConfig& was, std::int64_t experts) {
    if (was.top_k == was.experts) return experts;
    return std::max<std::int64_t>(1, std::min({was.top_k, kMostVisits, experts - 1}));
  }

  /// Both kinds, where some layers have experts and some a plain MLP; a part of a pipeline that had
  /// both kinds has both again.
  [[nodiscard]] std::int64_t layers() const {
    std::int64_t least = 2;
    if (model_.experts) {
      const ExpertsConfig& experts = *model_.experts;
      least = std::max({least, experts.dense_layers + 1, experts.every});
      if (experts.every > 1) least = std::max<std::int64_t>(least, 2L * small_.pp * small_.vpp);
    }
    if (const auto& window = model_.window; window && window->first_layer < was_.layers) {
      const bool both = window->first_layer > 0 || window->full_every > 0;
      least = std::max(least, window->first_layer + std::max<std::int64_t>(1, window->full_every));
      if (both) least = std::max<std::int64_t>(least, 2L * small_.pp * small_.vpp);
    }
    return fewer_layers(was_.layers, whole_, small_, std::min(least, was_.layers));
  }

  static constexpr std::int64_t kMostVisits = 4;
  static constexpr std::size_t kMostDocuments = 4;
  TransformerConfig& model_;
  const TransformerConfig& was_;
  const ParallelConfig& whole_;
  const ParallelConfig& small_;
  const ShrinkLimits& limits_;
  int tp_;
  int ulysses_;
  int whole_ulysses_;
};

}  // namespace

void shrink_transformer(TransformerConfig& model, const SizedLayout& whole,
                        const SizedLayout& small, const ShrinkLimits& limits) {
  if (limits.model) Shrinking{model, whole, small, limits}.run();
}

}  // namespace lockstep::shrinking
