#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"

/// Elementwise kernels and rotary embeddings; see functions.hpp.
namespace lockstep::kernels {

/// Functions by number: 0 relu, 1 gelu (Hendrycks and Gimpel, arXiv 1606.08415, the exact form),
/// 2 silu, 3 swiglu, 4 relu squared, 5 geglu.
template <class Real>
struct Activated {
  Real value;
  Real slope;
  LOCKSTEP_BOTH Activated(std::int64_t function, Real x) {
    if (function == 0) {
      value = x > 0 ? x : Real{0};
      slope = x > 0 ? Real{1} : Real{0};
    } else if (function == 4) {
      value = x > 0 ? x * x : Real{0};
      slope = x > 0 ? 2 * x : Real{0};
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

/// Function applied to the gate; negative if there is no gate.
[[nodiscard]] LOCKSTEP_BOTH inline std::int64_t gate_function(std::int64_t function) {
  if (function == 3) return 2;
  return function == 5 ? 1 : -1;
}

/// [x, (gate), (weight per row)] -> [y]; -; function, width of rows, 0 without weights
template <class Real, class Args = Arguments>
struct Activate {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Real x = load<Real>(a.in[0], i);
    const std::int64_t gate = gate_function(a.size[0]);
    const Real y = gate >= 0 ? x * Activated<Real>{gate, load<Real>(a.in[1], i)}.value
                             : Activated<Real>{a.size[0], x}.value;
    const std::int64_t width = a.size[1];
    put(a, 0, i, width == 0 ? y : y * load<Real>(a.in[gate >= 0 ? 2 : 1], i / width));
  }
};

/// [x, g_y, (gate), (weight per row)] -> [g_x, (g_gate)]; -; function, width of rows, 0 without
/// weights
template <class Real, class Args = Arguments>
struct ActivateGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Real x = load<Real>(a.in[0], i);
    const std::int64_t function = gate_function(a.size[0]);
    const std::int64_t width = a.size[1];
    const Real weight = width == 0 ? Real{1} : load<Real>(a.in[function >= 0 ? 3 : 2], i / width);
    const Real g = load<Real>(a.in[1], i) * weight;
    if (function < 0) return put(a, 0, i, g * Activated<Real>{a.size[0], x}.slope);
    const Activated<Real> gate{function, load<Real>(a.in[2], i)};
    put(a, 0, i, g * gate.value);
    put(a, 1, i, g * x * gate.slope);
  }
};

/// [x, g_y, (gate)] -> [g_weight], a team per row; -; function, width of rows
template <class Real, class Args = Arguments>
struct ActivationWeightGradient {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t width = a.size[1];
    const std::int64_t gate = gate_function(a.size[0]);
    Real sum = 0;
    for (std::int64_t i = row * width + team.lane(); i < (row + 1) * width; i += team.lanes()) {
      const Real x = load<Real>(a.in[0], i);
      const Real y = gate >= 0 ? x * Activated<Real>{gate, load<Real>(a.in[2], i)}.value
                               : Activated<Real>{a.size[0], x}.value;
      sum += y * load<Real>(a.in[1], i);
    }
    sum = team.sum(sum);
    if (team.lane() == 0) put(a, 0, row, sum);
  }
};

/// Rotation angle of a pair of elements of a token, times a direction.
template <class Real, class Args>
[[nodiscard]] LOCKSTEP_BOTH inline Real angle_of(const Args& a, std::int64_t token,
                                                 std::int64_t place) {
  const std::int64_t pair = place / 2;
  return static_cast<Real>(a.number[0]) * static_cast<Real>(token) /
         std::pow(Real{10}, static_cast<Real>(pair));
}

