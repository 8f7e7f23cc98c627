#include "sim/program/visible_keys.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"

namespace lockstep {

namespace {

/// Calls each(begin, tokens) for the documents of the first `queries` tokens; the last may be cut.
template <class Each>
void for_each_document(const VisibleKeys& visible, std::int64_t queries, Each&& each) {
  if (visible.documents.empty()) return each(std::int64_t{0}, queries);
  std::int64_t begin = 0;
  for (std::size_t i = 0; begin < queries; i = (i + 1) % visible.documents.size()) {
    const std::int64_t tokens = std::min(visible.documents[i], queries - begin);
    each(begin, tokens);
    begin += tokens;
  }
}

/// Pairs of n tokens that see each other up to their own.
double triangle(std::int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n + 1) / 2;
}

}  // namespace

double pairs_in_document(const VisibleKeys& visible, std::int64_t begin, std::int64_t tokens) {
  const std::int64_t window = visible.window;
  if (window == 0) return triangle(tokens);
  if (!visible.chunked) {
    if (tokens <= window) return triangle(tokens);
    return triangle(window) + static_cast<double>(tokens - window) * static_cast<double>(window);
  }
  // Chunks count from the begin of the sequence: the first of a document may be a part of one.
  const std::int64_t first = std::min(tokens, window - begin % window);
  const std::int64_t rest = tokens - first;
  return triangle(first) + static_cast<double>(rest / window) * triangle(window) +
         triangle(rest % window);
}

std::int64_t VisibleKeys::document_begin(std::int64_t token) const {
  if (documents.empty()) return 0;
  const std::int64_t all = std::accumulate(documents.begin(), documents.end(), std::int64_t{0});
  LOCKSTEP_CHECK(all > 0);
  std::int64_t begin = token / all * all;
  for (const std::int64_t tokens : documents) {
    if (token < begin + tokens) break;
    begin += tokens;
  }
  return begin;
}

VisibleKeys VisibleKeys::of_sequence(std::int64_t index, std::int64_t tokens) const {
  VisibleKeys out{.window = window, .chunked = chunked, .documents = documents};
  if (packed.any()) out.documents = packed.of_sequence(index, tokens);
  return out;
}

double limited_pairs(const VisibleKeys& visible, std::int64_t queries) {
  double out = 0;
  for_each_document(visible, queries, [&](std::int64_t begin, std::int64_t tokens) {
    out += pairs_in_document(visible, begin, tokens);
  });
  return out;
}

double most_pairs(const VisibleKeys& visible, std::int64_t sequence, std::int64_t parts,
                  bool zigzag) {
  const auto keys = static_cast<double>(sequence);
  const double queries = keys / static_cast<double>(parts);
  if (!visible.limits(sequence)) return queries * (zigzag ? keys / 2 : keys - queries / 2);
  const std::int64_t runs = zigzag ? 2 * parts : parts;
  const auto run = [&](std::int64_t i) {
    return limited_pairs(visible, sequence * (i + 1) / runs) -
           limited_pairs(visible, sequence * i / runs);
  };
  double most = 0;
  for (std::int64_t part = 0; part < parts; ++part)
    most = std::max(most, run(part) + (zigzag ? run(runs - 1 - part) : 0));
  return most;
}

double visible_pairs(const VisibleKeys& visible, std::int64_t sequence) {
  const auto s = static_cast<double>(sequence);
  const double half = s * s / 2;
  if (!visible.limits(sequence)) return half;
  return std::min(half, limited_pairs(visible, sequence));
}

double mean_pairs(const VisibleKeys& visible, std::int64_t sequence, std::int64_t count) {
  if (!visible.packed.any()) return visible_pairs(visible, sequence);
  LOCKSTEP_CHECK(count > 0);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += visible_pairs(visible.of_sequence(i, sequence), sequence);
  return sum / static_cast<double>(count);
}

std::int64_t most_visible(const VisibleKeys& visible, std::int64_t sequence) {
  std::int64_t out = 0;
  for_each_document(visible, sequence, [&](std::int64_t /*begin*/, std::int64_t tokens) {
    out = std::max(out, tokens);
  });
  return visible.window > 0 ? std::min(out, visible.window) : out;
}

std::int64_t query_blocks(const VisibleKeys& visible, std::int64_t queries, std::int64_t block) {
  std::int64_t out = 0;
  for_each_document(visible, queries, [&](std::int64_t /*begin*/, std::int64_t tokens) {
    out += ceil_div(tokens, block);
  });
  return out;
}

}  // namespace lockstep
