#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/volumes/volumes.hpp"

/// What Muon sends, computes and keeps, against closed forms. Of every layer 4 matrices of h x h
/// and two of h x 4h, as stored 64 x 256 and 256 x 64.
namespace lockstep::test::volumes {
namespace {

constexpr std::int64_t kSquare = kH * kH;
constexpr std::int64_t kWide = 4 * kH * kH;
/// Parameters that Muon trains.
constexpr std::int64_t kMatrices = kLayers * (4 * kSquare + 2 * kWide);
/// Five iterations of 4 m^2 n + 2 m^3 (X X^T and B X with 2 m^2 n each, A A with 2 m^3).
constexpr std::int64_t newton_schulz(std::int64_t m, std::int64_t n) {
  return 5 * (4 * m * m * n + 2 * m * m * m);
}

ParallelConfig muon(int dp, int zero) {
  return layout(dp, zero, Optimizer::muon);
}

double orthogonalizing(const TrainingStepUnderTest& step) {
  return flops_of(step, OperationKind::orthogonalize);
}

TEST_CASE("Muon on one device: 5 (4 m^2 n + 2 m^3) FLOPs a matrix, and no message") {
  const TrainingStepUnderTest step{transformer(shape()), muon(1, 0)};
  CHECK(step.messages().empty());
  const auto all = kLayers * (4 * newton_schulz(kH, kH) + 2 * newton_schulz(kH, 4 * kH));
  CHECK(orthogonalizing(step) == static_cast<double>(all));
  ParallelConfig fewer = muon(1, 0);
  fewer.state.newton_schulz_steps = 3;
  CHECK(orthogonalizing({transformer(shape()), fewer}) == static_cast<double>(all) * 3 / 5);
}

TEST_CASE("Muon over shards: each matrix in 16 bits to its owner and back, its FLOPs once") {
  for (const int zero : {1, 2, 3}) {
    CAPTURE(zero);
    const TrainingStepUnderTest step{transformer(shape()), muon(4, zero)};
    // Three sizes; of each rank's 1/4 of the elements all but its own matrices' are sent.
    CHECK(step.traffic("dp", Collective::all_to_all) == Traffic{6, 2 * 2 * kMatrices / 4});
    const auto owned = kLayers * (4 * newton_schulz(kH, kH) + 2 * newton_schulz(kH, 4 * kH)) / 4;
    CHECK(orthogonalizing(step) == static_cast<double>(owned));
  }
}

TEST_CASE("Muon over shards: owners have as many matrices as the one with most") {
  // 16 squares on 3 ranks are 6, 6 and 4; 4 of the others 2, 2 and none.
  const TrainingStepUnderTest step{transformer(shape()), muon(3, 1)};
  const std::int64_t most = 6 * newton_schulz(kH, kH) + 2 * 2 * newton_schulz(kH, 4 * kH);
  CHECK(orthogonalizing(step) == static_cast<double>(most));
  // Shards of a third, rounded up: ceil(4096 / 3) = 1366, ceil(16384 / 3) = 5462.
  CHECK(step.traffic("dp", Collective::all_to_all) ==
        Traffic{6, 2 * 2 * (18 * 1366 + 2 * 6 * 5462)});
}

TEST_CASE("Muon on copies: each rank orthogonalizes its share, and all gather the updates") {
  const TrainingStepUnderTest step{transformer(shape()), muon(4, 0)};
  CHECK(step.traffic("dp", Collective::all_gather) == Traffic{3, 2 * kMatrices});
  CHECK(step.traffic("dp", Collective::all_to_all) == Traffic{});
  const auto owned = kLayers * (4 * newton_schulz(kH, kH) + 2 * newton_schulz(kH, 4 * kH)) / 4;
  CHECK(orthogonalizing(step) == static_cast<double>(owned));
}

TEST_CASE("Muon with tensor parallelism: blocks are gathered, and every rank has all FLOPs") {
  ParallelConfig with = muon(1, 0);
  with.tp = 4;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic("tp", Collective::all_gather, "update_matrices").bytes == 2 * kMatrices);
  const auto all = kLayers * (4 * newton_schulz(kH, kH) + 2 * newton_schulz(kH, 4 * kH));
  CHECK(orthogonalizing(step) == static_cast<double>(all));
}

TEST_CASE("Muon with blocks that stay where they are: Gram matrices are all-reduced") {
  ParallelConfig with = muon(1, 0);
  with.tp = 4;
  with.state.muon_blocks = MuonBlocks::distributed;
  const TrainingStepUnderTest step{transformer(shape()), with};
  // Of all matrices h x h: those that are cut by columns, by rows, up and down, five times.
  CHECK(step.traffic("tp", Collective::all_reduce, "update_matrices") ==
        Traffic{5 * 4, 5 * 2 * kLayers * 6 * kSquare});
  CHECK(step.traffic("tp", Collective::all_gather, "update_matrices") == Traffic{});
  // X X^T and B X of a fourth of a matrix, A A of it all.
  const auto block = [](std::int64_t cut) { return 5 * (4 * kSquare * cut + 2 * kSquare * kH); };
  double flops = 0;
  for (const RoleOperation& each : step.role().operations) {
    const OperationKind kind = each.operation->kind;
    if (kind != OperationKind::orthogonalize && kind != OperationKind::gram) continue;
    const Routine& routine = step.program().routines[each.call.routine];
    flops += kernel_of(step.program(), routine, each.index_in_routine).flops;
  }
  CHECK(flops == static_cast<double>(kLayers * (4 * block(kH / 4) + 2 * block(kH))));
}

TEST_CASE("Muon with blocks as matrices of their own: no message, and the FLOPs of blocks") {
  ParallelConfig with = muon(1, 0);
  with.tp = 4;
  with.state.muon_blocks = MuonBlocks::blockwise;
  const TrainingStepUnderTest step{transformer(shape()), with};
  for (const Message& message : step.messages()) CHECK(message.routine != "update_matrices");
  // h x h/4 of attention, h x h of the MLP's h x 4h.
  const auto blocks = kLayers * (4 * newton_schulz(kH / 4, kH) + 2 * newton_schulz(kH, kH));
  CHECK(orthogonalizing(step) == static_cast<double>(blocks));
}

TEST_CASE("Muon with symmetric products: half of X X^T and of A A") {
  ParallelConfig with = muon(1, 0);
  with.state.muon_syrk = true;
  const auto half = [](std::int64_t m, std::int64_t n) {
    return 5 * (m * m * n + m * m * m + 2 * m * m * n);
  };
  const auto all = kLayers * (4 * half(kH, kH) + 2 * half(kH, 4 * kH));
  CHECK(orthogonalizing({transformer(shape()), with}) == static_cast<double>(all));
}

TEST_CASE("Muon keeps one moment of a matrix, and Adam's two of all other weights") {
  const ModelConfig model = transformer(shape());
  const std::int64_t all = parameters(model);
  const TrainingStepUnderTest adam{model, layout()};
  CHECK(state_bytes(adam) == 12 * all);
  const TrainingStepUnderTest step{model, muon(1, 0)};
  CHECK(state_bytes(step) == 12 * all - 4 * kMatrices);
  ParallelConfig narrow = muon(1, 0);
  narrow.state.moments = Dtype::bf16;
  CHECK(state_bytes({model, narrow}) == 8 * all - 2 * kMatrices);
  // All matrices are of even size, so that shards of 4 are quarters.
  CHECK(state_bytes({model, muon(4, 1)}) <= 3 * all - kMatrices + 4 * 3 * 8 * kLayers * 4);
}

TEST_CASE("Muon: matrices of experts are each orthogonalized") {
  const TrainingStepUnderTest step{transformer(routed()), muon(1, 0)};
  // Squares of attention, a router of h x 8, and 8 experts with two of h x 2h.
  const auto all = kLayers * (4 * newton_schulz(kH, kH) + newton_schulz(8, kH) +
                              8 * 2 * newton_schulz(kH, 2 * kH));
  CHECK(orthogonalizing(step) == static_cast<double>(all));
}

TEST_CASE("Muon: the conditions of all passes hold in random layouts") {
  int layouts = 0;
  for (const RandomLayout& random : random_layouts(71, 150)) {
    ParallelConfig parallel = random.parallel;
    parallel.state.optimizer = Optimizer::muon;
    parallel.state.offload = false;
    parallel.update = UpdateStart::after_all;
    if (!layout_problems(random.model, parallel, parallel.ranks(), 8).empty()) continue;
    CAPTURE(to_string(random));
    CHECK_NOTHROW(build_program(random.model, parallel, 8, {.checks_passes = true}));
    ++layouts;
  }
  CHECK(layouts > 80);
}

TEST_CASE("Muon and SOAP: folded steps are unfolded ones, to the picosecond") {
  int layouts = 0;
  for (RandomLayout& random : random_layouts(31, 30)) {
    ParallelConfig& parallel = random.parallel;
    parallel.state.optimizer = layouts % 3 == 0 ? Optimizer::soap : Optimizer::muon;
    parallel.state.offload = false;
    parallel.update = UpdateStart::after_all;
    if (layouts % 2 == 0) parallel.state.muon_blocks = MuonBlocks::distributed;
    if (layouts % 4 == 1) parallel.state.muon_blocks = MuonBlocks::blockwise;
    const int ranks = parallel.ranks();
    if (ranks > 32 || !layout_problems(random.model, parallel, ranks, 8).empty()) continue;
    CAPTURE(to_string(random));
    const Cluster cluster = ranks % 8 == 0 ? cluster_of("dgx-a100", ranks) : switched(ranks);
    CHECK(hold_against_unfolded({"matrices", random, cluster}).difference == "");
    ++layouts;
  }
  CHECK(layouts > 15);
}

}  // namespace
}  // namespace lockstep::test::volumes
