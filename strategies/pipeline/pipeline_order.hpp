#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/layout/parallel_config.hpp"

namespace lockstep {

/// What a stage does next with a microbatch and one of its chunks.
struct PipelineStep {
  enum class Work : std::uint8_t {
    forward,
    backward,         // both halves
    input_gradient,   // the half that the stage before waits for
    weight_gradient,  // the other
  };
  Work work = Work::forward;
  int microbatch = 0;
  int chunk = 0;  // of the stage: 0 .. vpp - 1; chunk c of stage s is number c * stages + s of all

  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};

/// The order in which one stage works. naive: microbatch by microbatch, each all the way there and
/// back before the next begins (with one microbatch, one GPU is busy at a time). gpipe: all
/// forward, then all backward. one_f_one_b: PipeDream-flush. interleaved: Megatron-LM's, vpp
/// chunks. zb_h1, zb_h2: Qi et al., arXiv 2401.10241, section 3, where `forward_time` etc. are
/// equal; zb_1p and zb_2p likewise with the memory of one and two times that of one_f_one_b. On one
/// stage nobody waits for half a backward pass: none is cut in two.
/// Errors: none after pipeline_problem().
[[nodiscard]] std::vector<PipelineStep> pipeline_order(PipelineOrder order, int stages, int stage,
                                                       int chunks, int microbatches);

/// Why a pipeline cannot run so, and what would be possible.
[[nodiscard]] std::optional<std::string> pipeline_problem(PipelineOrder order, int stages,
                                                          int chunks, int microbatches);

}  // namespace lockstep
