#include "strategies/pipeline/pipeline_v.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "sim/base/check.hpp"

namespace lockstep {
namespace {

using Work = PipelineStep::Work;

constexpr int kPeriod = 6;  // F, B and W of two chunks

/// Passes between the begin of a pass on one stage and on the next, in the order of a microbatch: F
/// down, F back, B down, B back.
struct Strides {
  int forward_down = 1;
  int forward_back = 1;
  int backward_down = 1;
  int backward_back = 1;
};

Strides strides_of(PipelineOrder order) {
  if (order == PipelineOrder::zb_v) return {4, 2, 4, 2};
  if (order == PipelineOrder::v_half) return {2, 1, 2, 1};
  return {1, 1, 1, 1};
}

/// When the passes of microbatch 0 begin on a stage; those of microbatch m begin m periods later.
struct StageBlock {
  std::array<int, 4> begin{};    // F of chunks 0, 1; B of chunks 1, 0
  std::array<int, 2> weights{};  // W of chunks 1, 0

  [[nodiscard]] static int slot(int time) { return time % kPeriod; }
  /// Whether no two passes of different microbatches meet.
  [[nodiscard]] bool fits() const {
    std::array<bool, kPeriod> taken{};
    for (const int time : begin) {
      if (taken[static_cast<std::size_t>(slot(time))]) return false;
      taken[static_cast<std::size_t>(slot(time))] = true;
    }
    return true;
  }
  /// Each W in the first free slot after its B.
  void place_weights() {
    std::array<bool, kPeriod> taken{};
    for (const int time : begin) taken[static_cast<std::size_t>(slot(time))] = true;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = begin[2 + i] + 1;
      while (taken[static_cast<std::size_t>(slot(weights[i]))]) ++weights[i];
      taken[static_cast<std::size_t>(slot(weights[i]))] = true;
    }
  }
};

using StageBlocks = std::vector<StageBlock>;

/// `turns`: passes from the end of a way to the begin of the next, where it turns.
std::optional<StageBlocks> block_of(const Strides& strides, const std::array<int, 3>& turns,
                                    int stages) {
  const int last = stages - 1;
  const int back = strides.forward_down * last + turns[0];
  const int down = back + strides.forward_back * last + turns[1];
  const int home = down + strides.backward_down * last + turns[2];
  StageBlocks out;
  for (int i = 0; i < stages; ++i) {
    StageBlock stage;
    stage.begin = {strides.forward_down * i, back + strides.forward_back * (last - i),
                   down + strides.backward_down * i, home + strides.backward_back * (last - i)};
    if (!stage.fits()) return std::nullopt;
    stage.place_weights();
    out.push_back(stage);
  }
  return out;
}

/// With the shortest turns at which no passes meet.
StageBlocks shortest_block(PipelineOrder order, int stages) {
  const Strides strides = strides_of(order);
  std::optional<StageBlocks> best;
  int least = 3 * kPeriod + 1;
  std::array<int, 3> turns{};
  for (turns[0] = 1; turns[0] <= kPeriod; ++turns[0])
    for (turns[1] = 1; turns[1] <= kPeriod; ++turns[1])
      for (turns[2] = 1; turns[2] <= kPeriod; ++turns[2]) {
        const int sum = turns[0] + turns[1] + turns[2];
        if (sum >= least) continue;
        if (auto block = block_of(strides, turns, stages)) {
          best = std::move(block);
          least = sum;
        }
      }
  LOCKSTEP_CHECK(best.has_value());
  return *best;
}

/// F and B of all microbatches in the block's order, and the most chunks held at once.
struct BlockOrder {
  std::vector<PipelineStep> steps{};
  int held = 0;
};

BlockOrder in_block_order(const StageBlock& stage, int microbatches) {
  constexpr std::array<int, 4> kChunks{0, 1, 1, 0};
  std::vector<std::pair<int, PipelineStep>> timed;
  for (int m = 0; m < microbatches; ++m) {
    for (std::size_t i = 0; i < 4; ++i)
      timed.push_back({stage.begin[i] + m * kPeriod,
                       {i < 2 ? Work::forward : Work::input_gradient, m, kChunks[i]}});
    for (std::size_t i = 0; i < 2; ++i)
      timed.push_back({stage.weights[i] + m * kPeriod, {Work::weight_gradient, m, i == 0 ? 1 : 0}});
  }
  std::sort(timed.begin(), timed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  BlockOrder out;
  int held = 0;
  for (const auto& [time, step] : timed) {
    if (step.work == Work::weight_gradient) {
      --held;
      continue;
    }
    if (step.work == Work::forward) out.held = std::max(out.held, ++held);
    out.steps.push_back(step);
  }
  return out;
}

/// Runs the F and B of all stages in their order, each as soon as what it reads is there, and fills
/// the gaps with W. F, B and W take one unit each.
class VPipeline {
 public:
  VPipeline(PipelineOrder order, int stages, int microbatches)
      : order_{order}, stages_{stages}, microbatches_{microbatches} {
    for (const StageBlock& block : shortest_block(order, stages)) {
      BlockOrder of = in_block_order(block, microbatches);
      held_ = std::max(held_, of.held);
      all_.push_back({std::move(of.steps), {}, {}, 0, 0, 0});
    }
    const auto passes =
        2 * static_cast<std::size_t>(stages) * static_cast<std::size_t>(microbatches);
    forward_end_.resize(passes, -1);
    input_end_.resize(passes, -1);
  }

  [[nodiscard]] std::vector<PipelineStep> steps(int stage) {
    int left = stages_;
    for (int now = 0; left > 0; ++now) {
      LOCKSTEP_CHECK(now <= 2 * kPeriod * microbatches_ * stages_);
      left = 0;
      for (int i = 0; i < stages_; ++i) {
        Stage& one = at(i);
        if (one.free_at <= now) work(i, now);
        if (one.next < one.order.size() || one.waiting < one.inputs.size()) ++left;
      }
    }
    return std::move(at(stage).done);
  }

 private:
  struct Stage {
    std::vector<PipelineStep> order;   // F and B
    std::vector<PipelineStep> inputs;  // B that are done
    std::vector<PipelineStep> done;
    std::size_t next = 0;     // of order
    std::size_t waiting = 0;  // of inputs: the first without its W
    int free_at = 0;
    int held = 0;
  };

  [[nodiscard]] Stage& at(int stage) { return all_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] std::size_t pass(int chunk, int microbatch) const {
    return static_cast<std::size_t>(chunk) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }

  /// When what a pass reads is there; -1: not yet known.
  [[nodiscard]] int arrival(int stage, const PipelineStep& step) const {
    const int chunk = model_chunk(order_, stages_, stage, step.chunk);
    if (step.work == Work::forward)
      return chunk == 0 ? 0 : forward_end_[pass(chunk - 1, step.microbatch)];
    if (chunk == 2 * stages_ - 1) return forward_end_[pass(chunk, step.microbatch)];
    return input_end_[pass(chunk + 1, step.microbatch)];
  }

  void work(int i, int now) {
    Stage& stage = at(i);
    if (stage.next < stage.order.size()) {
      const PipelineStep& step = stage.order[stage.next];
      const int ready = arrival(i, step);
      const bool full = step.work == Work::forward && stage.held == held_;
      if (ready >= 0 && ready <= now && !full) return run(i, step, now + 1);
    }
    if (stage.waiting == stage.inputs.size()) return;
    const PipelineStep& of = stage.inputs[stage.waiting++];
    stage.done.push_back({Work::weight_gradient, of.microbatch, of.chunk});
    --stage.held;
    stage.free_at = now + 1;
  }

  void run(int i, const PipelineStep& step, int end) {
    Stage& stage = at(i);
    const bool forward = step.work == Work::forward;
    std::vector<int>& ends = forward ? forward_end_ : input_end_;
    ends[pass(model_chunk(order_, stages_, i, step.chunk), step.microbatch)] = end;
    if (forward) ++stage.held;
    if (!forward) stage.inputs.push_back(step);
    stage.done.push_back(step);
    ++stage.next;
    stage.free_at = end;
  }

  PipelineOrder order_;
  int stages_;
  int microbatches_;
  int held_ = 0;
  std::vector<Stage> all_{};
  std::vector<int> forward_end_{};  // by chunk of the model and microbatch
  std::vector<int> input_end_{};
};

/// Writes one stage of DualPipeV: microbatches of each chunk pass in order.
class DualPipeV {
 public:
  void forward(std::size_t chunk) { add(Work::forward, forwards_[chunk]++, chunk); }
  void backward(std::size_t chunk) { add(Work::backward, backwards_[chunk]++, chunk); }
  void input(std::size_t chunk) {
    const int microbatch = backwards_[chunk]++;
    add(Work::input_gradient, microbatch, chunk);
    waiting_.push_back({Work::weight_gradient, microbatch, static_cast<int>(chunk)});
  }
  void weight() { steps_.push_back(waiting_[next_++]); }
  /// Both are sent at the end (dualpipe.py, _forward_backward_chunk).
  void pair(std::size_t forward_chunk, std::size_t backward_chunk, bool in_turn) {
    forward(forward_chunk);
    steps_.back().joined = true;
    steps_.back().paired = in_turn;
    backward(backward_chunk);
  }
  [[nodiscard]] std::vector<PipelineStep> steps() && {
    LOCKSTEP_CHECK(next_ == waiting_.size());
    return std::move(steps_);
  }

 private:
  void add(Work work, int microbatch, std::size_t chunk) {
    steps_.push_back({work, microbatch, static_cast<int>(chunk)});
  }

  std::array<int, 2> forwards_{};
  std::array<int, 2> backwards_{};
  std::vector<PipelineStep> waiting_{};  // W whose B is done
  std::size_t next_ = 0;
  std::vector<PipelineStep> steps_{};
};

template <class Each>
void repeat(int times, Each&& each) {
  for (int i = 0; i < times; ++i) each(i);
}

}  // namespace

std::vector<PipelineStep> v_order(PipelineOrder order, int stages, int stage, int microbatches) {
  return VPipeline{order, stages, microbatches}.steps(stage);
}

std::vector<PipelineStep> dualpipe_v_order(int stages, int stage, int microbatches, bool pairs) {
  const int later = stages - 1 - stage;
  DualPipeV out;
  repeat(2 * later, [&](int) { out.forward(0); });
  repeat(stage + 1, [&](int) {
    out.forward(0);
    out.forward(1);
  });
  repeat(later, [&](int) {
    out.input(1);
    out.weight();
    out.forward(1);
  });
  // On the last stage the first backward pass waits for no other and is not to wait for this one.
  repeat(microbatches - 2 * stages + stage + 1, [&](int i) {
    out.pair(0, 1, pairs && (i > 0 || later > 0));
    out.pair(1, 0, pairs);
  });
  repeat(later, [&](int) {
    out.backward(1);
    out.pair(1, 0, pairs);
  });
  // The second half of these leaves W for later: it begins with B of chunk 1 on odd stages.
  const int half = (stage + 1) / 2;
  repeat(stage + 1, [&](int i) {
    const bool second = i > half || (i == half && stage % 2 == 1);
    if (second) {
      out.input(1);
    } else {
      out.backward(1);
    }
    if (second || i == half) {
      out.input(0);
    } else {
      out.backward(0);
    }
  });
  repeat(later, [&](int) {
    out.weight();
    out.input(0);
  });
  repeat(stage + 1, [&](int) { out.weight(); });
  return std::move(out).steps();
}

std::vector<PipelineStep> dualpipe_order(int stages, int stage, int microbatches, bool pairs) {
  const int half = microbatches / 2;
  const bool second_half = 2 * stage >= stages;
  std::vector<PipelineStep> out =
      dualpipe_v_order(stages / 2, std::min(stage, stages - 1 - stage), half, pairs);
  for (PipelineStep& step : out) {
    if (second_half) step.chunk = 1 - step.chunk;
    if (step.chunk == 1) step.microbatch += half;
  }
  return out;
}

}  // namespace lockstep
