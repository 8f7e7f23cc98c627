#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

/// Notes keys whose values differ.
class Changes {
 public:
  void note(const std::string& key, std::int64_t from, std::int64_t to) {
    if (from != to) out_.push_back({key, std::to_string(from), std::to_string(to)});
  }
  template <class T>
  void note(const std::string& key, const std::vector<T>& from, const std::vector<T>& to) {
    if (from != to) out_.push_back({key, list(from), list(to)});
  }
  void note(const std::string& key, Bytes from, Bytes to) {
    if (from != to) {
      out_.push_back({key, fmt::format("{} B", from.count()), fmt::format("{} B", to.count())});
    }
  }
  [[nodiscard]] std::vector<Change> all() { return std::move(out_); }

 private:
  template <class T>
  [[nodiscard]] static std::string list(const std::vector<T>& values) {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
  std::vector<Change> out_{};
};

void note(Changes& out, const ExpertsConfig& from, const ExpertsConfig& to) {
  out.note("model.experts.count", from.experts, to.experts);
  out.note("model.experts.top_k", from.top_k, to.top_k);
  out.note("model.experts.groups", from.groups, to.groups);
  out.note("model.experts.group_top_k", from.group_top_k, to.group_top_k);
  out.note("model.experts.ffn", from.ffn, to.ffn);
  out.note("model.experts.shared", from.shared, to.shared);
  out.note("model.experts.shared_ffn", from.shared_ffn, to.shared_ffn);
  out.note("model.experts.dense_layers", from.dense_layers, to.dense_layers);
  out.note("model.experts.every", from.every, to.every);
}

void note(Changes& out, const LatentAttention& from, const LatentAttention& to) {
  out.note("model.latent.query_rank", from.query_rank, to.query_rank);
  out.note("model.latent.kv_rank", from.kv_rank, to.kv_rank);
  out.note("model.latent.key_size", from.key_size, to.key_size);
  out.note("model.latent.rotary_size", from.rotary_size, to.rotary_size);
  out.note("model.latent.value_size", from.value_size, to.value_size);
}

void note(Changes& out, const AttentionWindow& from, const AttentionWindow& to) {
  out.note("model.window.size", from.size, to.size);
  out.note("model.window.first_layer", from.first_layer, to.first_layer);
  out.note("model.window.full_every", from.full_every, to.full_every);
}

void note_packed(Changes& out, const PackedDocuments& from, const PackedDocuments& to) {
  for (std::size_t i = 0; i < from.lists.size(); ++i)
    out.note(fmt::format("model.documents[{}]", i), from.lists[i], to.lists[i]);
  if (!from.drawn) return;
  out.note("model.documents.shortest", from.drawn->shortest, to.drawn->shortest);
  out.note("model.documents.longest", from.drawn->longest, to.drawn->longest);
  out.note("model.documents.mean", std::llround(from.drawn->mean), std::llround(to.drawn->mean));
}

void note(Changes& out, const TransformerConfig& from, const TransformerConfig& to) {
  out.note("model.layers", from.layers, to.layers);
  out.note("model.hidden", from.hidden, to.hidden);
  out.note("model.heads", from.heads, to.heads);
  if (!from.image && !from.encoder) out.note("model.kv_heads", from.kv_heads, to.kv_heads);
  if (!from.latent && !from.image) out.note("model.head_size", from.head_size, to.head_size);
  out.note("model.ffn", from.ffn, to.ffn);
  if (from.image) {
    out.note("model.image", from.image->side, to.image->side);
    out.note("model.patch", from.image->patch, to.image->patch);
    out.note("model.classes", from.vocabulary, to.vocabulary);
  } else {
    out.note("model.seq", from.sequence, to.sequence);
    out.note("model.vocab", from.vocabulary, to.vocabulary);
  }
  out.note("model.position_rows", from.position_rows, to.position_rows);
  if (from.encoder) {
    out.note("model.encoder_layers", from.encoder->layers, to.encoder->layers);
    out.note("model.encoder_seq", from.encoder->sequence, to.encoder->sequence);
    out.note("model.buckets", from.encoder->buckets, to.encoder->buckets);
  }
  if (from.window) note(out, *from.window, *to.window);
  out.note("model.documents", from.documents, to.documents);
  note_packed(out, from.packed, to.packed);
  if (from.mtp) out.note("model.mtp.layers", from.mtp->layers, to.mtp->layers);
  if (from.experts) note(out, *from.experts, *to.experts);
  if (from.latent) note(out, *from.latent, *to.latent);
}

void note(Changes& out, const MlpConfig& from, const MlpConfig& to) {
  out.note("model.layers", from.layers, to.layers);
  out.note("model.hidden", from.hidden, to.hidden);
  out.note("model.ffn", from.ffn, to.ffn);
}

void note(Changes& out, const ResNetConfig& from, const ResNetConfig& to) {
  out.note("model.stages", from.stages, to.stages);
  out.note("model.width", from.width, to.width);
  out.note("model.image", from.image, to.image);
  out.note("model.classes", from.classes, to.classes);
  out.note("model.frames", from.frames, to.frames);
}

void note(Changes& out, const ParallelConfig& from, const ParallelConfig& to) {
  out.note("parallel.dp", from.dp, to.dp);
  out.note("parallel.tp", from.tp, to.tp);
  out.note("parallel.pp", from.pp, to.pp);
  out.note("parallel.vpp", from.vpp, to.vpp);
  out.note("parallel.stages", from.stages, to.stages);
  out.note("parallel.cp", from.cp, to.cp);
  out.note("parallel.ulysses", from.ulysses, to.ulysses);
  out.note("parallel.ep", from.ep, to.ep);
  out.note("parallel.etp", from.etp, to.etp);
  out.note("parallel.shard_ranks", from.shard_ranks, to.shard_ranks);
  out.note("parallel.servers", from.servers, to.servers);
  out.note("parallel.micro_batch", from.micro_batch, to.micro_batch);
  out.note("parallel.global_batch", from.global_batch, to.global_batch);
  out.note("parallel.average_every", from.average_every, to.average_every);
  out.note("parallel.outer_replicas", from.outer_replicas, to.outer_replicas);
  out.note("parallel.fragments", from.fragments, to.fragments);
  out.note("parallel.bucket", from.bucket, to.bucket);
}

}  // namespace

std::vector<Change> changes_between(const SizedLayout& whole, const SizedLayout& small) {
  Changes out;
  std::visit(
      [&](const auto& from) {
        note(out, from, std::get<std::decay_t<decltype(from)>>(small.model.shape));
      },
      whole.model.shape);
  note(out, whole.parallel, small.parallel);
  return out.all();
}

}  // namespace lockstep::shrinking
