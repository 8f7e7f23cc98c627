#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/cuda/kernels/arguments.hpp"

/// What kernels compute, once for the host and for GPUs: a function of an index, or of a team of
/// threads and the row that it works on. A team has lane(), lanes(), sum(), maximum() (over all its
/// lanes, to all of them), wait() and scratch(). Formulas are those of the host's reference kernels
/// (sim/execute/host/kernels). In front of each: in, out; tables; sizes; numbers.
namespace lockstep::kernels {

/// - -> [x]; -; -; value
template <class Real>
struct Fill {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    store(a.out[0], i, static_cast<Real>(a.number[0]));
  }
};

/// [x] -> [y]; to, from (below 0: zero); -; factor
template <class Real>
struct Move {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t from = a.at(1, i);
    const Real value = from < 0 ? Real{0} : load<Real>(a.in[0], from);
    put(a, 0, a.at(0, i), value * static_cast<Real>(a.number[0]));
  }
};

/// - -> [x]; places
template <class Real>
struct Clear {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const { store(a.out[0], a.at(0, i), Real{0}); }
};

/// [a, b] -> [y]; places of a (rows, inner, batches), b (inner, columns, batches), y (rows,
/// columns, batches); rows, columns, inner
template <class Real>
struct Product {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t column = i % a.size[1];
    const std::int64_t row = i / a.size[1] % a.size[0];
    const std::int64_t batch = i / a.size[1] / a.size[0];
    const std::int64_t left = a.at(0, row) + a.at(2, batch);
    const std::int64_t right = a.at(4, column) + a.at(5, batch);
    Real sum = 0;
    for (std::int64_t k = 0; k < a.size[2]; ++k) {
      sum += load<Real>(a.in[0], left + a.at(1, k)) * load<Real>(a.in[1], right + a.at(3, k));
    }
    put(a, 0, a.at(6, row) + a.at(7, column) + a.at(8, batch), sum);
  }
};

/// [a, b] -> [y]; where batches of a, b and y begin; m, n, k, batches, then distances of
/// neighbours: a by row and inner, b by inner and column, y by row and column
template <class Real>
struct Gemm {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t column = i % a.size[1];
    const std::int64_t row = i / a.size[1] % a.size[0];
    const std::int64_t batch = i / a.size[1] / a.size[0];
    const std::int64_t left = a.at(0, batch) + row * a.size[4];
    const std::int64_t right = a.at(1, batch) + column * a.size[7];
    Real sum = 0;
    for (std::int64_t k = 0; k < a.size[2]; ++k) {
      sum += load<Real>(a.in[0], left + k * a.size[5]) * load<Real>(a.in[1], right + k * a.size[6]);
    }
    put(a, 0, a.at(2, batch) + row * a.size[8] + column * a.size[9], sum);
  }
};

/// [bias] -> [y]; places of the bias
template <class Real>
struct AddBias {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    store(a.out[0], i, load<Real>(a.out[0], i) + load<Real>(a.in[0], a.at(0, i)));
  }
};

/// [x] -> [y], a team per element of y; places in x: of y's elements, of the rest; rest
template <class Real>
struct SumRest {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t base = a.at(0, row);
    Real sum = 0;
    for (std::int64_t i = team.lane(); i < a.size[0]; i += team.lanes()) {
      sum += load<Real>(a.in[0], base + a.at(1, i));
    }
    sum = team.sum(sum);
    if (team.lane() == 0) put(a, 0, row, sum);
  }
};

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

template <class Real>
[[nodiscard]] LOCKSTEP_BOTH inline Real nothing() {
  return -static_cast<Real>(INFINITY);
}

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

