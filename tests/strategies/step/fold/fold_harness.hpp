#pragma once

#include <cstdint>
#include <string>

#include "strategies/step/simulate.hpp"
#include "tests/strategies/step/random_layouts.hpp"

/// Steps folded and not, held against each other.
namespace lockstep::test {

/// A cluster file of configs/clusters with so many ranks.
[[nodiscard]] Cluster cluster_of(const std::string& file, int ranks);
/// Ranks on one switch.
[[nodiscard]] Cluster switched(int ranks);
/// Ranks on a grid of so many rows whose rows and columns close into rings.
[[nodiscard]] Cluster torus(int rows, int ranks);
/// One link after the other at half its bandwidth, drawn by `seed`.
[[nodiscard]] Cluster with_slow_link(const Cluster& cluster, std::uint64_t seed);
/// The same with one link between two switches, or two GPUs, gone; where there is none such, or no
/// other way, all are there.
[[nodiscard]] Cluster with_failed_link(const Cluster& cluster, std::uint64_t seed);

struct FoldCase {
  std::string name;
  RandomLayout layout;
  Cluster cluster;
  Device device{};
  SimulationOptions options{};
  double slowdown = 1;  // of computation while communicating
};

struct FoldOutcome {
  std::string difference;  // the first; empty: none
  std::size_t classes = 0;
  std::size_t ranks = 0;
};
/// All ranks, folded or not.
[[nodiscard]] SimulatedTrainingStep simulated_step(const FoldCase& fold_case, Folding fold);
/// Simulates both ways and compares every operation of every rank, links, transfers, algorithms;
/// then as a user does who says nothing of folding, whether that folds or not.
[[nodiscard]] FoldOutcome hold_against_unfolded(const FoldCase& fold_case);
[[nodiscard]] std::string first_difference(const SimulatedTrainingStep& folded,
                                           const SimulatedTrainingStep& unfolded);

}  // namespace lockstep::test
