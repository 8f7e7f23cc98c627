#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

/// Columns of scores whose keys a rank has: all of them, but for a part of a ring.
[[nodiscard]] Table columns_of(const PartLayout& keys, const PartLayout& scores) {
  const std::vector<std::int64_t>& there = keys.axes[1].at;
  Table out;
  for (std::size_t i = 0; i < scores.axes[3].at.size(); ++i)
    if (std::find(there.begin(), there.end(), scores.axes[3].at[i]) != there.end())
      out.push_back(static_cast<std::int64_t>(i));
  return out;
}

/// Rows [b, s, heads, width] of queries, keys or values next to scores [b, a, s, t].
struct Rows {
  Rows(const KernelSettings& call, const PartLayout& rows, const PartLayout& scores)
      : width{rows.axes[3].length()} {
    if (rows.axes[0].at != scores.axes[0].at) {
      kernels::refuse(call, "scores of other sequences");
    }
    const bool keys = rows.axes[2].dim == Dim::kv_heads;
    const std::int64_t by_token = rows.axes[2].length() * width;
    if (keys) {
      for (const std::int64_t column : columns_of(rows, scores)) {
        const std::int64_t token = scores.axes[3].at[static_cast<std::size_t>(column)];
        tokens.push_back(place(call, rows.axes[1], token) * by_token);
      }
    } else {
      for (const std::int64_t token : scores.axes[2].at)
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
  }

  /// A matrix of tokens by numbers of a head, or the other way round.
  [[nodiscard]] GemmPlaces by_token() const { return {tokens, numbers, batches}; }
  [[nodiscard]] GemmPlaces by_number() const { return {numbers, tokens, batches}; }

  [[nodiscard]] static std::int64_t place(const KernelSettings& call, const PartAxis& axis,
                                          std::int64_t global) {
    const auto found = std::find(axis.at.begin(), axis.at.end(), global);
    if (found != axis.at.end()) return found - axis.at.begin();
    kernels::refuse(call,
                    fmt::format("needs {} {}, which is not there", to_string(axis.dim), global));
  }

  std::int64_t width;
  Table tokens{};   // where each token's rows begin
  Table numbers{};  // of a head
  Table batches{};  // where each sequence and head begins
};

/// Scores by query and key, of the keys that are there.
struct Scores {
  Scores(const PartLayout& layout, const PartLayout& of_keys) : keys{columns_of(of_keys, layout)} {
    const std::int64_t width = layout.axes[3].length();
    const std::int64_t matrix = layout.axes[2].length() * width;
    const std::int64_t first = keys.empty() ? 0 : keys.front();  // GEMMs count from it
    for (std::int64_t& key : keys) key -= first;
    for (std::int64_t s = 0; s < layout.axes[2].length(); ++s) queries.push_back(s * width);
    const std::int64_t batches_there = layout.axes[0].length() * layout.axes[1].length();
    for (std::int64_t i = 0; i < batches_there; ++i) batches.push_back(i * matrix + first);
  }

  [[nodiscard]] GemmPlaces by_query() const { return {queries, keys, batches}; }
  [[nodiscard]] GemmPlaces by_key() const { return {keys, queries, batches}; }
  Table queries{};
  Table keys;
  Table batches{};
};

/// A GEMM of results for the keys that are there; other parts of a ring add those of others.
void gemm_to_scores(Lowering& to, const GemmOperand& a, const GemmOperand& b, Operand scores,
                    const Scores& at, double factor = 1) {
  const bool part = static_cast<std::int64_t>(at.keys.size()) < to.to(scores).axes[3].length();
  if (part) to.clear(scores);
  KernelLaunch& launch = gemm(to, a, b, {to.written(scores), at.by_query()}, factor);
  if (part) launch.adds = 1;
}

[[nodiscard]] Table picked(const Table& from, const std::vector<std::size_t>& which) {
  Table out;
  for (const std::size_t i : which) out.push_back(from[i]);
  return out;
}

/// Batches whose results are all different: several heads may share one, and then take turns.
[[nodiscard]] std::vector<std::vector<std::size_t>> turns_of(const Table& results) {
  std::map<std::int64_t, std::size_t> seen;
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::size_t turn = seen[results[i]]++;
    if (out.size() <= turn) out.emplace_back();
    out[turn].push_back(i);
  }
  return out;
}

/// A GEMM whose results several heads may share; what belongs to no head is zero.
void gemm_by_heads(Lowering& to, const GemmOperand& a, const GemmOperand& b, const GemmOperand& y,
                   double factor = 1) {
  const auto turns = turns_of(y.at.batches);
  const auto matrix = static_cast<std::int64_t>(y.at.rows.size() * y.at.columns.size());
  const auto reached = turns.empty() ? 0 : static_cast<std::int64_t>(turns[0].size()) * matrix;
  const bool is_whole = reached == to.writes[y.of.index]->elements();
  if (!is_whole) to.clear(y.of);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const auto of_turn = [&](const GemmOperand& of) {
      return GemmOperand{of.of, {of.at.rows, of.at.columns, picked(of.at.batches, turns[i])}};
    };
    KernelLaunch& launch = gemm(to, of_turn(a), of_turn(b), of_turn(y), factor);
    if (i > 0 || !is_whole) launch.adds = 1;
  }
}