/// [x, gain, (bias)] -> [y, statistics], a team per row; -; width, whether centred, whether biased;
/// epsilon
template <class Real>
struct Normalise {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t width = a.size[0];
    const bool centred = a.size[1] != 0;
    const auto n = static_cast<Real>(width);
    Real mean = 0;
    if (centred) {
      for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
        mean += load<Real>(a.in[0], row * width + i) / n;
      }
      mean = team.sum(mean);
    }
    Real variance = 0;
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      const Real from_mean = load<Real>(a.in[0], row * width + i) - mean;
      variance += from_mean * from_mean / n;
    }
    const Real scale = 1 / std::sqrt(team.sum(variance) + static_cast<Real>(a.number[0]));
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      const Real bias = a.size[2] != 0 ? load<Real>(a.in[2], i) : Real{0};
      const Real x = load<Real>(a.in[0], row * width + i);
      store(a.out[0], row * width + i, (x - mean) * scale * load<Real>(a.in[1], i) + bias);
    }
    if (team.lane() != 0) return;
    if (centred) store(a.out[1], 2 * row, mean);
    store(a.out[1], centred ? 2 * row + 1 : row, scale);
  }
};

/// Mean and reciprocal deviation of a row, as kept beside.
template <class Real>
struct Statistics {
  Real mean;
  Real scale;
  LOCKSTEP_BOTH Statistics(const Values& from, std::int64_t row, bool centred)
      : mean{centred ? load<Real>(from, 2 * row) : Real{0}},
        scale{load<Real>(from, centred ? 2 * row + 1 : row)} {}
};

/// [x, gain, statistics, g_y] -> [g_x], a team per row; -; width, whether centred
template <class Real>
struct NormaliseInputGradient {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t width = a.size[0];
    const bool centred = a.size[1] != 0;
    const Statistics<Real> of{a.in[2], row, centred};
    const auto n = static_cast<Real>(width);
    Real sum = 0;
    Real along = 0;
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      const Real h = load<Real>(a.in[3], row * width + i) * load<Real>(a.in[1], i);
      sum += h;
      along += h * (load<Real>(a.in[0], row * width + i) - of.mean) * of.scale;
    }
    sum = team.sum(sum);
    along = team.sum(along);
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      const Real h = load<Real>(a.in[3], row * width + i) * load<Real>(a.in[1], i);
      const Real normal = (load<Real>(a.in[0], row * width + i) - of.mean) * of.scale;
      put(a, 0, row * width + i,
          of.scale * (h - (centred ? sum / n : Real{0}) - normal * along / n));
    }
  }
};

/// [x, statistics, g_y] -> [g_gain, (g_bias)], a team per column; -; width, whether centred, rows,
/// whether biased
template <class Real>
struct NormaliseGainGradient {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t column, Team& team) const {
    const std::int64_t width = a.size[0];
    Real gain = 0;
    Real bias = 0;
    for (std::int64_t row = team.lane(); row < a.size[2]; row += team.lanes()) {
      const Statistics<Real> of{a.in[1], row, a.size[1] != 0};
      const Real g = load<Real>(a.in[2], row * width + column);
      gain += g * (load<Real>(a.in[0], row * width + column) - of.mean) * of.scale;
      bias += g;
    }
    gain = team.sum(gain);
    bias = team.sum(bias);
    if (team.lane() != 0) return;
    put(a, 0, column, gain);
    if (a.size[3] != 0) put(a, 1, column, bias);
  }
};

/// Functions by number: 0 relu, 1 gelu (Hendrycks and Gimpel, arXiv 1606.08415, the exact form),
/// 2 silu, 3 swiglu.
template <class Real>
struct Activated {
  Real value;
  Real slope;
  LOCKSTEP_BOTH Activated(std::int64_t function, Real x) {
    if (function == 0) {
      value = x > 0 ? x : Real{0};
      slope = x > 0 ? Real{1} : Real{0};
    } else if (function == 1) {
      const Real below = (1 + std::erf(x / std::sqrt(Real{2}))) / 2;
      const Real density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Real{-1}));
      value = x * below;
      slope = below + x * density;
    } else {
      const Real s = 1 / (1 + std::exp(-x));
      value = x * s;
      slope = s + x * s * (1 - s);
    }
  }
};

