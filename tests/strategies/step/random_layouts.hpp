#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/step/build_program.hpp"

/// Layouts that layout_problems() has nothing against, drawn at random: models and strategies in
/// combination.
namespace lockstep::test {

struct RandomLayout {
  ModelConfig model;
  ParallelConfig parallel;

  [[nodiscard]] const TransformerConfig& shape() const { return *model.transformer(); }
};

/// The same seed, the same layouts. At most 32 ranks each.
[[nodiscard]] std::vector<RandomLayout> random_layouts(std::uint64_t seed, int count);

/// Whether layout_problems() has nothing against it on nodes of eight.
[[nodiscard]] bool possible(const RandomLayout& layout);

/// The strategies of a random layout, with momentum, on a model small enough to be run on real
/// numbers. Not always possible().
[[nodiscard]] RandomLayout shrunk(RandomLayout layout);

/// The strategies of a layout on an encoder with a decoder, which have all of the model's layers
/// together. Not always possible().
[[nodiscard]] RandomLayout encoder_decoder(RandomLayout layout);

/// The layout with experts, whose all-to-alls travel next to another microbatch's computation;
/// `draw` decides what it does not have yet. Not always possible().
[[nodiscard]] RandomLayout in_turn(RandomLayout layout, std::uint64_t draw);

/// "tp 2 cp 4 (ring) pp 1 dp 2 ep 2 zero 3 ...", to find a layout again.
[[nodiscard]] std::string to_string(const RandomLayout& layout);

}  // namespace lockstep::test
