#include "strategies/pipeline/pipeline_zero_bubble.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {
namespace {

using Work = PipelineStep::Work;

/// What one stage has done so far; microbatches pass in order.
struct Progress {
  int forwards = 0;
  int inputs = 0;   // B
  int weights = 0;  // W
  std::vector<PipelineStep> steps{};

  [[nodiscard]] int held() const { return forwards - weights; }
  void forward() { steps.push_back({Work::forward, forwards++, 0}); }
  void input() { steps.push_back({Work::input_gradient, inputs++, 0}); }
  void weight() { steps.push_back({Work::weight_gradient, weights++, 0}); }
};

/// Choices that the heuristic leaves open.
struct Taste {
  bool inputs_first = true;   // B before F where both are ready; else in turn
  bool weights_first = true;  // W before a ready B where memory keeps an F from beginning
};

/// One stage of the greedy pipeline: its progress and its clock, in units of one F, B or W.
struct GreedyStage {
  Progress done{};
  int free_at = 0;
  int first_start = 0;
  bool began = false;
  std::vector<int> forward_end{};  // per microbatch
  std::vector<int> input_end{};
};

class GreedyPipeline {
 public:
  GreedyPipeline(int stages, int microbatches, int held, Taste taste)
      : stages_(static_cast<std::size_t>(stages)),
        microbatches_(microbatches),
        held_(held),
        taste_(taste) {}

  void run() {
    for (int now = 0; left() > 0; ++now) {
      // No stage waits longer than all work takes one after the other.
      LOCKSTEP_CHECK(now <= 3 * microbatches_ * static_cast<int>(stages_.size()));
      for (std::size_t i = 0; i < stages_.size(); ++i) work(i, now);
    }
  }

  /// The longest time from a stage's first operation to the end of its last.
  [[nodiscard]] int span() const {
    int longest = 0;
    for (const GreedyStage& stage : stages_) {
      longest = std::max(longest, stage.free_at - stage.first_start);
    }
    return longest;
  }

  [[nodiscard]] std::vector<PipelineStep> steps(int stage) && {
    return std::move(stages_[static_cast<std::size_t>(stage)].done.steps);
  }

 private:
  [[nodiscard]] std::ptrdiff_t left() const {
    return std::count_if(stages_.begin(), stages_.end(), [this](const GreedyStage& stage) {
      return stage.done.weights < microbatches_;
    });
  }

  [[nodiscard]] bool forward_arrived(std::size_t i, int now) const {
    const int next = stages_[i].done.forwards;
    if (next == microbatches_) return false;
    if (i == 0) return true;
    const std::vector<int>& ends = stages_[i - 1].forward_end;
    return std::cmp_less(next, ends.size()) && ends[static_cast<std::size_t>(next)] <= now;
  }

  [[nodiscard]] bool input_arrived(std::size_t i, int now) const {
    const Progress& done = stages_[i].done;
    if (done.inputs == done.forwards) return false;
    if (i + 1 == stages_.size()) return true;
    const std::vector<int>& ends = stages_[i + 1].input_end;
    return std::cmp_less(done.inputs, ends.size()) &&
           ends[static_cast<std::size_t>(done.inputs)] <= now;
  }

  [[nodiscard]] std::optional<Work> choice(std::size_t i, int now) const {
    const Progress& done = stages_[i].done;
    const bool arrived = forward_arrived(i, now);
    const bool full = done.held() == held_;
    const bool forward = arrived && !full;
    const bool input = input_arrived(i, now);
    const bool weight = done.inputs > done.weights;
    if (weight && arrived && full && taste_.weights_first) return Work::weight_gradient;
    const bool turn = !done.steps.empty() && done.steps.back().work == Work::forward;
    if (input && (!forward || turn || taste_.inputs_first)) return Work::input_gradient;
    if (forward) return Work::forward;
    if (weight) return Work::weight_gradient;
    return std::nullopt;
  }

  void work(std::size_t i, int now) {
    GreedyStage& stage = stages_[i];
    if (stage.free_at > now) return;
    const std::optional<Work> what = choice(i, now);
    if (!what) return;
    if (!stage.began) stage.first_start = now;
    stage.began = true;
    stage.free_at = now + 1;
    if (*what == Work::forward) {
      stage.done.forward();
      stage.forward_end.push_back(now + 1);
    } else if (*what == Work::input_gradient) {
      stage.done.input();
      stage.input_end.push_back(now + 1);
    } else {
      stage.done.weight();
    }
  }

  std::vector<GreedyStage> stages_;
  int microbatches_;
  int held_;
  Taste taste_;
};

}  // namespace

std::vector<PipelineStep> handcrafted_zero_bubble(int microbatches, int warm_up, int held) {
  Progress done;
  while (done.forwards < std::min(warm_up, microbatches)) done.forward();
  while (done.inputs < microbatches) {
    if (done.forwards < microbatches) {
      if (done.held() == held) done.weight();
      done.forward();
    } else if (done.inputs > done.weights) {
      done.weight();
    }
    done.input();
  }
  while (done.weights < microbatches) done.weight();
  return done.steps;
}

std::vector<PipelineStep> greedy_zero_bubble(int stages, int stage, int microbatches, int held) {
  std::optional<GreedyPipeline> best;
  for (const bool inputs_first : {true, false}) {
    for (const bool weights_first : {true, false}) {
      GreedyPipeline pipeline(stages, microbatches, held, {inputs_first, weights_first});
      pipeline.run();
      if (!best || pipeline.span() < best->span()) best = std::move(pipeline);
    }
  }
  return std::move(*best).steps(stage);
}

}  // namespace lockstep
