#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {
namespace {

constexpr double kStep = 1e-3;
/// So that elements are more than two steps from each other (see spread()).
constexpr std::size_t kMostElements = 400;
/// The five-point quotient is wrong by h^4 |f'''''| / 30, 1e-9 for derivatives up to 3e4, and by
/// 1.5 eps |f| / h of rounding, 3e-13 |f|.
constexpr double kTolerance = 1e-9;

/// A number whose gradient by results is `upstream`: the sum of their GEMMs.
[[nodiscard]] double objective(const GradientCase& test, const std::vector<Part>& reads) {
  const Values<double> results = run<double>(test.forward, reads, test.results, test.settings);
  double out = 0;
  for (const Source& source : test.backward_reads) {
    if (source.of != Source::Of::gradient) continue;
    const Part by = upstream(test, source.index);
    for (std::size_t i = 0; i < by.values.size(); ++i) {
      out += by.values[i] * results[source.index][i];
    }
  }
  return out;
}

/// Central differences over two steps to each side:
/// (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12 h.
[[nodiscard]] double derivative(const GradientCase& test, std::size_t read, std::size_t element) {
  std::vector<Part> reads = test.reads;
  const auto at = [&](double by) {
    reads[read].values[element] = test.reads[read].values[element] + by * kStep;
    return objective(test, reads);
  };
  return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep);
}

void check_gradients(const GradientCase& test) {
  const Values<double> gradients = run_both<double>(test).gradients;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const std::size_t read = test.gradients_of[k];
    CAPTURE(test.reads[read].tensor.name);
    REQUIRE(gradients[k].size() <= kMostElements);
    for (std::size_t i = 0; i < gradients[k].size(); ++i) {
      CAPTURE(i);
      const double expected = derivative(test, read, i);
      CHECK(std::abs(gradients[k][i] - expected) <= kTolerance * (1 + std::abs(expected)));
    }
  }
}

/// Kinds whose values are tested in files of their own; cross-entropy as a whole.
const std::set<OperationKind> kTestedElsewhere{OperationKind::add,
                                               OperationKind::loss_maximum,
                                               OperationKind::loss_sum,
                                               OperationKind::loss_backward,
                                               OperationKind::loss,
                                               OperationKind::fill,
                                               OperationKind::scale,
                                               OperationKind::cast,
                                               OperationKind::slice,
                                               OperationKind::host_copy,
                                               OperationKind::update,
                                               OperationKind::check_finite,
                                               OperationKind::momentum,
                                               OperationKind::orthogonalize,
                                               OperationKind::gram,
                                               OperationKind::squared_error,
                                               OperationKind::squared_error_backward};
/// precondition: of the time and memory of SOAP, which is not executed.
const std::set<OperationKind> kNoComputation{OperationKind::collective, OperationKind::send,
                                             OperationKind::receive, OperationKind::precondition};

}  // namespace

TEST_CASE("gradients of every kernel are the slopes of its results") {
  for (const GradientCase& test : gradient_cases()) {
    CAPTURE(test.forward.name);
    check_gradients(test);
  }
}

TEST_CASE("every kind of computation is in a table or tested elsewhere") {
  std::set<OperationKind> tested = kTestedElsewhere;
  for (const GradientCase& test : gradient_cases()) {
    tested.insert(test.forward.kind);
    tested.insert(test.backward);
  }
  for (int kind = 0; kind <= static_cast<int>(OperationKind::host_copy); ++kind) {
    const auto one = static_cast<OperationKind>(kind);
    CAPTURE(to_string(one));
    CHECK(tested.count(one) + kNoComputation.count(one) == 1);
  }
}

}  // namespace lockstep
