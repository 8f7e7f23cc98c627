#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/execute/kernels/kernels.hpp"
#include "tests/sim/execute/reference/run_reference.hpp"

/// Operands for one kernel at a time.
namespace lockstep {

/// A tensor, what of it is here, and the values.
struct Part {
  Tensor tensor{};
  PartLayout layout{};
  std::vector<double> values{};
};

using Shape = std::vector<std::pair<Dim, std::int64_t>>;

/// The same dimensions, all of which are here.
[[nodiscard]] PartLayout whole(const Shape& shape);
/// Cut so that only these indices of one dimension are here.
[[nodiscard]] PartLayout cut(PartLayout layout, Dim dim, const std::vector<std::int64_t>& at);

[[nodiscard]] Part zeros(std::string name, const Shape& shape);
/// n values between -1 and 1, in an order drawn by name, at least 1 / n from each other and from
/// zero: a difference quotient over less crosses no kink.
[[nodiscard]] Part spread(std::string name, const Shape& shape);
/// Whole numbers below `count`, such as rows of a table, drawn by name.
[[nodiscard]] Part numbers(std::string name, const Shape& shape, std::uint64_t count);
/// What these indices of one dimension hold of it.
[[nodiscard]] Part cut(const Part& part, Dim dim, const std::vector<std::int64_t>& at);
/// The same place with other values.
[[nodiscard]] Part with_values(Part part, std::vector<double> values);

template <class Real>
using Values = std::vector<std::vector<Real>>;

template <class Real>
[[nodiscard]] std::vector<Real> rounded(const std::vector<double>& values) {
  std::vector<Real> out;
  out.reserve(values.size());
  for (const double value : values) out.push_back(static_cast<Real>(value));
  return out;
}

/// What `function` makes of `reads`, one vector for each of `writes`.
template <class Real>
[[nodiscard]] Values<Real> run_by(void (*function)(KernelCall<Real>&), const Operation& operation,
                                  const std::vector<Part>& reads, const std::vector<Part>& writes,
                                  const KernelSettings& settings) {
  Values<Real> operands;
  for (const Part& read : reads) operands.push_back(rounded<Real>(read.values));
  KernelCall<Real> call{settings};
  call.operation = &operation;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    call.reads.push_back({&reads[i].tensor, &reads[i].layout, &operands[i]});
  }
  for (const Part& write : writes) {
    const auto count = static_cast<std::size_t>(write.layout.elements());
    call.writes.push_back({&write.tensor, &write.layout, std::vector<Real>(count, Real{0})});
  }
  function(call);
  Values<Real> out;
  for (KernelResult<Real>& write : call.writes) out.push_back(std::move(write.values));
  return out;
}

/// What the operation makes of `reads`.
template <class Real>
[[nodiscard]] Values<Real> run(const Operation& operation, const std::vector<Part>& reads,
                               const std::vector<Part>& writes,
                               const KernelSettings& settings = {}) {
  return run_by<Real>(run_kernel<Real>, operation, reads, writes, settings);
}
/// The same by the oracle.
template <class Real>
[[nodiscard]] Values<Real> run_oracle(const Operation& operation, const std::vector<Part>& reads,
                                      const std::vector<Part>& writes,
                                      const KernelSettings& settings = {}) {
  return run_by<Real>(run_reference<Real>, operation, reads, writes, settings);
}

[[nodiscard]] Operation operation_of(OperationKind kind, std::string name = "operation");

/// Largest difference of two vectors of one length; infinite for two of different lengths.
[[nodiscard]] double largest_gap(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lockstep