[[nodiscard]] double factor_of(const PartLayout& q) {
  return 1 / std::sqrt(static_cast<double>(q.axes[3].size));
}

void attention_scores(Lowering& to) {
  const Rows q{to.call, to.in(Operand::q), to.to(Operand::scores)};
  const Rows k{to.call, to.in(Operand::k), to.to(Operand::scores)};
  gemm_to_scores(to, {to.read(Operand::q), q.by_token()}, {to.read(Operand::k), k.by_number()},
                 Operand::scores, {to.to(Operand::scores), to.in(Operand::k)},
                 factor_of(to.in(Operand::q)));
}

void attention_scores_backward(Lowering& to) {
  const Rows q{to.call, to.in(Operand::q), to.in(gradient_of(Operand::scores))};
  const Rows k{to.call, to.in(Operand::k), to.in(gradient_of(Operand::scores))};
  const Scores scores{to.in(gradient_of(Operand::scores)), to.in(Operand::k)};
  const double factor = factor_of(to.in(Operand::q));
  gemm_by_heads(to, {to.read(gradient_of(Operand::scores)), scores.by_query()},
                {to.read(Operand::k), k.by_token()},
                {to.written(gradient_of(Operand::q)), q.by_token()}, factor);
  gemm_by_heads(to, {to.read(gradient_of(Operand::scores)), scores.by_key()},
                {to.read(Operand::q), q.by_token()},
                {to.written(gradient_of(Operand::k)), k.by_token()}, factor);
}

void attention_context(Lowering& to) {
  const Rows v{to.call, to.in(Operand::v), to.in(Operand::probabilities)};
  const Rows o{to.call, to.to(Operand::o), to.in(Operand::probabilities)};
  const Scores scores{to.in(Operand::probabilities), to.in(Operand::v)};
  gemm_by_heads(to, {to.read(Operand::probabilities), scores.by_query()},
                {to.read(Operand::v), v.by_token()}, {to.written(Operand::o), o.by_token()});
}

void attention_context_backward(Lowering& to) {
  const Rows v{to.call, to.in(Operand::v), to.in(Operand::probabilities)};
  const Rows o{to.call, to.in(gradient_of(Operand::o)), to.in(Operand::probabilities)};
  const Scores scores{to.in(Operand::probabilities), to.in(Operand::v)};
  gemm_to_scores(to, {to.read(gradient_of(Operand::o)), o.by_token()},
                 {to.read(Operand::v), v.by_number()}, gradient_of(Operand::probabilities), scores);
  gemm_by_heads(to, {to.read(Operand::probabilities), scores.by_key()},
                {to.read(gradient_of(Operand::o)), o.by_token()},
                {to.written(gradient_of(Operand::v)), v.by_token()});
}

/// At least 1: scores without rows have no sample either.
[[nodiscard]] std::int64_t rows_of_sample(const PartLayout& scores) {
  const PartAxis* samples = scores.find(Dim::batch);
  const std::int64_t count = samples == nullptr ? 1 : samples->length();
  return std::max<std::int64_t>(1, rows_of(scores) / std::max<std::int64_t>(1, count));
}

void softmax(Lowering& to) {
  const PartLayout& scores = to.to(Operand::probabilities);
  const PartAxis& keys = scores.axes.back();
  const PartAxis* queries = scores.find(Dim::sequence);
  KernelLaunch& launch = to.each(F::softmax);
  launch.count = rows_of(scores);
  launch.sizes = {keys.length(), queries == nullptr ? 1 : queries->length(),
                  to.operation().causal ? 1 : 0, window_of(to.operation()), rows_of_sample(scores)};
  launch.tables = {queries == nullptr ? nullptr : table_of(queries->at), table_of(keys.at),
                   queries == nullptr ? nullptr : document_begins(to.call, scores)};
}

void softmax_backward(Lowering& to) {
  KernelLaunch& launch = to.each(F::softmax_gradient);
  launch.count = rows_of(to.in(Operand::probabilities));
  launch.sizes = {width_of(to.in(Operand::probabilities))};
}

/// The bucket of a key's distance from a query (Raffel et al. 2020, arXiv 1910.10683, section 2.1,
/// as `_relative_position_bucket` of T5 in mesh-tensorflow and transformers): of each direction,
/// half of the buckets; with causal attention all of them of earlier keys. Half of those are a
/// distance each, the others logarithmic, up to 128.
[[nodiscard]] std::int64_t bucket_of(std::int64_t distance, std::int64_t buckets, bool causal) {
  constexpr double kMostDistance = 128;
  const std::int64_t count = causal ? buckets : buckets / 2;
  const std::int64_t first = !causal && distance > 0 ? count : 0;
  const std::int64_t apart = causal ? std::max<std::int64_t>(0, -distance) : std::abs(distance);
  const std::int64_t exact = count / 2;
  if (apart < exact) return first + apart;
  const double beyond = std::log(static_cast<double>(apart) / static_cast<double>(exact)) /
                        std::log(kMostDistance / static_cast<double>(exact));
  const auto far = static_cast<std::int64_t>(beyond * static_cast<double>(count - exact));
  return first + std::min(count - 1, exact + far);
}

