#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/execute/cuda/program/lowering_parts.hpp"
#include "sim/execute/host/kernels/execution_error.hpp"

namespace lockstep::lowering {

namespace {

/// Rows [b, s, heads, width] of queries, keys or values beside scores [b, a, s, t].
struct Rows {
  Rows(const KernelSettings& call, const PartLayout& rows, const PartLayout& scores)
      : width{rows.axes[3].length()} {
    const bool keys = rows.axes[2].dim == Dim::kv_heads;
    const std::int64_t by_token = rows.axes[2].length() * width;
    for (const std::int64_t token : scores.axes[keys ? 3 : 2].at) {
      tokens.push_back(place(call, rows.axes[1], token) * by_token);
    }
    Table heads;
    for (const std::int64_t head : scores.axes[1].at) {
      const std::int64_t own = head * rows.axes[2].size / scores.axes[1].size;
      heads.push_back(place(call, rows.axes[2], own) * width);
    }
    for (std::int64_t b = 0; b < scores.axes[0].length(); ++b) {
      for (const std::int64_t head : heads) {
        batches.push_back(b * rows.axes[1].length() * by_token + head);
      }
    }
    for (std::int64_t i = 0; i < width; ++i) numbers.push_back(i);
    elements = rows.elements();
  }

  [[nodiscard]] static std::int64_t place(const KernelSettings& call, const PartAxis& axis,
                                          std::int64_t global) {
    const auto found = std::find(axis.at.begin(), axis.at.end(), global);
    if (found != axis.at.end()) return found - axis.at.begin();
    throw ExecutionError{fmt::format("{}: needs {} {}, which is not there", call.operation->name,
                                     to_string(axis.dim), global)};
  }

