#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/attention_places.hpp"

/// Gradients of fused attention, tile by tile (Dao et al., arXiv 2205.14135, algorithm 4); see
/// functions.hpp.
namespace lockstep::kernels {

/// Scratch elements per team, for the gradients of queries and of keys.
[[nodiscard]] LOCKSTEP_BOTH constexpr std::int64_t query_gradient_scratch(
    std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t value_width) {
  return queries * (2 * tile_step(width) + tile_step(value_width) + tile_step(keys) + 2) +
         keys * (tile_step(width) + tile_step(value_width));
}
[[nodiscard]] LOCKSTEP_BOTH constexpr std::int64_t key_gradient_scratch(std::int64_t queries,
                                                                        std::int64_t keys,
                                                                        std::int64_t width,
                                                                        std::int64_t value_width) {
  return queries * (tile_step(width) + tile_step(value_width) + 2 * tile_step(keys) + 2) +
         2 * keys * (tile_step(width) + tile_step(value_width));
}

/// Steps on a block of queries and a block of keys that both gradients share.
template <class Real, class Args>
struct AttentionGradient {
  const Args& a;
  AttentionPlaces<Real, Args> at;
  Tile<Real> q{};   // queries
  Tile<Real> g{};   // gradients of what comes out
  Tile<Real> k{};   // keys
  Tile<Real> v{};   // values
  Tile<Real> s{};   // gradients of scores
  Real* mean{};     // per query: of the gradients of its probabilities
  Real* weights{};  // per query: the logarithm of the sum of its weights

  LOCKSTEP_BOTH explicit AttentionGradient(const Args& arguments) : a{arguments}, at{arguments} {}

  template <class Team>
  LOCKSTEP_BOTH void bring_queries(Team& team, std::int64_t b, std::int64_t head,
                                   std::int64_t first, int count) const {
    const auto row = [&](int i) { return at.query_row(b, first + i, head); };
    bring(team, q, a.in[0], count, at.width(), [&](int i) { return row(i) * at.width(); });
    bring(team, g, a.in[5], count, at.value_width(),
          [&](int i) { return row(i) * at.value_width(); });
    for (int i = static_cast<int>(team.lane()); i < count; i += static_cast<int>(team.lanes())) {
      mean[i] = 0;
      for (int x = 0; x < at.value_width(); ++x) {
        const std::int64_t place = row(i) * at.value_width() + x;
        mean[i] += load<Real>(a.in[3], place) * load<Real>(a.in[5], place);
      }
      weights[i] = load<Real>(a.in[4], at.statistic(b, first + i, head));
    }
  }
  template <class Team>
  LOCKSTEP_BOTH void bring_keys(Team& team, std::int64_t b, std::int64_t group, std::int64_t first,
                                int count) const {
    const auto row = [&](int j) { return at.key_row(b, first + j, group); };
    bring(team, k, a.in[1], count, at.width(), [&](int j) { return row(j) * at.width(); });
    bring(team, v, a.in[2], count, at.value_width(),
          [&](int j) { return row(j) * at.value_width(); });
  }
  /// Computes gradients of scores; calls keep(i, j, probability after dropout).
  template <class Team, class Keep>
  LOCKSTEP_BOTH void of_scores(Team& team, std::int64_t b, std::int64_t head, std::int64_t query,
                               int queries, std::int64_t key, int keys, const Keep& keep) const {
    multiply<Real>(
        team, queries, keys, at.width(), [&](int i, int x) { return q.at(i, x); },
        [&](int x, int j) { return k.at(j, x); },
        [&](int i, int j, Real score) {
          const bool sees = at.sees(b, query + i, key + j);
          s.at(i, j) = sees ? std::exp(score * at.factor() - weights[i]) : Real{0};
        });
    multiply<Real>(  // each lane those that it has just done
        team, queries, keys, at.value_width(), [&](int i, int x) { return g.at(i, x); },
        [&](int x, int j) { return v.at(j, x); },
        [&](int i, int j, Real along) {
          const Real p = s.at(i, j);
          const Real kept = p == 0 ? Real{0} : at.kept(b, query + i, head, key + j);
          keep(i, j, p * kept);
          s.at(i, j) = p * (along * kept - mean[i]) * at.factor();
        });
  }
};

/// [q, k, v, o, statistics, g_o] -> [g_q], a team per block of queries of a head; as
/// AttentionPlaces
template <class Real, class Args = Arguments>
struct AttentionQueryGradient {
  Args a;

  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t index, Team& team) const {
    AttentionGradient<Real, Args> of{a};
    const AttentionPlaces<Real, Args>& at = of.at;
    const AttentionRows rows = AttentionRows::of_queries(at, index);
    const std::int64_t group = a.at(2, rows.head);
    Scratch<Real> room{team.scratch()};
    of.q = room.tile(at.query_block(), at.width());
    of.g = room.tile(at.query_block(), at.value_width());
    of.k = room.tile(at.key_block(), at.width());
    of.v = room.tile(at.key_block(), at.value_width());
    of.s = room.tile(at.query_block(), at.key_block());
    const Tile<Real> sums = room.tile(at.query_block(), at.width());
    of.mean = room.numbers(at.query_block());
    of.weights = room.numbers(at.query_block());
    of.bring_queries(team, rows.b, rows.head, rows.first, rows.count);
    const int count = rows.count * at.width();
    for (int i = static_cast<int>(team.lane()); i < count; i += static_cast<int>(team.lanes())) {
      sums.at(i / at.width(), i % at.width()) = 0;
    }
    for (std::int64_t t = 0; t < at.keys(); t += at.key_block()) {
      const std::int64_t left = at.keys() - t;
      const int keys = static_cast<int>(left < at.key_block() ? left : at.key_block());
      if (!at.meet(rows.first, rows.count, t, keys)) continue;
      of.bring_keys(team, rows.b, group, t, keys);
      team.wait();
      of.of_scores(team, rows.b, rows.head, rows.first, rows.count, t, keys, [](int, int, Real) {});
      team.wait();
      multiply<Real>(
          team, rows.count, at.width(), keys, [&](int i, int j) { return of.s.at(i, j); },
          [&](int j, int x) { return of.k.at(j, x); },
          [&](int i, int x, Real more) { sums.at(i, x) += more; });
      team.wait();
    }
    for (int i = static_cast<int>(team.lane()); i < count; i += static_cast<int>(team.lanes())) {
      const int row = i / at.width();
      const std::int64_t to = at.query_row(rows.b, rows.first + row, rows.head) * at.width();
      put(a, 0, to + i % at.width(), sums.at(row, i % at.width()));
    }
  }
};

