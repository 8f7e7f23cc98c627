#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/sum_functions.hpp"

/// Normalizations; see functions.hpp.
namespace lockstep::kernels {

/// [x, (gain, (bias))] -> [y, statistics], a team per row; -; width, whether centered, whether
/// biased, gains (width, or a multiple of it: of as many rows, over and over; 0: none); epsilon
template <class Real, class Args = Arguments>
struct Normalise {
  Args a;
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
      const Real gain =
          a.size[3] != 0 ? load<Real>(a.in[1], (row * width + i) % a.size[3]) : Real{1};
      put(a, 0, row * width + i, (x - mean) * scale * gain + bias);
    }
    if (team.lane() != 0) return;
    if (centred) put(a, 1, 2 * row, mean);
    put(a, 1, centred ? 2 * row + 1 : row, scale);
  }
};

/// Mean and reciprocal deviation of a row, as kept in a separate buffer.
template <class Real>
struct Statistics {
  Real mean;
  Real scale;
  template <class From>
  LOCKSTEP_BOTH Statistics(const From& from, std::int64_t row, bool centred)
      : mean{centred ? load<Real>(from, 2 * row) : Real{0}},
        scale{load<Real>(from, centred ? 2 * row + 1 : row)} {}
};

/// [x, gain, statistics, g_y] -> [g_x], a team per row; -; width, whether centered, gains (0: none,
/// and what stands for them is not read)
template <class Real, class Args = Arguments>
struct NormaliseInputGradient {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t width = a.size[0];
    const bool centred = a.size[1] != 0;
    const Statistics<Real> of{a.in[2], row, centred};
    const auto n = static_cast<Real>(width);
    Real sum = 0;
    Real along = 0;
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      const Real h = upstream(row * width + i);
      sum += h;
      along += h * (load<Real>(a.in[0], row * width + i) - of.mean) * of.scale;
    }
    sum = team.sum(sum);
    along = team.sum(along);
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      const Real h = upstream(row * width + i);
      const Real normal = (load<Real>(a.in[0], row * width + i) - of.mean) * of.scale;
      put(a, 0, row * width + i,
          of.scale * (h - (centred ? sum / n : Real{0}) - normal * along / n));
    }
  }

 private:
  [[nodiscard]] LOCKSTEP_BOTH Real upstream(std::int64_t i) const {
    const Real g = load<Real>(a.in[3], i);
    return a.size[2] != 0 ? g * load<Real>(a.in[1], i % a.size[2]) : g;
  }
};

/// [x, statistics, g_y] -> [sums of parts: g_gain, g_bias], a team per part and 32 columns; -;
/// rows, columns, parts, whether centered, whether statistics are of columns, else of how many
/// numbers each
template <class Real, class Args = Arguments>
struct NormaliseGainGradient {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t index, Team& team) const {
    sum_columns<Real, 2>(a, index, team, a.size[0], a.size[1], a.size[2],
                         [this](std::int64_t row, std::int64_t column, Real* sums) {
                           const std::int64_t place = row * a.size[1] + column;
                           const Statistics<Real> of{a.in[1],
                                                     a.size[4] != 0 ? column : place / a.size[5],
                                                     a.size[3] != 0};
                           const Real g = load<Real>(a.in[2], place);
                           sums[0] += g * (load<Real>(a.in[0], place) - of.mean) * of.scale;
                           sums[1] += g;
                         });
  }
};

// Norms of channels over all pixels.

/// [x, statistics] -> [sums of parts: squares of x around its channel's mean], a team per part and
/// 32 channels; -; rows, channels, parts
template <class Real, class Args = Arguments>
struct SquareChannels {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t index, Team& team) const {
    sum_columns<Real, 1>(a, index, team, a.size[0], a.size[1], a.size[2],
                         [this](std::int64_t row, std::int64_t channel, Real* sums) {
                           const Real from_mean = load<Real>(a.in[0], row * a.size[1] + channel) -
                                                  load<Real>(a.in[1], 2 * channel);
                           sums[0] += from_mean * from_mean;
                         });
  }
};

/// [sums of parts] -> [statistics]; -; channels, parts, rows, whether of squares; epsilon; one
/// channel
template <class Real, class Args = Arguments>
struct ChannelStatistics {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t channel) const {
    Real sum = 0;
    for (std::int64_t part = 0; part < a.size[1]; ++part) {
      sum += load<Real>(a.in[0], part * a.size[0] + channel);
    }
    sum /= static_cast<Real>(a.size[2]);
    if (a.size[3] == 0) return store(a.out[0], 2 * channel, sum);
    store(a.out[0], 2 * channel + 1, 1 / std::sqrt(sum + static_cast<Real>(a.number[0])));
  }
};

/// [x, gain, bias, statistics] -> [y]; -; channels
template <class Real, class Args = Arguments>
struct NormaliseChannels {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t channel = i % a.size[0];
    const Statistics<Real> of{a.in[3], channel, true};
    put(a, 0, i,
        (load<Real>(a.in[0], i) - of.mean) * of.scale * load<Real>(a.in[1], channel) +
            load<Real>(a.in[2], channel));
  }
};

/// [x, gain, statistics, g_y, g_gain, g_bias (of these rows only)] -> [g_x]; -; channels, rows
template <class Real, class Args = Arguments>
struct NormaliseChannelsGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t channel = i % a.size[0];
    const Statistics<Real> of{a.in[2], channel, true};
    const auto n = static_cast<Real>(a.size[1]);
    const Real normal = (load<Real>(a.in[0], i) - of.mean) * of.scale;
    const Real along = load<Real>(a.in[4], channel) / n;
    const Real mean = load<Real>(a.in[5], channel) / n;
    put(a, 0, i,
        of.scale * load<Real>(a.in[1], channel) * (load<Real>(a.in[3], i) - mean - normal * along));
  }
};

}  // namespace lockstep::kernels