  std::int64_t width;
  std::int64_t elements = 0;
  Table tokens{};   // where each token's rows begin
  Table numbers{};  // of a head
  Table batches{};  // where each sequence and head begins
};

/// Scores by query and key.
struct Scores {
  explicit Scores(const PartLayout& layout) {
    const std::int64_t width = layout.axes[3].length();
    const std::int64_t matrix = layout.axes[2].length() * width;
    for (std::int64_t s = 0; s < layout.axes[2].length(); ++s) queries.push_back(s * width);
    for (std::int64_t t = 0; t < width; ++t) keys.push_back(t);
    const std::int64_t batches_there = layout.axes[0].length() * layout.axes[1].length();
    for (std::int64_t i = 0; i < batches_there; ++i) batches.push_back(i * matrix);
  }
  Table queries{};
  Table keys{};
  Table batches{};
};

[[nodiscard]] Table picked(const Table& from, const std::vector<std::size_t>& which) {
  Table out;
  for (const std::size_t i : which) out.push_back(from[i]);
  return out;
}

/// A product whose results several heads share is done head by head of those that share. Nothing
/// where some of the result belongs to nobody.
[[nodiscard]] Kernels product_by_heads(const ProductPlaces& a, const ProductPlaces& b,
                                       const ProductPlaces& y, std::int64_t elements, bool adds) {
  std::map<std::int64_t, std::size_t> seen;
  std::vector<std::vector<std::size_t>> rounds;
  for (std::size_t i = 0; i < y.batches.size(); ++i) {
    const std::size_t round = seen[y.batches[i]]++;
    if (rounds.size() <= round) rounds.emplace_back();
    rounds[round].push_back(i);
  }
  const auto matrix = static_cast<std::int64_t>(y.rows.size() * y.columns.size());
  if (static_cast<std::int64_t>(seen.size()) * matrix != elements) return {};
  Kernels out;
  for (const std::vector<std::size_t>& round : rounds) {
    out.push_back(product_of({a.rows, a.columns, picked(a.batches, round)},
                             {b.rows, b.columns, picked(b.batches, round)},
                             {y.rows, y.columns, picked(y.batches, round)}));
    out.back().launch.adds = adds || out.size() > 1;
  }
  return out;
}

/// What has been written, times a factor.
[[nodiscard]] LoweredKernel scaled(std::size_t result, std::int64_t count, double factor) {
  LoweredKernel out{launch_of(KernelFunction::move, count), {written(result)}, {written(result)}};
  out.launch.numbers = {factor};
  return out;
}

[[nodiscard]] double factor_of(const PartLayout& q) {
  return 1 / std::sqrt(static_cast<double>(q.axes[3].size));
}

void use(Kernels& kernels, std::size_t first, LoweredOperand a, LoweredOperand b,
         LoweredOperand y) {
  for (std::size_t i = first; i < kernels.size(); ++i) {
    kernels[i].reads = {a, b};
    kernels[i].writes = {y};
  }
}

void append(Kernels& to, Kernels more) {
  for (LoweredKernel& each : more) to.push_back(std::move(each));
}

}  // namespace

Kernels attention_scores(const KernelSettings& call, const PartLayout& q, const PartLayout& k,
                         const PartLayout& scores) {
  const Rows of_q{call, q, scores};
  const Rows of_k{call, k, scores};
  const Scores at{scores};
  Kernels out{product_of({of_q.tokens, of_q.numbers, of_q.batches},
                         {of_k.numbers, of_k.tokens, of_k.batches},
                         {at.queries, at.keys, at.batches})};
  use(out, 0, read(0), read(1), written(0));
  out.push_back(scaled(0, scores.elements(), factor_of(q)));
  return out;
}

/// [q, k, g_scores] -> [g_q, g_k]
Kernels attention_scores_backward(const KernelSettings& call, const PartLayout& q,
                                  const PartLayout& k, const PartLayout& scores) {
  const Rows of_q{call, q, scores};
  const Rows of_k{call, k, scores};
  const Scores at{scores};
  Kernels out =
      product_by_heads({at.queries, at.keys, at.batches}, {of_k.tokens, of_k.numbers, of_k.batches},
                       {of_q.tokens, of_q.numbers, of_q.batches}, of_q.elements, false);
  use(out, 0, read(2), read(1), written(0));
  const std::size_t first = out.size();
  Kernels keys =
      product_by_heads({at.keys, at.queries, at.batches}, {of_q.tokens, of_q.numbers, of_q.batches},
                       {of_k.tokens, of_k.numbers, of_k.batches}, of_k.elements, false);
  if (out.empty() || keys.empty()) return {};
  append(out, std::move(keys));
  use(out, first, read(2), read(0), written(1));
  out.push_back(scaled(0, of_q.elements, factor_of(q)));
  out.push_back(scaled(1, of_k.elements, factor_of(q)));
  return out;
}

/// [probabilities, v] -> [o]
Kernels attention_context(const KernelSettings& call, const PartLayout& p, const PartLayout& v,
                          const PartLayout& o) {
  const Rows of_v{call, v, p};
  const Rows of_o{call, o, p};
  const Scores at{p};
  Kernels out =
      product_by_heads({at.queries, at.keys, at.batches}, {of_v.tokens, of_v.numbers, of_v.batches},
                       {of_o.tokens, of_o.numbers, of_o.batches}, of_o.elements, false);
  use(out, 0, read(0), read(1), written(0));
  return out;
}

/// [probabilities, v, g_o] -> [g_probabilities, g_v]
Kernels attention_context_backward(const KernelSettings& call, const PartLayout& p,
                                   const PartLayout& v, const PartLayout& o) {
  const Rows of_v{call, v, p};
  const Rows of_o{call, o, p};
  const Scores at{p};
  Kernels out{product_of({of_o.tokens, of_o.numbers, of_o.batches},
                         {of_v.numbers, of_v.tokens, of_v.batches},
                         {at.queries, at.keys, at.batches})};
  use(out, 0, read(2), read(1), written(0));
  Kernels values =
      product_by_heads({at.keys, at.queries, at.batches}, {of_o.tokens, of_o.numbers, of_o.batches},
                       {of_v.tokens, of_v.numbers, of_v.batches}, of_v.elements, false);
  if (values.empty()) return {};
  append(out, std::move(values));
  use(out, 1, read(0), read(2), written(1));
  return out;
}

Kernels softmax(const KernelSettings& call, const PartLayout& scores) {
  const PartAxis& keys = scores.axes.back();
  const PartAxis* queries = scores.find(Dim::sequence);
  LoweredKernel out{launch_of(KernelFunction::softmax, rows_of(scores)), {read(0)}, {written(0)}};
  out.launch.sizes = {keys.length(), queries == nullptr ? 1 : queries->length(),
                      call.operation->causal ? 1 : 0};
  out.launch.tables = {queries == nullptr ? nullptr : table_of(queries->at), table_of(keys.at)};
  return {out};
}

Kernels softmax_backward(const PartLayout& scores) {
  LoweredKernel out{launch_of(KernelFunction::softmax_gradient, rows_of(scores)),
                    {read(0), read(1)},
                    {written(0)}};
  out.launch.sizes = {scores.axes.back().length()};
  return {out};
}

}  // namespace lockstep::lowering