/// [q, k, v, o, statistics, g_o] -> [g_k, g_v], a team per block of keys of a key head; as
/// AttentionPlaces
template <class Real, class Args = Arguments>
struct AttentionKeyGradient {
  Args a;

  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t index, Team& team) const {
    AttentionGradient<Real, Args> of{a};
    const AttentionPlaces<Real, Args>& at = of.at;
    const AttentionRows rows = AttentionRows::of_keys(at, index);
    Scratch<Real> room{team.scratch()};
    of.q = room.tile(at.query_block(), at.width());
    of.g = room.tile(at.query_block(), at.value_width());
    of.k = room.tile(at.key_block(), at.width());
    of.v = room.tile(at.key_block(), at.value_width());
    of.s = room.tile(at.query_block(), at.key_block());
    const Tile<Real> p = room.tile(at.query_block(), at.key_block());
    const Tile<Real> g_k = room.tile(at.key_block(), at.width());
    const Tile<Real> g_v = room.tile(at.key_block(), at.value_width());
    of.mean = room.numbers(at.query_block());
    of.weights = room.numbers(at.query_block());
    of.bring_keys(team, rows.b, rows.head, rows.first, rows.count);
    clear(team, g_k, rows.count, at.width());
    clear(team, g_v, rows.count, at.value_width());
    for (std::int64_t head = 0; head < at.heads(); ++head) {
      if (a.at(2, head) != rows.head) continue;
      for (std::int64_t s = 0; s < at.queries(); s += at.query_block()) {
        const std::int64_t left = at.queries() - s;
        const int queries = static_cast<int>(left < at.query_block() ? left : at.query_block());
        if (!at.meet(s, queries, rows.first, rows.count)) continue;
        of.bring_queries(team, rows.b, head, s, queries);
        team.wait();
        of.of_scores(team, rows.b, head, s, queries, rows.first, rows.count,
                     [&](int i, int j, Real kept) { p.at(i, j) = kept; });
        team.wait();
        gather(team, of.s, of.q, g_k, rows.count, at.width(), queries);
        gather(team, p, of.g, g_v, rows.count, at.value_width(), queries);
        team.wait();
      }
    }
    write(team, at, rows, 0, g_k, at.width());
    write(team, at, rows, 1, g_v, at.value_width());
  }

 private:
  template <class Team>
  LOCKSTEP_BOTH static void clear(Team& team, const Tile<Real>& tile, int rows, int width) {
    for (int i = static_cast<int>(team.lane()); i < rows * width;
         i += static_cast<int>(team.lanes())) {
      tile.at(i / width, i % width) = 0;
    }
  }
  /// sums += weights^T rows.
  template <class Team>
  LOCKSTEP_BOTH static void gather(Team& team, const Tile<Real>& weights, const Tile<Real>& rows,
                                   const Tile<Real>& sums, int keys, int width, int queries) {
    multiply<Real>(
        team, keys, width, queries, [&](int j, int i) { return weights.at(i, j); },
        [&](int i, int x) { return rows.at(i, x); },
        [&](int j, int x, Real more) { sums.at(j, x) += more; });
  }
  template <class Team>
  LOCKSTEP_BOTH void write(Team& team, const AttentionPlaces<Real, Args>& at,
                           const AttentionRows& rows, int result, const Tile<Real>& sums,
                           int width) const {
    for (int i = static_cast<int>(team.lane()); i < rows.count * width;
         i += static_cast<int>(team.lanes())) {
      const std::int64_t to = at.key_row(rows.b, rows.first + i / width, rows.head) * width;
      put(a, result, to + i % width, sums.at(i / width, i % width));
    }
  }
};

/// [sinks, o, statistics, g_o] -> [g_sinks], a team per head: a sink has a share of the softmax and
/// no value; table 0: where a head stands in the result; samples, queries, heads, value size
template <class Real, class Args = Arguments>
struct AttentionSinkGradient {
  Args a;

  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t head, Team& team) const {
    const std::int64_t queries = a.size[1];
    Real sum = 0;
    for (std::int64_t row = team.lane(); row < a.size[0] * queries; row += team.lanes()) {
      Real mean = 0;  // of the gradients of the row's probabilities
      const std::int64_t first = (row * a.size[2] + head) * a.size[3];
      for (std::int64_t i = first; i < first + a.size[3]; ++i) {
        mean += load<Real>(a.in[1], i) * load<Real>(a.in[3], i);
      }
      const std::int64_t statistic = (row / queries * a.size[2] + head) * queries + row % queries;
      sum -= std::exp(load<Real>(a.in[0], head) - load<Real>(a.in[2], statistic)) * mean;
    }
    sum = team.sum(sum);
    if (team.lane() == 0) put(a, 0, a.at(0, head), sum);
  }
};

}  // namespace lockstep::kernels
