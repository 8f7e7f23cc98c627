#pragma once

#include <string>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/measure/machine_runs/small_programs.hpp"

namespace lockstep {

/// Programs of one device whose operations are measured one by one. `is_host`: sizes for a
/// processor, in fp32; else for GPUs, in 16 bits, GEMMs in fp32 too. `quick`: few of them.
struct ProgramsToMeasure {
  std::vector<Program> gemms{};
  std::vector<Program> attentions{};
  /// Everything else: norms, elementwise work, embeddings, losses, optimizers; stored scores,
  /// dropout, routing of experts; convolutions, pools, batch norms.
  std::vector<Program> steps{};
};
[[nodiscard]] ProgramsToMeasure programs_to_measure(bool is_host, bool quick);

/// Programs that no measurement was made of, to be done as a whole.
struct ProgramToCompare {
  std::string group{};  // layer, step
  std::string what{};   // "GPT of 12 x 768, 1024 tokens"
  Program program;
};
/// Layers of GPT and Llama forward and backward, then training steps of both, of GPUs those of
/// GPT-3 with 125M to 1B parameters (Brown et al. 2020, table 2.1); a step with experts and one of
/// a ResNet.
[[nodiscard]] std::vector<ProgramToCompare> programs_to_compare(bool is_host, bool quick);

}  // namespace lockstep