/// [x, (gate)] -> [y]; -; function
template <class Real>
struct Activate {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Real x = load<Real>(a.in[0], i);
    const bool gated = a.size[0] == 3;
    put(a, 0, i,
        gated ? x * Activated<Real>{2, load<Real>(a.in[1], i)}.value
              : Activated<Real>{a.size[0], x}.value);
  }
};

/// [x, g_y, (gate)] -> [g_x, (g_gate)]; -; function
template <class Real>
struct ActivateGradient {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Real x = load<Real>(a.in[0], i);
    const Real g = load<Real>(a.in[1], i);
    if (a.size[0] != 3) return put(a, 0, i, g * Activated<Real>{a.size[0], x}.slope);
    const Activated<Real> gate{2, load<Real>(a.in[2], i)};
    put(a, 0, i, g * gate.value);
    put(a, 1, i, g * x * gate.slope);
  }
};

/// [x] -> [y]; tokens; rows in `from` per token and in `to`: see below; direction. Turns, pair by
/// pair, `turned` numbers of each row behind `plain` of it. Sizes: rows per token, tokens, width in
/// x, width in y, offset in x, offset in y, turned, whether x has one row per token alone.
template <class Real>
struct Rotate {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t turned = a.size[6];
    const std::int64_t row = i / turned;
    const std::int64_t place = i % turned;
    const std::int64_t from = (a.size[7] != 0 ? row / a.size[0] : row) * a.size[2] + a.size[4];
    const Real own = load<Real>(a.in[0], from + place);
    Real value = own;
    const std::int64_t partner = place % 2 == 0 ? place + 1 : place - 1;
    if (partner < turned) {
      const std::int64_t token = a.at(0, row / a.size[0] % a.size[1]);
      const Real angle = static_cast<Real>(a.number[0]) * static_cast<Real>(token) /
                         std::pow(Real{10}, static_cast<Real>(place / 2));
      const Real other = load<Real>(a.in[0], from + partner);
      value = own * std::cos(angle) + (place % 2 == 0 ? -other : other) * std::sin(angle);
    }
    put(a, 0, row * a.size[3] + a.size[5] + place, value);
  }
};

/// [x] -> [y, mask]; places in the whole tensor; first place; probability
template <class Real>
struct Drop {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const auto place = static_cast<std::uint64_t>(a.size[0] + a.at(0, i));
    const bool kept = unit_of(mixed_bits(a.draw, place)) >= a.number[0];
    store(a.out[1], i, kept ? Real{1} : Real{0});
    const Real value = load<Real>(a.in[0], i) / static_cast<Real>(1 - a.number[0]);
    store(a.out[0], i, kept ? value : Real{0});
  }
};

/// [g_y, mask] -> [g_x]; -; -; probability
template <class Real>
struct DropGradient {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    put(a, 0, i,
        load<Real>(a.in[0], i) * load<Real>(a.in[1], i) / static_cast<Real>(1 - a.number[0]));
  }
};

/// [a, b] -> [y]
template <class Real>
struct Add {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    put(a, 0, i, load<Real>(a.in[0], i) + load<Real>(a.in[1], i));
  }
};

/// The local row of a number, below 0 where another rank has it or nobody.
template <class Real>
[[nodiscard]] LOCKSTEP_BOTH inline std::int64_t row_of(const Arguments& a, const Values& numbers,
                                                       std::int64_t i, int table,
                                                       std::int64_t rows) {
  const auto number = static_cast<std::int64_t>(load<Real>(numbers, i) + Real{0.5});
  return number < 0 || number >= rows ? -1 : a.at(table, number);
}

/// [numbers, table] -> [y]; rows by number; width, rows
template <class Real>
struct LookUp {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t row = row_of<Real>(a, a.in[0], i / a.size[0], 0, a.size[1]);
    put(a, 0, i, row < 0 ? Real{0} : load<Real>(a.in[1], row * a.size[0] + i % a.size[0]));
  }
};

/// [numbers, g_y] -> [g_table], which is added to; rows by number; width, rows
template <class Real>
struct LookUpGradient {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t row = row_of<Real>(a, a.in[0], i / a.size[0], 0, a.size[1]);
    if (row >= 0) add_to(a.out[0], row * a.size[0] + i % a.size[0], load<Real>(a.in[1], i));
  }
};

