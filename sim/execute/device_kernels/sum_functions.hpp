#pragma once

#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"

/// Column sums of a matrix in two passes: partial sums over parts of the rows, then their sum; see
/// functions.hpp.
namespace lockstep::kernels {

/// Columns per team; adjacent lanes read adjacent columns (coalesced).
inline constexpr int kColumnsTogether = 32;

/// each(row, column, sums) adds a row's contribution to the kSums sums of a column. The index is
/// (part of the rows, block of 32 columns); results go to out[0] as [sum, part, column].
template <class Real, int kSums, class Args, class Team, class Each>
LOCKSTEP_BOTH void sum_columns(const Args& a, std::int64_t index, Team& team, std::int64_t rows,
                               std::int64_t columns, std::int64_t parts, const Each& each) {
  const std::int64_t blocks = (columns + kColumnsTogether - 1) / kColumnsTogether;
  const std::int64_t part = index / blocks;
  const std::int64_t first = index % blocks * kColumnsTogether;
  const std::int64_t length = (rows + parts - 1) / parts;
  const std::int64_t end = (part + 1) * length < rows ? (part + 1) * length : rows;
  const auto lanes = static_cast<int>(team.lanes());
  const auto lane = static_cast<int>(team.lane());
  const int across = lanes < kColumnsTogether ? lanes : kColumnsTogether;
  const int groups = lanes / across;
  Real* kept = team.scratch();  // [sum, group, column]
  for (int c = lane % across; c < kColumnsTogether; c += across) {
    Real sums[kSums] = {};
    if (first + c < columns && lane < groups * across) {
      for (std::int64_t row = part * length + lane / across; row < end; row += groups) {
        each(row, first + c, sums);
      }
    }
    if (lane >= groups * across) continue;
    for (int s = 0; s < kSums; ++s) {
      kept[(s * groups + lane / across) * kColumnsTogether + c] = sums[s];
    }
  }
  team.wait();
  for (int i = lane; i < kSums * kColumnsTogether; i += lanes) {
    const int c = i % kColumnsTogether;
    const int s = i / kColumnsTogether;
    if (first + c >= columns) continue;
    Real sum = 0;
    for (int group = 0; group < groups; ++group) {
      sum += kept[(s * groups + group) * kColumnsTogether + c];
    }
    store(a.out[0], (s * parts + part) * columns + first + c, sum);
  }
}

/// [x] -> [sums of parts], a team per part and 32 columns; offsets in x of columns and of rows;
/// rows, columns, parts
template <class Real, class Args = Arguments>
struct SumColumns {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t index, Team& team) const {
    sum_columns<Real, 1>(a, index, team, a.size[0], a.size[1], a.size[2],
                         [this](std::int64_t row, std::int64_t column, Real* sums) {
                           sums[0] += load<Real>(a.in[0], a.at(0, column) + a.at(1, row));
                         });
  }
};

/// [sums of parts] -> [y, (z)]; -; columns, parts, whether there is a z; one column
template <class Real, class Args = Arguments>
struct AddParts {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t column) const {
    put(a, 0, column, sum(0, column));
    if (a.size[2] != 0) put(a, 1, column, sum(1, column));
  }

 private:
  [[nodiscard]] LOCKSTEP_BOTH Real sum(std::int64_t which, std::int64_t column) const {
    Real out = 0;
    for (std::int64_t part = 0; part < a.size[1]; ++part) {
      out += load<Real>(a.in[0], (which * a.size[1] + part) * a.size[0] + column);
    }
    return out;
  }
};

}  // namespace lockstep::kernels
