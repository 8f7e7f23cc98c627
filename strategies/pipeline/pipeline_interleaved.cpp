#include "strategies/pipeline/pipeline_interleaved.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using Work = PipelineStep::Work;

/// All forward chunks of a stage in their order; equal on every stage.
std::vector<PipelineStep> forward_chunks(int chunks, int microbatches, int group) {
  std::vector<PipelineStep> steps;
  for (int first = 0; first < microbatches; first += group) {
    const int end = std::min(first + group, microbatches);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int microbatch = first; microbatch < end; ++microbatch) {
        steps.push_back({Work::forward, microbatch, chunk});
      }
    }
  }
  return steps;
}

PipelineStep mirrored(PipelineStep step, int chunks) {
  return {Work::backward, step.microbatch, chunks - 1 - step.chunk};
}

}  // namespace

std::vector<PipelineStep> interleaved_order(int stages, int stage, int chunks, int microbatches,
                                            int group, int more) {
  const std::vector<PipelineStep> forward = forward_chunks(chunks, microbatches, group);
  const std::size_t total = forward.size();
  const std::size_t warm_up = std::min(
      total, static_cast<std::size_t>(interleaved_warm_up(stages, stage, chunks, group, more)));
  std::vector<PipelineStep> steps(forward.begin(),
                                  forward.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t k = 0; k < total; ++k) {
    if (k + warm_up < total) steps.push_back(forward[k + warm_up]);
    steps.push_back(mirrored(forward[k], chunks));
  }
  return steps;
}

}  // namespace lockstep
