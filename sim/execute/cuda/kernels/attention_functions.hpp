#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/cuda/kernels/arguments.hpp"

/// Attention, fused and by its scores; see functions.hpp.
namespace lockstep::kernels {

/// Attention's operands. Tables: tokens of queries, tokens of keys, key head of every head, number
/// in the batch, number of the head. Sizes: queries, keys, heads, key heads, numbers of a head, of
/// a value, whether causal, whether it goes on from what it reads, heads and tokens of the whole
/// tensor, first sample. Numbers: factor of scores, dropout.
template <class Real>
struct AttentionPlaces {
  const Arguments& a;

  [[nodiscard]] LOCKSTEP_BOTH std::int64_t queries() const { return a.size[0]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t keys() const { return a.size[1]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t heads() const { return a.size[2]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t width() const { return a.size[4]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t value_width() const { return a.size[5]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t query_row(std::int64_t b, std::int64_t s,
                                                     std::int64_t head) const {
    return (b * queries() + s) * heads() + head;
  }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t key_row(std::int64_t b, std::int64_t t,
                                                   std::int64_t head) const {
    return (b * keys() + t) * a.size[3] + a.at(2, head);
  }
  [[nodiscard]] LOCKSTEP_BOTH bool sees(std::int64_t s, std::int64_t t) const {
    return a.size[6] == 0 || a.at(1, t) <= a.at(0, s);
  }
  [[nodiscard]] LOCKSTEP_BOTH Real score(std::int64_t query, std::int64_t key) const {
    Real sum = 0;
    for (std::int64_t i = 0; i < width(); ++i) {
      sum += load<Real>(a.in[0], query * width() + i) * load<Real>(a.in[1], key * width() + i);
    }
    return sum * static_cast<Real>(a.number[0]);
  }
  /// Of two rows of values.
  [[nodiscard]] LOCKSTEP_BOTH Real along_values(const Values& x, std::int64_t x_row,
                                                const Values& y, std::int64_t y_row) const {
    Real sum = 0;
    for (std::int64_t i = 0; i < value_width(); ++i) {
      sum += load<Real>(x, x_row * value_width() + i) * load<Real>(y, y_row * value_width() + i);
    }
    return sum;
  }
  /// What a probability is multiplied with: 0 where it is dropped.
  [[nodiscard]] LOCKSTEP_BOTH Real kept(std::int64_t b, std::int64_t s, std::int64_t head,
                                        std::int64_t t) const {
    if (a.number[1] == 0) return 1;
    const auto u = [](std::int64_t i) { return static_cast<std::uint64_t>(i); };
    std::uint64_t place = u(a.size[10]) + u(a.at(3, b));
    place = place * u(a.size[8]) + u(a.at(4, head));
    place = place * u(a.size[9]) + u(a.at(0, s));
    place = place * u(a.size[9]) + u(a.at(1, t));
    return unit_of(mixed_bits(a.draw, place)) < a.number[1]
               ? Real{0}
               : static_cast<Real>(1 / (1 - a.number[1]));
  }
};
/// [q, k, v, (o, statistics)] -> [o, statistics], a team per query; as AttentionPlaces
template <class Real>
struct Attention {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const AttentionPlaces<Real> at{a};
    const std::int64_t s = row % at.queries();
    const std::int64_t head = row / at.queries() % at.heads();
    const std::int64_t b = row / at.queries() / at.heads();
    const std::int64_t query = at.query_row(b, s, head);
    Real* weight = team.scratch();
    Real most = nothing<Real>();
    for (std::int64_t t = team.lane(); t < at.keys(); t += team.lanes()) {
      weight[t] = at.sees(s, t) ? at.score(query, at.key_row(b, t, head)) : nothing<Real>();
      most = weight[t] > most ? weight[t] : most;
    }
    most = team.maximum(most);
    Real sum = 0;
    for (std::int64_t t = team.lane(); t < at.keys(); t += team.lanes()) {
      const Real own = weight[t] == nothing<Real>() ? Real{0} : std::exp(weight[t] - most);
      sum += own;
      weight[t] = own == 0 ? own : own * at.kept(b, s, head, t);
    }
    sum = team.sum(sum);
    const Real own = sum == 0 ? nothing<Real>() : most + std::log(sum);
    const bool goes_on = a.size[7] != 0;
    const Real before = goes_on ? load<Real>(a.in[4], row) : nothing<Real>();
    const Real all = log_sum(before, own);
    for (std::int64_t i = team.lane(); i < at.value_width(); i += team.lanes()) {
      Real context = 0;
      for (std::int64_t t = 0; t < at.keys(); ++t) {
        if (weight[t] == 0) continue;
        context += weight[t] * load<Real>(a.in[2], at.key_row(b, t, head) * at.value_width() + i);
      }
      if (sum != 0) context /= sum;
      const std::int64_t to = query * at.value_width() + i;
      const Real held = goes_on ? load<Real>(a.in[3], to) : Real{0};
      store(a.out[0], to, held * share(before, all) + context * share(own, all));
    }
    team.wait();
    if (team.lane() == 0) store(a.out[1], row, all);
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

/// [q, k, v, o, statistics, g_o] -> [g_q], a team per query; as AttentionPlaces
template <class Real>
struct AttentionQueryGradient {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const AttentionPlaces<Real> at{a};
    const std::int64_t s = row % at.queries();
    const std::int64_t head = row / at.queries() % at.heads();
    const std::int64_t b = row / at.queries() / at.heads();
    const std::int64_t query = at.query_row(b, s, head);
    const Real all = load<Real>(a.in[4], row);
    const Real mean = at.along_values(a.in[5], query, a.in[3], query);
    Real* gradient = team.scratch();
    for (std::int64_t t = team.lane(); t < at.keys(); t += team.lanes()) {
      gradient[t] = 0;
      if (!at.sees(s, t)) continue;
      const std::int64_t key = at.key_row(b, t, head);
      const Real p = std::exp(at.score(query, key) - all);
      const Real g_p = at.along_values(a.in[5], query, a.in[2], key) * at.kept(b, s, head, t);
      gradient[t] = p * (g_p - mean) * static_cast<Real>(a.number[0]);
    }
    team.wait();
    for (std::int64_t i = team.lane(); i < at.width(); i += team.lanes()) {
      Real sum = 0;
      for (std::int64_t t = 0; t < at.keys(); ++t) {
        if (gradient[t] == 0) continue;
        sum += gradient[t] * load<Real>(a.in[1], at.key_row(b, t, head) * at.width() + i);
      }
      put(a, 0, query * at.width() + i, sum);
    }
    team.wait();
  }
};

/// [q, k, v, o, statistics, g_o] -> [g_k, g_v], a team per key and key head; as AttentionPlaces
template <class Real>
struct AttentionKeyGradient {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const AttentionPlaces<Real> at{a};
    const std::int64_t group = row % a.size[3];
    const std::int64_t t = row / a.size[3] % at.keys();
    const std::int64_t b = row / a.size[3] / at.keys();
    Real* score_gradient = team.scratch();
    Real* probability = score_gradient + at.queries();
    bool first = true;
    for (std::int64_t head = 0; head < at.heads(); ++head) {
      if (a.at(2, head) != group) continue;
      for (std::int64_t s = team.lane(); s < at.queries(); s += team.lanes()) {
        score_gradient[s] = probability[s] = 0;
        if (!at.sees(s, t)) continue;
        const std::int64_t query = at.query_row(b, s, head);
        const Real p = std::exp(at.score(query, row) -
                                load<Real>(a.in[4], (b * at.heads() + head) * at.queries() + s));
        const Real kept = at.kept(b, s, head, t);
        const Real mean = at.along_values(a.in[5], query, a.in[3], query);
        const Real g_p = at.along_values(a.in[5], query, a.in[2], row) * kept;
        probability[s] = p * kept;
        score_gradient[s] = p * (g_p - mean) * static_cast<Real>(a.number[0]);
      }
      team.wait();
      gather(at, 0, a.in[0], at.width(), score_gradient, b, head, row, first, team);
      gather(at, 1, a.in[5], at.value_width(), probability, b, head, row, first, team);
      team.wait();
      first = false;
    }
  }

 private:
  template <class Team>
  LOCKSTEP_BOTH void gather(const AttentionPlaces<Real>& at, int result, const Values& from,
                            std::int64_t width, const Real* weight, std::int64_t b,
                            std::int64_t head, std::int64_t row, bool first, Team& team) const {
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      Real sum = 0;
      for (std::int64_t s = 0; s < at.queries(); ++s) {
        if (weight[s] == 0) continue;
        sum += weight[s] * load<Real>(from, at.query_row(b, s, head) * width + i);
      }
      const std::int64_t to = row * width + i;
      store(a.out[result], to, first && !a.adds ? sum : load<Real>(a.out[result], to) + sum);
    }
  }
};

/// [scores] -> [probabilities], a team per row; tokens of queries, tokens of keys; keys, queries,
/// whether causal
template <class Real>
struct Softmax {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t keys = a.size[0];
    const std::int64_t token = a.at(0, row % a.size[1]);
    const auto sees = [&](std::int64_t t) { return a.size[2] == 0 || a.at(1, t) <= token; };
    Real most = nothing<Real>();
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      const Real score = load<Real>(a.in[0], row * keys + t);
      if (sees(t) && score > most) most = score;
    }
    most = team.maximum(most);
    Real sum = 0;
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      if (sees(t)) sum += std::exp(load<Real>(a.in[0], row * keys + t) - most);
    }
    sum = team.sum(sum);
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      const Real own = sees(t) ? std::exp(load<Real>(a.in[0], row * keys + t) - most) : Real{0};
      store(a.out[0], row * keys + t, own / sum);
    }
  }
};

/// [probabilities, g_probabilities] -> [g_scores], a team per row; -; keys
template <class Real>
struct SoftmaxGradient {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t keys = a.size[0];
    Real mean = 0;
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      mean += load<Real>(a.in[0], row * keys + t) * load<Real>(a.in[1], row * keys + t);
    }
    mean = team.sum(mean);
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      const Real p = load<Real>(a.in[0], row * keys + t);
      store(a.out[0], row * keys + t, p * (load<Real>(a.in[1], row * keys + t) - mean));
    }
  }
};

}  // namespace lockstep::kernels
