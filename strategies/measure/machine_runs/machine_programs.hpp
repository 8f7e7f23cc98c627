#pragma once

#include <string>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/measure/machine_runs/small_programs.hpp"

namespace lockstep {

/// One-device programs whose operations are measured individually. `is_host`: sizes for a CPU,
/// fp32; otherwise for GPUs, 16-bit, GEMMs also in fp32. `quick`: only a few.
struct ProgramsToMeasure {
  std::vector<Program> gemms{};
  std::vector<Program> attentions{};
  /// All other operations: norms, elementwise, embeddings, losses, optimizers; unfused attention,
  /// dropout, expert routing; convolutions, pooling, batch norms.
  std::vector<Program> steps{};
};
[[nodiscard]] ProgramsToMeasure programs_to_measure(bool is_host, bool quick);

/// A program that is not measured by operation but executed as a whole.
struct ProgramToCompare {
  std::string group{};  // layer, step
  std::string what{};   // "GPT of 12 x 768, 1024 tokens"
  Program program;
};
/// Layers of GPT and Llama, forward and backward, then training steps of both (on GPUs GPT-3 with
/// 125M to 1B parameters, Brown et al. 2020, table 2.1), of a mixture of experts and of a ResNet.
[[nodiscard]] std::vector<ProgramToCompare> programs_to_compare(bool is_host, bool quick);

}  // namespace lockstep
