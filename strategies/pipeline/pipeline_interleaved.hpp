#pragma once

#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"

namespace lockstep {

/// Interleaved 1F1B: a stage has `chunks` model chunks. Microbatches are processed in groups of
/// `stages`, each group through all chunks before the next. Stage i starts with 2 (stages - 1 - i)
/// + (chunks - 1) * stages forward passes, then alternates forward and backward.
/// Requires microbatches divisible by stages: a smaller last group can deadlock the first and last
/// stage.
/// Source: Narayanan et al., arXiv 2104.04473, section 2.2; Megatron-LM,
/// megatron/core/pipeline_parallel/schedules.py, get_schedule_table().
[[nodiscard]] std::vector<PipelineStep> interleaved_order(int stages, int stage, int chunks,
                                                          int microbatches);

}  // namespace lockstep