/// [logits] -> [maximum], a team per row; words (below 0: padding); width
template <class Real>
struct LossMaximum {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    Real most = nothing<Real>();
    for (std::int64_t i = team.lane(); i < a.size[0]; i += team.lanes()) {
      const Real logit = load<Real>(a.in[0], row * a.size[0] + i);
      if (a.at(0, i) >= 0 && logit > most) most = logit;
    }
    most = team.maximum(most);
    if (team.lane() == 0) put(a, 0, row, most);
  }
};

/// [logits, labels, maximum] -> [sum, target], a team per row; words, rows by number; width, words
template <class Real>
struct LossSum {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const Real most = load<Real>(a.in[2], row);
    Real sum = 0;
    for (std::int64_t i = team.lane(); i < a.size[0]; i += team.lanes()) {
      if (a.at(0, i) >= 0) sum += std::exp(load<Real>(a.in[0], row * a.size[0] + i) - most);
    }
    sum = team.sum(sum);
    if (team.lane() != 0) return;
    const std::int64_t own = row_of<Real>(a, a.in[1], row, 1, a.size[1]);
    put(a, 0, row, sum);
    put(a, 1, row, own < 0 ? Real{0} : load<Real>(a.in[0], row * a.size[0] + own));
  }
};

/// [maximum, sum, target] -> [loss], one team; -; rows; factor
template <class Real>
struct Loss {
  Arguments a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t, Team& team) const {
    Real sum = 0;
    for (std::int64_t i = team.lane(); i < a.size[0]; i += team.lanes()) {
      sum += static_cast<Real>(a.number[0]) *
             (load<Real>(a.in[0], i) + std::log(load<Real>(a.in[1], i)) - load<Real>(a.in[2], i));
    }
    sum = team.sum(sum);
    if (team.lane() == 0) put(a, 0, 0, sum);
  }
};

/// [logits, labels, maximum, sum] -> [g_logits]; words, rows by number; width, words; factor
template <class Real>
struct LossGradient {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t row = i / a.size[0];
    const std::int64_t place = i % a.size[0];
    if (a.at(0, place) < 0) return put(a, 0, i, Real{0});
    const std::int64_t own = row_of<Real>(a, a.in[1], row, 1, a.size[1]);
    const Real p =
        std::exp(load<Real>(a.in[0], i) - load<Real>(a.in[2], row)) / load<Real>(a.in[3], row);
    put(a, 0, i, static_cast<Real>(a.number[0]) * (p - (place == own ? Real{1} : Real{0})));
  }
};

/// One weight. [gradient, weight, (moments)] -> [weight, (moments), (copy of the weight)]; -;
/// optimizer (0 SGD, 1 momentum, 2 Adam), whether there is a copy; rate, momentum or beta1, beta2,
/// 1 - beta1, 1 - beta2, 1 - beta1^step, 1 - beta2^step, epsilon. Adam: Kingma and Ba, arXiv
/// 1412.6980, algorithm 1.
template <class Real>
struct Descend {
  Arguments a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const auto number = [this](int which) { return static_cast<Real>(a.number[which]); };
    const Real g = load<Real>(a.in[0], i);
    Real step = g;
    int results = 1;
    if (a.size[0] == 1) {
      step = number(1) * load<Real>(a.in[2], i) + g;
      store(a.out[results++], i, step);
    } else if (a.size[0] == 2) {
      const Real first = number(1) * load<Real>(a.in[2], i) + number(3) * g;
      const Real second = number(2) * load<Real>(a.in[3], i) + number(4) * g * g;
      store(a.out[results++], i, first);
      store(a.out[results++], i, second);
      step = first / number(5) / (std::sqrt(second / number(6)) + number(7));
    }
    const Real weight = load<Real>(a.in[1], i) - number(0) * step;
    store(a.out[0], i, weight);
    if (a.size[1] != 0) store(a.out[results], i, weight);
  }
};

}  // namespace lockstep::kernels
