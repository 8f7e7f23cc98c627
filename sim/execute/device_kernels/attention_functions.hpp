#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/attention_places.hpp"

/// Fused attention, tile by tile with a running softmax (Dao et al., arXiv 2205.14135, algorithm
/// 1); see functions.hpp.
namespace lockstep::kernels {

/// Scratch elements per team.
[[nodiscard]] LOCKSTEP_BOTH constexpr std::int64_t attention_scratch(std::int64_t queries,
                                                                     std::int64_t keys,
                                                                     std::int64_t width,
                                                                     std::int64_t value_width) {
  return queries * (tile_step(width) + tile_step(value_width) + tile_step(keys) + 3) +
         keys * tile_step(width > value_width ? width : value_width);
}

/// [q, k, v, (o, statistics) or (sinks)] -> [o, statistics], a team per block of queries of a head;
/// as AttentionPlaces
template <class Real, class Args = Arguments>
struct Attention {
  Args a;

  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t index, Team& team) const {
    const AttentionPlaces<Real, Args> at{a};
    const AttentionRows rows = AttentionRows::of_queries(at, index);
    const Held held{at, team.scratch()};
    begin(at, rows, held, team);
    for (std::int64_t t = 0; t < at.keys(); t += at.key_block()) {
      const std::int64_t left = at.keys() - t;
      const int count = static_cast<int>(left < at.key_block() ? left : at.key_block());
      if (at.meet(rows.first, rows.count, t, count)) take(at, rows, held, t, count, team);
    }
    end(at, rows, held, team);
  }

 private:
  /// Scratch of a team: queries, a block of keys then of values, the output so far, probabilities;
  /// per query the running maximum of scores, the running sum, the rescaling factor.
  struct Held {
    Tile<Real> q;
    Tile<Real> k;
    Tile<Real> o;
    Tile<Real> p;
    Real* most;
    Real* sum;
    Real* shrinks;
    LOCKSTEP_BOTH Held(const AttentionPlaces<Real, Args>& at, Real* scratch) {
      Scratch<Real> room{scratch};
      const int widest = at.width() > at.value_width() ? at.width() : at.value_width();
      q = room.tile(at.query_block(), at.width());
      k = room.tile(at.key_block(), widest);
      o = room.tile(at.query_block(), at.value_width());
      p = room.tile(at.query_block(), at.key_block());
      most = room.numbers(at.query_block());
      sum = room.numbers(at.query_block());
      shrinks = room.numbers(at.query_block());
    }
  };

  template <class Team>
  LOCKSTEP_BOTH void begin(const AttentionPlaces<Real, Args>& at, const AttentionRows& rows,
                           const Held& held, Team& team) const {
    bring(team, held.q, a.in[0], rows.count, at.width(),
          [&](int i) { return at.query_row(rows.b, rows.first + i, rows.head) * at.width(); });
    for (int i = lane(team); i < rows.count; i += lanes(team)) {
      held.most[i] = nothing<Real>();
      held.sum[i] = 0;
    }
    for (int i = lane(team); i < rows.count * at.value_width(); i += lanes(team)) {
      held.o.at(i / at.value_width(), i % at.value_width()) = 0;
    }
  }

  template <class Team>
  LOCKSTEP_BOTH void take(const AttentionPlaces<Real, Args>& at, const AttentionRows& rows,
                          const Held& held, std::int64_t t, int count, Team& team) const {
    const std::int64_t group = a.at(2, rows.head);
    bring(team, held.k, a.in[1], count, at.width(),
          [&](int j) { return at.key_row(rows.b, t + j, group) * at.width(); });
    team.wait();
    multiply<Real>(
        team, rows.count, count, at.width(), [&](int i, int x) { return held.q.at(i, x); },
        [&](int x, int j) { return held.k.at(j, x); },
        [&](int i, int j, Real score) {
          const bool sees = at.sees(rows.b, rows.first + i, t + j);
          held.p.at(i, j) = sees ? score * at.factor() : nothing<Real>();
        });
    team.wait();
    bring(team, held.k, a.in[2], count, at.value_width(),
          [&](int j) { return at.key_row(rows.b, t + j, group) * at.value_width(); });
    for (int i = lane(team); i < rows.count; i += lanes(team)) {
      weigh(at, rows, held, i, t, count);
    }
    team.wait();
    multiply<Real>(
        team, rows.count, at.value_width(), count, [&](int i, int j) { return held.p.at(i, j); },
        [&](int j, int x) { return held.k.at(j, x); },
        [&](int i, int x, Real more) {
          held.o.at(i, x) = held.o.at(i, x) * held.shrinks[i] + more;
        });
    team.wait();
  }

