#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/cuda/kernels/arguments.hpp"

/// Norms; see functions.hpp.
namespace lockstep::kernels {

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

}  // namespace lockstep::kernels
