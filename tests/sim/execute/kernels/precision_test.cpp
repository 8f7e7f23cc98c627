#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {
namespace {

/// Roundings of an element beside those of its sums: exponentials, roots, quotients.
constexpr int kFunctions = 8;

[[nodiscard]] double largest(const std::vector<double>& values) {
  double out = 0;
  for (const double value : values) out = std::max(out, std::abs(value));
  return out;
}

/// A sum of n terms is wrong by n eps times the sum of their sizes (Higham, Accuracy and Stability
/// of Numerical Algorithms, 2nd edition, section 4.2), so by (n + functions) eps n `size`, with no
/// term larger than `size`; operands are between -1 and 1.
[[nodiscard]] double bound(int terms, double size) {
  const double eps = std::numeric_limits<float>::epsilon();
  return (terms + kFunctions) * eps * terms * std::max(1.0, size);
}

void check_close(const std::vector<float>& in_float, const std::vector<double>& in_double,
                 int terms) {
  const std::vector<double> got{in_float.begin(), in_float.end()};
  CHECK(largest_gap(got, in_double) <= bound(terms, largest(in_double)));
}

/// With operands that both can hold.
[[nodiscard]] GradientCase exact_in_float(GradientCase test) {
  for (Part& read : test.reads) {
    const std::vector<float> values = rounded<float>(read.values);
    read.values.assign(values.begin(), values.end());
  }
  return test;
}

TEST_CASE("float32 agrees with float64 as far as its roundings go") {
  for (const GradientCase& one : gradient_cases()) {
    CAPTURE(one.forward.name);
    const GradientCase test = exact_in_float(one);
    const BothWays<float> in_float = run_both<float>(test);
    const BothWays<double> in_double = run_both<double>(test);
    for (std::size_t i = 0; i < in_double.results.size(); ++i) {
      check_close(in_float.results[i], in_double.results[i], test.terms);
    }
    for (std::size_t i = 0; i < in_double.gradients.size(); ++i) {
      check_close(in_float.gradients[i], in_double.gradients[i], test.terms);
    }
  }
}

/// 1, then a hundred numbers of 2^-25: each is less than half of what 1 can be told from in
/// float32, so a sum in that order stays 1, while one in float64 that is rounded in the end is 1 +
/// 25 * 2^-23.
TEST_CASE("float32 adds up in float32") {
  Part g = zeros("g", {{Dim::batch, 101}, {Dim::hidden, 1}});
  std::fill(g.values.begin(), g.values.end(), std::ldexp(1.0, -25));
  g.values[0] = 1;
  const Part bias = zeros("bias", {{Dim::hidden, 1}});
  const Operation operation = operation_of(OperationKind::bias_gradient);
  CHECK(run<float>(operation, {g}, {bias})[0][0] == 1.0F);
  CHECK(run<double>(operation, {g}, {bias})[0][0] == 1 + 100 * std::ldexp(1.0, -25));
}

}  // namespace
}  // namespace lockstep
