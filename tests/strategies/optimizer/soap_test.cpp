#include <doctest/doctest.h>

#include <cstdint>

#include "tests/strategies/step/volumes/volumes.hpp"

/// What SOAP (Vyas et al., arXiv 2409.11321) computes, sends and keeps beyond Adam, against closed
/// forms. Matrices as of muon_test.cpp: four of h x h and two of h x 4h in every layer.
namespace lockstep::test::volumes {
namespace {

constexpr std::int64_t kSide = kH * kH;
constexpr std::int64_t kMatrices = kLayers * (4 * kSide + 2 * 4 * kSide);

ParallelConfig soap(int dp, int zero) {
  return layout(dp, zero, Optimizer::soap);
}

double preconditioning(const TrainingStepUnderTest& step) {
  return flops_of(step, OperationKind::precondition);
}

/// One side m of a matrix m x n: its Gram matrix, two projections, and every ten steps three
/// products of m^3 and QR with 8/3 m^3.
constexpr double side(std::int64_t m, std::int64_t n) {
  const auto a = static_cast<double>(m);
  return 3 * 2 * a * a * static_cast<double>(n) + (3 * 2 + 8.0 / 3) * a * a * a / 10;
}
constexpr double of_layers() {
  return kLayers * (4 * 2 * side(kH, kH) + 2 * (side(kH, 4 * kH) + side(4 * kH, kH)));
}

TEST_CASE("SOAP: Gram matrices and projections in every step, bases every few") {
  const ModelConfig model = transformer(shape());
  CHECK(preconditioning({model, soap(1, 0)}) == doctest::Approx(of_layers()).epsilon(1e-12));
  ParallelConfig always = soap(1, 0);
  always.state.precondition_frequency = 1;
  const double bases = kLayers * (3 * 2 + 8.0 / 3) * (4 * 2 + 2 * (1 + 64)) * kH * kH * kH;
  CHECK(preconditioning({model, always}) ==
        doctest::Approx(of_layers() + 0.9 * bases).epsilon(1e-12));
}

TEST_CASE("SOAP: longer sides have no preconditioner") {
  ParallelConfig with = soap(1, 0);
  with.state.max_preconditioner_dim = 4 * kH - 1;
  const double expected = kLayers * (4 * 2 * side(kH, kH) + 2 * side(kH, 4 * kH));
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(preconditioning(step) == doctest::Approx(expected).epsilon(1e-12));
  CHECK(state_bytes(step) ==
        12 * parameters(transformer(shape())) + 4 * 2 * kLayers * (4 * 2 + 2) * kSide);
}

TEST_CASE("SOAP keeps a Gram matrix and its basis of each side, in fp32, beyond Adam's moments") {
  const ModelConfig model = transformer(shape());
  // Of h x h: 2 h^2; of h x 4h: h^2 + 16 h^2.
  const std::int64_t sides = kLayers * (4 * 2 + 2 * 17) * kSide;
  CHECK(state_bytes({model, soap(1, 0)}) == 12 * parameters(model) + 4 * 2 * sides);
  // Owners have a quarter each.
  const std::int64_t more =
      state_bytes({model, soap(4, 1)}) - state_bytes({model, [] {
                                                        ParallelConfig adam = soap(4, 1);
                                                        adam.state.optimizer = Optimizer::adam;
                                                        return adam;
                                                      }()});
  CHECK(more == 2 * sides);
}

TEST_CASE("SOAP over shards: each gradient in fp32 to its owner and each step back") {
  const TrainingStepUnderTest step{transformer(shape()), soap(4, 1)};
  CHECK(step.traffic("dp", Collective::all_to_all) == Traffic{6, 2 * 4 * kMatrices / 4});
  CHECK(preconditioning(step) == doctest::Approx(of_layers() / 4).epsilon(1e-12));
}

}  // namespace
}  // namespace lockstep::test::volumes
