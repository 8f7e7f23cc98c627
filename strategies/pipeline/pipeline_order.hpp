#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/layout/parallel_config.hpp"

namespace lockstep {

/// One pass of a stage over one microbatch and one model chunk.
struct PipelineStep {
  enum class Work : std::uint8_t {
    forward,
    backward,         // both gradients
    input_gradient,   // gradient of the input, which the previous stage waits for
    weight_gradient,  // gradient of the weights
  };
  Work work = Work::forward;
  int microbatch = 0;
  int chunk = 0;  // on this stage, 0 .. vpp - 1; chunk c of stage s is model chunk c * stages + s

  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};

/// The passes of one stage, in order. naive: one microbatch at a time, forward and backward through
/// the whole pipeline. gpipe: all forward passes, then all backward passes. one_f_one_b:
/// PipeDream-flush. interleaved: Megatron-LM's, with vpp chunks. zb_h1, zb_h2: Qi et al., arXiv
/// 2401.10241, section 3, with equal forward_time, backward_time and weight_time; zb_1p, zb_2p: the
/// same with the activation memory of one and of two times one_f_one_b. With one stage, backward is
/// not split.
/// Requires no pipeline_problem().
[[nodiscard]] std::vector<PipelineStep> pipeline_order(PipelineOrder order, int stages, int stage,
                                                       int chunks, int microbatches);

/// Why this schedule is impossible, and what would be possible; none if it is possible.
[[nodiscard]] std::optional<std::string> pipeline_problem(PipelineOrder order, int stages,
                                                          int chunks, int microbatches);

}  // namespace lockstep