/// [x] -> [y]; tokens; sizes below; direction. Rotates `turned` elements of each row after the
/// first `plain`, in pairs. Sizes: rows per token, tokens, width in
/// x, width in y, offset in x, offset in y, turned, whether x has one row per token alone.
template <class Real, class Args = Arguments>
struct Rotate {
  Args a;
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
      const Real angle = angle_of<Real>(a, token, place);
      const Real other = load<Real>(a.in[0], from + partner);
      value = own * std::cos(angle) + (place % 2 == 0 ? -other : other) * std::sin(angle);
    }
    put(a, 0, row * a.size[3] + a.size[5] + place, value);
  }
};

/// [g_y] -> [g_shared]: gradient of the key shared by all heads, summed over heads and rotated
/// back; tokens; heads, tokens, width in g_y, offset in g_y, turned; direction
template <class Real, class Args = Arguments>
struct RotateShared {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t turned = a.size[4];
    const std::int64_t row = i / turned;
    const std::int64_t place = i % turned;
    const std::int64_t partner = place % 2 == 0 ? place + 1 : place - 1;
    Real value = sum(row, place);
    if (partner < turned) {
      const std::int64_t token = a.at(0, row % a.size[1]);
      const Real angle = angle_of<Real>(a, token, place);
      const Real other = sum(row, partner);
      value = value * std::cos(angle) + (place % 2 == 0 ? -other : other) * std::sin(angle);
    }
    put(a, 0, i, value);
  }

 private:
  [[nodiscard]] LOCKSTEP_BOTH Real sum(std::int64_t row, std::int64_t place) const {
    Real out = 0;
    for (std::int64_t head = 0; head < a.size[0]; ++head) {
      out += load<Real>(a.in[0], (row * a.size[0] + head) * a.size[2] + a.size[3] + place);
    }
    return out;
  }
};

/// [x] -> [y, mask] (dropout); positions in the whole tensor; first position; probability
template <class Real, class Args = Arguments>
struct Drop {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const auto place = static_cast<std::uint64_t>(a.size[0] + a.at(0, i));
    const bool kept = unit_of(mixed_bits(a.draw, place)) >= a.number[0];
    put(a, 1, i, kept ? Real{1} : Real{0});
    const Real value = load<Real>(a.in[0], i) / static_cast<Real>(1 - a.number[0]);
    put(a, 0, i, kept ? value : Real{0});
  }
};

/// [g_y, mask] -> [g_x]; -; -; probability
template <class Real, class Args = Arguments>
struct DropGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    put(a, 0, i,
        load<Real>(a.in[0], i) * load<Real>(a.in[1], i) / static_cast<Real>(1 - a.number[0]));
  }
};

/// [a, b] -> [y]
template <class Real, class Args = Arguments>
struct Add {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    put(a, 0, i, load<Real>(a.in[0], i) + load<Real>(a.in[1], i));
  }
};

/// [x, scale, (shift)] -> [y], scale and shift of a sequence; -; tokens, width, whether shifted;
/// what is added to scale
template <class Real, class Args = Arguments>
struct Modulate {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t width = a.size[1];
    const std::int64_t of = i / (a.size[0] * width) * width + i % width;
    const Real scale = static_cast<Real>(a.number[0]) + load<Real>(a.in[1], of);
    const Real shift = a.size[2] != 0 ? load<Real>(a.in[2], of) : Real{0};
    put(a, 0, i, load<Real>(a.in[0], i) * scale + shift);
  }
};

/// [x, g_y] -> [g_scale, (g_shift)], an index per number of a sequence; -; tokens, width, whether
/// shifted
template <class Real, class Args = Arguments>
struct ModulationGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t width = a.size[1];
    const std::int64_t first = i / width * a.size[0] * width + i % width;
    Real scale = 0;
    Real shift = 0;
    for (std::int64_t token = 0; token < a.size[0]; ++token) {
      const Real g = load<Real>(a.in[1], first + token * width);
      scale += g * load<Real>(a.in[0], first + token * width);
      shift += g;
    }
    put(a, 0, i, scale);
    if (a.size[2] != 0) put(a, 1, i, shift);
  }
};

}  // namespace lockstep::kernels
