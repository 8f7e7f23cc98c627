#pragma once

#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"

namespace lockstep {

/// Interleaved 1F1B: a stage has `chunks` parts of the chain. Microbatches go round in groups of as
/// many as there are stages, each group through all chunks before the next group begins. Stage i
/// begins with 2 (stages - 1 - i) + (chunks - 1) * stages forward chunks, then alternates.
/// In: microbatches a multiple of stages; with a smaller group at the end the first and the last
/// stage can come to wait for each other.
/// Source: Narayanan et al., arXiv 2104.04473, section 2.2; Megatron-LM,
/// megatron/core/pipeline_parallel/schedules.py, get_schedule_table().
[[nodiscard]] std::vector<PipelineStep> interleaved_order(int stages, int stage, int chunks,
                                                          int microbatches);

}  // namespace lockstep