  /// Turns the scores of one query into unnormalized probabilities.
  LOCKSTEP_BOTH void weigh(const AttentionPlaces<Real, Args>& at, const AttentionRows& rows,
                           const Held& held, int i, std::int64_t t, int count) const {
    Real most = held.most[i];
    for (int j = 0; j < count; ++j) most = held.p.at(i, j) > most ? held.p.at(i, j) : most;
    Real sum = 0;
    for (int j = 0; j < count; ++j) {
      const Real own = share(held.p.at(i, j), most);
      sum += own;
      held.p.at(i, j) = own == 0 ? own : own * at.kept(rows.b, rows.first + i, rows.head, t + j);
    }
    held.shrinks[i] = share(held.most[i], most);
    held.sum[i] = held.sum[i] * held.shrinks[i] + sum;
    held.most[i] = most;
  }

  template <class Team>
  LOCKSTEP_BOTH void end(const AttentionPlaces<Real, Args>& at, const AttentionRows& rows,
                         const Held& held, Team& team) const {
    const bool goes_on = a.size[7] == AttentionStart::kOutput;
    const bool sinks = a.size[7] == AttentionStart::kSinks;
    for (int i = lane(team); i < rows.count; i += lanes(team)) {  // logarithms of sums
      held.most[i] = held.sum[i] == 0 ? nothing<Real>() : held.most[i] + std::log(held.sum[i]);
      const std::int64_t place = at.statistic(rows.b, rows.first + i, rows.head);
      const Real before = goes_on ? load<Real>(a.in[4], place)
                          : sinks ? load<Real>(a.in[3], rows.head)
                                  : nothing<Real>();
      const Real all = log_sum(before, held.most[i]);
      const Real own = share(held.most[i], all);
      held.shrinks[i] = share(before, all);
      held.sum[i] = held.sum[i] == 0 ? Real{0} : own / held.sum[i];
      store(a.out[1], place, all);
    }
    team.wait();
    for (int i = lane(team); i < rows.count * at.value_width(); i += lanes(team)) {
      const int row = i / at.value_width();
      const std::int64_t to = at.query_row(rows.b, rows.first + row, rows.head) * at.value_width() +
                              i % at.value_width();
      const Real context = held.o.at(row, i % at.value_width()) * held.sum[row];
      const Real before = goes_on ? load<Real>(a.in[3], to) * held.shrinks[row] : Real{0};
      store(a.out[0], to, before + context);
    }
  }

  template <class Team>
  [[nodiscard]] LOCKSTEP_BOTH static int lane(const Team& team) {
    return static_cast<int>(team.lane());
  }
  template <class Team>
  [[nodiscard]] LOCKSTEP_BOTH static int lanes(const Team& team) {
    return static_cast<int>(team.lanes());
  }
  [[nodiscard]] LOCKSTEP_BOTH static Real log_sum(Real x, Real y) {
    const Real most = x > y ? x : y;
    if (most == nothing<Real>()) return most;
    return most + std::log(std::exp(x - most) + std::exp(y - most));
  }
  [[nodiscard]] LOCKSTEP_BOTH static Real share(Real part, Real whole) {
    return part == nothing<Real>() ? Real{0} : std::exp(part - whole);
  }
};

}  // namespace lockstep::kernels
