#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"

/// Embedding look-up and cross-entropy; see functions.hpp.
namespace lockstep::kernels {

/// Local row of a vocabulary index; negative if it is on another rank or padding.
template <class Real, class Args, class From>
[[nodiscard]] LOCKSTEP_BOTH inline std::int64_t row_of(const Args& a, const From& numbers,
                                                       std::int64_t i, int table,
                                                       std::int64_t rows) {
  const auto number = static_cast<std::int64_t>(load<Real>(numbers, i) + Real{0.5});
  return number < 0 || number >= rows ? -1 : a.at(table, number);
}

/// [indices, table] -> [y]; local row per index; width, rows
template <class Real, class Args = Arguments>
struct LookUp {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t row = row_of<Real>(a, a.in[0], i / a.size[0], 0, a.size[1]);
    put(a, 0, i, row < 0 ? Real{0} : load<Real>(a.in[1], row * a.size[0] + i % a.size[0]));
  }
};

/// [indices, g_y] -> [g_table] (accumulated); local row per index; width, rows
template <class Real, class Args = Arguments>
struct LookUpGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t row = row_of<Real>(a, a.in[0], i / a.size[0], 0, a.size[1]);
    if (row >= 0) add_to(a.out[0], row * a.size[0] + i % a.size[0], load<Real>(a.in[1], i));
  }
};

/// [logits] -> [maximum], a team per row; vocabulary indices (negative: padding); width
template <class Real, class Args = Arguments>
struct LossMaximum {
  Args a;
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

/// [logits, labels, maximum] -> [sum, target], a team per row; vocabulary indices, local row per
/// index; width, vocabulary
template <class Real, class Args = Arguments>
struct LossSum {
  Args a;
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

/// [maximum, sum, target] or, of errors, [sum] -> [loss], one team; -; rows, whether of errors;
/// factor
template <class Real, class Args = Arguments>
struct Loss {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t, Team& team) const {
    Real sum = 0;
    for (std::int64_t i = team.lane(); i < a.size[0]; i += team.lanes()) {
      Real own = load<Real>(a.in[0], i);
      if (a.size[1] == 0) own += std::log(load<Real>(a.in[1], i)) - load<Real>(a.in[2], i);
      sum += static_cast<Real>(a.number[0]) * own;
    }
    sum = team.sum(sum);
    if (team.lane() == 0) put(a, 0, 0, sum);
  }
};

/// [logits, labels, maximum, sum] -> [g_logits]; vocabulary indices, local row per index; width,
/// vocabulary; factor
template <class Real, class Args = Arguments>
struct LossGradient {
  Args a;
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

/// [x, target] -> [sum], a team per row; -; width
template <class Real, class Args = Arguments>
struct SquaredError {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    Real sum = 0;
    for (std::int64_t i = row * a.size[0] + team.lane(); i < (row + 1) * a.size[0];
         i += team.lanes()) {
      const Real error = load<Real>(a.in[0], i) - load<Real>(a.in[1], i);
      sum += error * error;
    }
    sum = team.sum(sum);
    if (team.lane() == 0) put(a, 0, row, sum);
  }
};

/// [x, target] -> [g_x]; -; -; factor
template <class Real, class Args = Arguments>
struct SquaredErrorGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    put(a, 0, i,
        2 * static_cast<Real>(a.number[0]) * (load<Real>(a.in[0], i) - load<Real>(a.in[1], i)));
  }
};

}  // namespace lockstep::kernels
