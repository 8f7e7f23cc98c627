#pragma once

#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"

namespace lockstep {

/// Interleaved 1F1B: a stage has `chunks` model chunks. Microbatches are processed in groups of
/// `group` (Megatron-Core's microbatch_group_size_per_vp_stage), each group through all chunks
/// before the next. Stage i starts with 2 (stages - 1 - i) + (chunks - 1) * group forward passes,
/// then alternates forward and backward. Requires groups, the last included, of at least `stages`:
/// a smaller last group can deadlock the first and last stage. Source: Narayanan et al., arXiv
/// 2104.04473, section 2.2; Megatron-LM, megatron/core/pipeline_parallel/schedules.py,
/// get_schedule_table().
[[nodiscard]] std::vector<PipelineStep> interleaved_order(int stages, int stage, int chunks,
                                                          int microbatches, int group,
                                                          int more = 0);

/// Forward passes that stage `stage` has before its first backward pass, `more` than Megatron's:
/// where its microbatches have as many, there are no others.
[[nodiscard]] constexpr int interleaved_warm_up(int stages, int stage, int chunks, int group,
                                                int more) {
  return 2 * (stages - 1 - stage) + (chunks - 1) * group + more;
}

}  // namespace lockstep
