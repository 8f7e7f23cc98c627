#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"

/// Orders of passes on all stages, each pass begun as soon as it can be: messages take no time, and
/// leave with the end of what makes them, of a joined pair with its end.
namespace lockstep::test {

using Work = PipelineStep::Work;

struct Times {
  int forward = 1;          // tF
  int input_gradient = 1;   // tB
  int weight_gradient = 1;  // tW

  /// Of one chunk; in all orders but the zero-bubble ones B and W are one step.
  [[nodiscard]] int of(Work work) const {
    switch (work) {
      case Work::forward:
        return forward;
      case Work::input_gradient:
        return input_gradient;
      case Work::weight_gradient:
        return weight_gradient;
      case Work::backward:
        return input_gradient + weight_gradient;
    }
    return 0;
  }
};

struct Pipeline {
  PipelineOrder order = PipelineOrder::gpipe;
  int stages = 1;
  int chunks = 1;
  int microbatches = 1;
  int group = 0;

  [[nodiscard]] std::vector<PipelineStep> of(int stage) const {
    return pipeline_order({order, stages, chunks, microbatches, group}, stage);
  }
};

/// A piece of work for which others wait: forward or the gradient of the input.
using Piece = std::tuple<bool, int, int>;  // forward?, number of the chunk of all, microbatch

/// Every stage in its order; a step begins when the stage is free and what it needs has arrived.
class Replay {
 public:
  Replay(const Pipeline& pipeline, Times times) : pipeline_(pipeline), times_(times) {
    for (int s = 0; s < pipeline.stages; ++s) stages_.push_back({pipeline.of(s), 0, 0, 0});
    while (advance()) {
    }
  }

  [[nodiscard]] bool ended() const {
    return std::all_of(stages_.begin(), stages_.end(),
                       [](const Stage& s) { return s.next == s.steps.size(); });
  }
  /// Idle time of the stage that has most of it, between its first step and its last.
  [[nodiscard]] int bubble() const {
    int most = 0;
    for (const Stage& s : stages_) most = std::max(most, s.free_at - s.began - work(s));
    return most;
  }

 private:
  struct Stage {
    std::vector<PipelineStep> steps;
    std::size_t next = 0;
    int free_at = 0;
    int began = 0;
  };

  [[nodiscard]] int work(const Stage& stage) const {
    int sum = 0;
    for (const PipelineStep& step : stage.steps) sum += times_.of(step.work);
    return sum;
  }

  /// When what a step needs is there; -1: not yet known.
  [[nodiscard]] int arrival(int stage, const PipelineStep& step) const {
    const int number = this->number(stage, step);
    if (step.work == Work::forward) {
      return is_first(number) ? 0 : sent({true, number - 1, step.microbatch});
    }
    if (step.work == Work::weight_gradient) return end_of({false, number, step.microbatch});
    const int own = end_of({true, number, step.microbatch});
    if (is_first(number + 1) || own < 0) return own;
    return sent({false, number + 1, step.microbatch});
  }

  /// Whether microbatches begin there: at the first chunk of all, and of the second copy of the
  /// model in DualPipe; one past the last chunk, too.
  [[nodiscard]] bool is_first(int number) const {
    const bool copies = pipeline_.order == PipelineOrder::dualpipe;
    return number % (pipeline_.stages * (copies ? 1 : pipeline_.chunks)) == 0;
  }

  /// Of the chunk in the model. In a V, the second chunks count back from the last stage, in
  /// DualPipe those of the second copy.
  [[nodiscard]] int number(int stage, const PipelineStep& step) const {
    const bool v = pipeline_.order >= PipelineOrder::zb_v;
    if (v && step.chunk == 1) return 2 * pipeline_.stages - 1 - stage;
    return step.chunk * pipeline_.stages + stage;
  }

  [[nodiscard]] int end_of(const Piece& piece) const {
    const auto found = ends_.find(piece);
    return found == ends_.end() ? -1 : found->second;
  }

  [[nodiscard]] int sent(const Piece& piece) const {
    const auto found = sent_.find(piece);
    return found == sent_.end() ? -1 : found->second;
  }

  bool advance() {
    bool moved = false;
    for (int s = 0; s < pipeline_.stages; ++s) {
      Stage& stage = stages_[static_cast<std::size_t>(s)];
      while (stage.next < stage.steps.size()) {
        const PipelineStep step = stage.steps[stage.next];
        const int ready = arrival(s, step);
        if (ready < 0) break;
        const int start = std::max(stage.free_at, ready);
        if (stage.next++ == 0) stage.began = start;
        stage.free_at = start + times_.of(step.work);
        if (step.work != Work::weight_gradient) {
          ends_[{step.work == Work::forward, number(s, step), step.microbatch}] = stage.free_at;
        }
        const bool joined = stage.next > 1 && stage.steps[stage.next - 2].joined;
        if (joined) {
          const PipelineStep& forward = stage.steps[stage.next - 2];
          sent_[{true, number(s, forward), forward.microbatch}] = stage.free_at;
        }
        if (step.work != Work::weight_gradient && !step.joined)
          sent_[{step.work == Work::forward, number(s, step), step.microbatch}] = stage.free_at;
        moved = true;
      }
    }
    return moved;
  }

  Pipeline pipeline_;
  Times times_;
  std::vector<Stage> stages_{};
  std::map<Piece, int> ends_{};
  std::map<Piece, int> sent_{};
};

inline int bubble(PipelineOrder order, int stages, int microbatches, Times times = {},
                  int chunks = 1) {
  const Replay replay({order, stages, chunks, microbatches}, times);
  CHECK(replay.ended());
  return replay.bubble();
}

/// The most chunks of microbatches whose activations a stage holds at once: from their forward pass
/// to the gradient of their weights.
inline int held(const Pipeline& pipeline, int stage) {
  int now = 0;
  int most = 0;
  for (const PipelineStep& step : pipeline.of(stage)) {
    if (step.work == Work::forward) most = std::max(most, ++now);
    if (step.work == Work::backward || step.work == Work::weight_gradient) --now;
  }
  return most;
}

}  // namespace lockstep::test
