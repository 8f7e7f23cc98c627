#include <numeric>

#include "strategies/sharding/device_mesh.hpp"
#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

void append(LayoutTraits& form, const LayoutTraits& more) {
  form.must.insert(form.must.end(), more.must.begin(), more.must.end());
  form.should.insert(form.should.end(), more.should.begin(), more.should.end());
}

/// Whether a is less than, equal to or more than b.
void compare(std::vector<bool>& form, std::int64_t a, std::int64_t b) {
  form.push_back(a < b);
  form.push_back(a > b);
}

/// Groups of ranks that lie inside, across or on one another.
[[nodiscard]] LayoutTraits group_traits(const ParallelConfig& layout) {
  LayoutTraits out;
  const int together = layout.dp * layout.cp / layout.outer_degree();
  const int shards = layout.shard_ranks > 0 ? layout.shard_ranks : together;
  for (const int group : {layout.ep, shards}) {
    compare(out.should, group, layout.dp);
    compare(out.should, group, layout.cp);
  }
  compare(out.should, layout.ep, shards);
  compare(out.must, layout.expert_tp(), layout.tp);
  out.should.push_back(layout.pp > 2);  // stages that are neither the first nor the last
  return out;
}

[[nodiscard]] LayoutTraits expert_traits(const ExpertsConfig& experts, int ep) {
  LayoutTraits out;
  out.must = {experts.top_k > 1, experts.experts > experts.top_k, experts.experts > ep,
              experts.shared > 0, experts.shared > 1};
  return out;
}

[[nodiscard]] int mismatches(const std::vector<bool>& a, const std::vector<bool>& b) {
  int out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out += a[i] == b[i] ? 0 : 1;
  return out;
}

}  // namespace

LayoutTraits head_traits(std::int64_t heads, std::int64_t kv_heads, std::int64_t tp,
                         std::int64_t ulysses) {
  const std::int64_t tp_cut = std::gcd(tp, kv_heads);
  const std::int64_t ulysses_cut = std::gcd(ulysses, kv_heads / tp_cut);
  LayoutTraits out;
  out.must = {kv_heads == 1, kv_heads == heads, kv_heads < tp * ulysses};
  out.should = {
      heads > tp * ulysses, kv_heads > tp * ulysses, tp_cut > 1, tp > tp_cut,
      ulysses_cut > 1,      ulysses > ulysses_cut,   heads > 1,  heads / kv_heads > tp / tp_cut};
  return out;
}

LayoutTraits traits_of(const SizedLayout& layout) {
  LayoutTraits out = group_traits(layout.parallel);
  append(out, algorithm_traits(layout.parallel));
  const TransformerConfig* model = layout.model.transformer();
  if (model == nullptr) return out;
  append(out, head_traits(model->heads, model->kv_heads, layout.parallel.tp,
                          ulysses_degree(layout.parallel, layout.gpus_per_node)));
  if (model->experts) append(out, expert_traits(*model->experts, layout.parallel.ep));
  return out;
}

int distance(const LayoutTraits& a, const LayoutTraits& b) {
  return 100 * mismatches(a.must, b.must) + 2 * mismatches(a.should, b.should);
}

}  // namespace lockstep::shrinking
