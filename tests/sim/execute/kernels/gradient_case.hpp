#pragma once

#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Forward kernels with the kernels of their gradients, in tables.
namespace lockstep {

/// What a backward kernel reads: an operand of the forward kernel, a result of it, or the gradient
/// of a result.
struct Source {
  enum class Of : std::uint8_t { read, result, gradient };
  Of of = Of::read;
  std::size_t index = 0;
};
[[nodiscard]] constexpr Source x(std::size_t i) {
  return {Source::Of::read, i};
}
[[nodiscard]] constexpr Source y(std::size_t i) {
  return {Source::Of::result, i};
}
[[nodiscard]] constexpr Source gradient(std::size_t i) {
  return {Source::Of::gradient, i};
}

struct GradientCase {
  Operation forward{};
  std::vector<Part> reads{};
  std::vector<Part> results{};
  /// The same operation of another kind.
  OperationKind backward = OperationKind::fill;
  std::vector<Source> backward_reads{};
  std::vector<std::size_t> gradients_of{};  // reads, in the order in which backward writes them
  /// Terms of the longest sum behind an element of a result, forward and backward together.
  int terms = 1;
  KernelSettings settings{};
};

using GradientCases = std::vector<GradientCase>;

[[nodiscard]] GradientCases gemm_cases();
[[nodiscard]] GradientCases attention_cases();
[[nodiscard]] GradientCases unfused_attention_cases();
[[nodiscard]] GradientCases elementwise_cases();
[[nodiscard]] GradientCases norm_cases();
[[nodiscard]] GradientCases expert_cases();
[[nodiscard]] GradientCases image_cases();
/// All of these.
[[nodiscard]] GradientCases gradient_cases();

/// The gradient of a result that the backward kernel is given: any will do.
[[nodiscard]] Part upstream(const GradientCase& test, std::size_t result);

/// The backward kernel of a case, once the forward one has given its results.
struct BackwardOperation {
  Operation operation{};
  std::vector<Part> reads{};
  std::vector<Part> writes{};
};
template <class Real>
[[nodiscard]] BackwardOperation backward_of(const GradientCase& test, const Values<Real>& results) {
  BackwardOperation out{test.forward};
  out.operation.kind = test.backward;
  for (const Source& source : test.backward_reads) {
    if (source.of == Source::Of::read) out.reads.push_back(test.reads[source.index]);
    if (source.of == Source::Of::gradient) out.reads.push_back(upstream(test, source.index));
    if (source.of != Source::Of::result) continue;
    const std::vector<Real>& values = results[source.index];
    out.reads.push_back(with_values(test.results[source.index], {values.begin(), values.end()}));
  }
  for (const std::size_t read : test.gradients_of) out.writes.push_back(test.reads[read]);
  return out;
}

/// Results of the forward kernel, then of the backward one.
template <class Real>
struct BothWays {
  Values<Real> results{};
  Values<Real> gradients{};
};
template <class Real>
[[nodiscard]] BothWays<Real> run_both(const GradientCase& test) {
  BothWays<Real> out;
  out.results = run<Real>(test.forward, test.reads, test.results, test.settings);
  const BackwardOperation backward = backward_of<Real>(test, out.results);
  out.gradients = run<Real>(backward.operation, backward.reads, backward.writes, test.settings);
  return out;
}

}  // namespace lockstep
