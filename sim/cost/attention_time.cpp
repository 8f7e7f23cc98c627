#include "sim/cost/attention_time.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"

namespace lockstep {

namespace {

using OfHeadSize = AttentionFigures::OfHeadSize;

/// Linearly between the sizes that are known, in proportion below the smallest.
double efficiency(const AttentionFigures& figures, std::int64_t head_size, Share OfHeadSize::*of) {
  const auto& known = figures.head_sizes;
  LOCKSTEP_CHECK(!known.empty());
  const auto above = std::find_if(known.begin(), known.end(), [head_size](const OfHeadSize& row) {
    return row.head_size >= head_size;
  });
  if (above == known.end()) return known.back().*of;
  const auto size = static_cast<double>(head_size);
  const auto high = static_cast<double>(above->head_size);
  if (above == known.begin()) return (*above).*of * size / high;
  const OfHeadSize& below = *(above - 1);
  const auto low = static_cast<double>(below.head_size);
  return below.*of + ((*above).*of - below.*of) * (size - low) / (high - low);
}

/// Queries of a block: of the smallest size that is known and no smaller.
std::int64_t block_of(const AttentionFigures& figures, std::int64_t head_size) {
  const auto& known = figures.head_sizes;
  const auto found = std::find_if(known.begin(), known.end(), [head_size](const OfHeadSize& row) {
    return row.head_size >= head_size;
  });
  const OfHeadSize& row = found == known.end() ? known.back() : *found;
  return row.block > 0 ? row.block : figures.block;
}

/// Of one head: blocks of queries, all of them or those which see some of the keys. A block has
/// queries of one document (flash_attn_varlen_func of FlashAttention: blocks of each sequence of
/// the batch apart).
std::int64_t blocks_of_queries(const Kernel& kernel, std::int64_t block) {
  if (kernel.masked) {
    std::int64_t out = 0;
    for (const std::int64_t queries : kernel.masked->runs) out += ceil_div(queries, block);
    return out;
  }
  const bool whole = kernel.causal && kernel.n == kernel.m;
  return whole ? query_blocks(kernel.visible, kernel.m, block) : ceil_div(kernel.m, block);
}

/// Keys that a query attends to in the mean. Where there are more keys than queries, the queries
/// are the last of them.
double mean_keys(const Kernel& kernel) {
  const auto keys = static_cast<double>(kernel.n);
  const auto queries = static_cast<double>(kernel.m);
  if (kernel.masked) return kernel.masked->pairs / kernel.masked->queries;
  if (!kernel.causal) return keys;
  if (kernel.n == kernel.m && kernel.visible.limits(kernel.m)) {
    return visible_pairs(kernel.visible, kernel.m) / queries;
  }
  if (kernel.n <= kernel.m) return keys / 2;
  if (!kernel.zigzag && !kernel.visible.limits(kernel.n)) return keys - queries / 2;
  const std::int64_t parts = std::llround(keys / queries);
  return most_pairs(kernel.visible, kernel.n, parts, kernel.zigzag) * static_cast<double>(parts) /
         keys;
}

/// Keys that the query with most of them attends to.
double most_keys(const Kernel& kernel) {
  if (kernel.masked) return static_cast<double>(kernel.masked->most_keys);
  const bool limited = kernel.causal && kernel.visible.limits(kernel.n);
  return static_cast<double>(limited ? most_visible(kernel.visible, kernel.n) : kernel.n);
}

}  // namespace

double attention_seconds(const Kernel& kernel, const AttentionFigures& figures, FlopRate peak,
                         std::int64_t multiprocessors) {
  const bool backward = kernel.kind == OperationKind::attention_backward;
  const AttentionFigures::Overhead& overheads = backward ? figures.backward : figures.forward;
  const double overhead = kernel.causal ? overheads.causal : overheads.full;
  const std::int64_t head_size = round_up(kernel.k, figures.head_grain);
  const std::int64_t block = block_of(figures, head_size);
  const std::int64_t rows = blocks_of_queries(kernel, block);
  if (rows == 0) return 0;  // all keys are hidden
  const std::int64_t batches = kernel.masked ? kernel.masked->heads : kernel.batches;
  const double queries = kernel.masked ? kernel.masked->queries : static_cast<double>(kernel.m);
  const auto count = static_cast<double>(batches * rows);
  const double padding = static_cast<double>(head_size) / static_cast<double>(kernel.k) *
                         static_cast<double>(rows * block) / queries;
  const double keys = mean_keys(kernel);
  const double mean = kernel.flops * padding * (1 + overhead / keys) / count;
  const double longest = mean * (most_keys(kernel) + overhead) / (keys + overhead);
  const std::int64_t places = multiprocessors * figures.resident;
  const auto processors = static_cast<double>(places);
  // Blocks of documents that differ are unequal, as those of a triangle are.
  const bool unequal = kernel.causal || (kernel.masked && most_keys(kernel) > keys);
  const double busiest = unequal ? std::max(mean * count / processors, longest)
                                 : mean * static_cast<double>(ceil_div(batches * rows, places));
  const Share share =
      efficiency(figures, head_size, backward ? &OfHeadSize::backward : &OfHeadSize::forward);
  return busiest / (peak.per_second() / processors * share);
}

}  // namespace lockstep
