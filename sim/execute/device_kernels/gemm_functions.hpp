#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"

/// Copies and GEMMs; see functions.hpp.
namespace lockstep::kernels {

/// - -> [x]; -; -; value
template <class Real, class Args = Arguments>
struct Fill {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    put(a, 0, i, static_cast<Real>(a.number[0]));
  }
};

/// [x] -> [y]; to, from (negative: zero); -; factor
template <class Real, class Args = Arguments>
struct Move {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t from = a.at(1, i);
    const Real value = from < 0 ? Real{0} : load<Real>(a.in[0], from);
    put(a, 0, a.at(0, i), value * static_cast<Real>(a.number[0]));
  }
};

/// - -> [x]; places
template <class Real, class Args = Arguments>
struct Clear {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const { store(a.out[0], a.at(0, i), Real{0}); }
};

/// [a, b] -> [y]; places of a (rows, inner, batches), b (inner, columns, batches), y (rows,
/// columns, batches); rows, columns, inner; factor
template <class Real, class Args = Arguments>
struct GemmByElement {
  Args a;
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
    put(a, 0, a.at(6, row) + a.at(7, column) + a.at(8, batch),
        sum * static_cast<Real>(a.number[0]));
  }
};

/// [a, b] -> [y]; offsets of the batches of a, b and y; m, n, k, batches, then strides: a by row
/// and inner, b by inner and column, y by row and column; factor
template <class Real, class Args = Arguments>
struct Gemm {
  Args a;
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
    put(a, 0, a.at(2, batch) + row * a.size[8] + column * a.size[9],
        sum * static_cast<Real>(a.number[0]));
  }
};

/// [bias] -> [y]; indices into the bias; their period in elements
template <class Real, class Args = Arguments>
struct AddBias {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    store(a.out[0], i, load<Real>(a.out[0], i) + load<Real>(a.in[0], a.at(0, i % a.size[0])));
  }
};

}  // namespace lockstep::kernels
