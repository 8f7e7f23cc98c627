#include "strategies/step/bound/stage_passes.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "strategies/pipeline/pipeline_order.hpp"

namespace lockstep {

namespace {

using Work = PipelineStep::Work;

/// Counts the passes of one stage in their order.
class Counts {
 public:
  explicit Counts(int chunks) : now_(static_cast<std::size_t>(chunks)) {
    out_.forward = out_.backward = out_.held = now_;
  }

  void add(const PipelineStep& step) {
    if (step.work == Work::weight_gradient) return;
    const auto chunk = static_cast<std::size_t>(step.chunk);
    now_[chunk] += step.work == Work::forward ? 1 : -1;
    if (step.paired) {
      forward_ = step.chunk;
      return;
    }
    if (forward_ >= 0) {
      pair(step.chunk);
    } else if (step.work == Work::forward) {
      ++out_.forward[chunk];
    } else {
      ++out_.backward[chunk];
    }
    if (step.work != Work::forward) out_.ends_in_pair = forward_ >= 0;
    forward_ = -1;
    const int total = std::accumulate(now_.begin(), now_.end(), 0);
    if (total <= most_) return;
    most_ = total;
    out_.held = now_;
  }

  [[nodiscard]] StagePassCounts passes() && { return std::move(out_); }

 private:
  void pair(int backward) {
    for (StagePassCounts::Pair& each : out_.pairs) {
      if (each.forward != forward_ || each.backward != backward) continue;
      ++each.times;
      return;
    }
    out_.pairs.push_back({forward_, backward, 1});
  }

  StagePassCounts out_;
  std::vector<int> now_;
  int most_ = 0;
  int forward_ = -1;  // chunk of a forward pass whose backward pass comes next
};

}  // namespace

int StagePassCounts::paired_backward(int chunk) const {
  int out = 0;
  for (const Pair& each : pairs)
    if (each.backward == chunk) out += each.times;
  return out;
}

std::vector<StagePassCounts> passes_of_stages(const ParallelConfig& parallel) {
  PipelineShape shape = pipeline_shape(parallel);
  if (parallel.pp == 1) {
    shape.order = PipelineOrder::none;
    shape.chunks = 1;
  }
  std::vector<StagePassCounts> out;
  for (int stage = 0; stage < parallel.pp; ++stage) {
    Counts counts{chunks_of_stage(shape.order, shape.chunks)};
    for (const PipelineStep& step : pipeline_order(shape, stage)) counts.add(step);
    out.push_back(std::move(counts).passes());
  }
  return out;
}

bool sends_between(const ParallelConfig& parallel, int model_chunk) {
  const int chunks = parallel.pp * chunks_of_stage(parallel.schedule, parallel.vpp);
  if (parallel.pp == 1 || model_chunk < 0 || model_chunk + 1 == chunks) return false;
  if (begins_model(parallel.schedule, parallel.pp, model_chunk + 1)) return false;
  return !is_v(parallel.schedule) || model_chunk + 1 != parallel.pp;
}

}  // namespace lockstep