/// Scores [b, a, s, t] next to a table [buckets, a], or with more heads.
struct Distances {
  Distances(const Lowering& to, const PartLayout& by_key, const PartLayout& of_table)
      : scores{by_key}, table{of_table}, causal{to.operation().causal} {
    const std::vector<std::int64_t>& there = table.axes[1].at;
    for (const std::int64_t head : scores.axes[1].at) {
      const auto found = std::find(there.begin(), there.end(), head);
      if (found == there.end()) kernels::refuse(to.call, "a table of other heads");
      columns.push_back(found - there.begin());
    }
  }

  /// Of a bucket and of a head of the scores.
  [[nodiscard]] std::int64_t place(std::int64_t bucket, std::int64_t head) const {
    return bucket * table.axes[1].length() + columns[static_cast<std::size_t>(head)];
  }

  /// Of the q-th query and the k-th key here.
  [[nodiscard]] std::int64_t bucket(std::size_t q, std::size_t k) const {
    return bucket_of(scores.axes[3].at[k] - scores.axes[2].at[q], table.axes[0].size, causal);
  }

  const PartLayout& scores;
  const PartLayout& table;
  bool causal;
  std::vector<std::int64_t> columns;  // of the table, by head of the scores
};

void relative_bias(Lowering& to) {
  const Distances of{to, to.to(Operand::y), to.in(Operand::table)};
  const std::int64_t heads = of.scores.axes[1].length();
  Table places;
  for (std::int64_t i = 0; i < of.scores.axes[0].length() * heads; ++i) {
    for (std::size_t q = 0; q < of.scores.axes[2].at.size(); ++q) {
      for (std::size_t k = 0; k < of.scores.axes[3].at.size(); ++k)
        places.push_back(of.place(of.bucket(q, k), i % heads));
    }
  }
  const std::int64_t count = to.to(Operand::y).elements();
  to.add(F::move, count, {to.read(Operand::scores)}, {to.written(Operand::y)}).numbers = {1};
  to.out.kernels.back().launch.tables = {nullptr, nullptr};
  KernelLaunch& launch =
      to.add(F::move, count, {to.read(Operand::table)}, {to.written(Operand::y)});
  launch.numbers = {1};
  launch.tables = {nullptr, std::make_shared<const Table>(std::move(places))};
  launch.adds = 1;
}

/// Bucket by bucket: the sum of all scores of its distances.
void relative_bias_backward(Lowering& to) {
  constexpr Operand kTable = gradient_of(Operand::table);
  const Distances of{to, to.in(gradient_of(Operand::y)), to.to(kTable)};
  to.clear(kTable);
  const std::int64_t heads = of.scores.axes[1].length();
  const auto keys = static_cast<std::int64_t>(of.scores.axes[3].at.size());
  const auto matrix = static_cast<std::int64_t>(of.scores.axes[2].at.size()) * keys;
  std::map<std::int64_t, Table> pairs;
  for (std::size_t q = 0; q < of.scores.axes[2].at.size(); ++q) {
    for (std::size_t k = 0; k < of.scores.axes[3].at.size(); ++k)
      pairs[of.bucket(q, k)].push_back(static_cast<std::int64_t>(q) * keys +
                                       static_cast<std::int64_t>(k));
  }
  Table columns;
  for (std::int64_t head = 0; head < heads; ++head) columns.push_back(head * matrix);
  for (const auto& [bucket, places] : pairs) {
    Table rows;
    for (std::int64_t b = 0; b < of.scores.axes[0].length(); ++b) {
      for (const std::int64_t place : places) rows.push_back(b * heads * matrix + place);
    }
    const PartSums sums = part_sums(to, F::sum_columns, static_cast<std::int64_t>(rows.size()),
                                    heads, 1, {to.read(gradient_of(Operand::y))});
    to.out.kernels.back().launch.tables = {table_of(Table{columns}), table_of(std::move(rows))};
    const LoweredOperand sum = to.scratch(heads);
    add_parts(to, sums, {sum});
    Table rows_of_table;
    for (std::int64_t head = 0; head < heads; ++head)
      rows_of_table.push_back(of.place(bucket, head));
    KernelLaunch& launch = to.add(F::move, heads, {sum}, {to.written(kTable)});
    launch.numbers = {1};
    launch.tables = {table_of(std::move(rows_of_table)), nullptr};
    launch.adds = 1;
  }
}

}  // namespace

std::span<const KindLowering> unfused_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::attention_scores, attention_scores},
      KindLowering{OperationKind::attention_scores_backward, attention_scores_backward},
      KindLowering{OperationKind::relative_bias, relative_bias},
      KindLowering{OperationKind::relative_bias_backward, relative_bias_backward},
      KindLowering{OperationKind::softmax, softmax},
      KindLowering{OperationKind::softmax_backward, softmax_backward},
      KindLowering{OperationKind::attention_context, attention_context},
      KindLowering{OperationKind::attention_context_backward, attention_context_backward},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
