#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/step/build_program.hpp"

/// Plans that plan_problems() has nothing against, drawn at random: models and strategies in
/// combination.
namespace lockstep::test {

struct RandomPlan {
  ModelConfig model;
  ParallelConfig parallel;

  [[nodiscard]] const TransformerConfig& shape() const { return *model.transformer(); }
};

/// The same seed, the same plans. At most 32 ranks each.
[[nodiscard]] std::vector<RandomPlan> random_plans(std::uint64_t seed, int count);

/// Whether plan_problems() has nothing against it on nodes of eight.
[[nodiscard]] bool possible(const RandomPlan& plan);

/// The strategies of a random plan, with momentum, on a model small enough to be run on real
/// numbers. Not always possible().
[[nodiscard]] RandomPlan shrunk(RandomPlan plan);

/// "tp 2 cp 4 (ring) pp 1 dp 2 ep 2 zero 3 ...", to find a plan again.
[[nodiscard]] std::string to_string(const RandomPlan& plan);

}  // namespace lockstep::test
