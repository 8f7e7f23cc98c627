#include "tools/app/teach/pipeline_chart.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/base/check.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

using Work = PipelineStep::Work;

[[nodiscard]] PipelineShape shape_of(const PipelineChartRequest& request) {
  return {request.order, request.stages, request.chunks, request.microbatches, 0};
}

/// Starts passes in the order of their stages, as soon as what they read is there.
class ChartMaker {
 public:
  explicit ChartMaker(const PipelineChartRequest& request)
      : request_{request},
        places_{request.stages * chunks_of_stage(request.order, request.chunks)} {
    const auto all =
        static_cast<std::size_t>(places_) * static_cast<std::size_t>(request.microbatches);
    forward_end_.resize(all);
    forward_sent_.resize(all);
    backward_end_.resize(all);
    out_.request = request;
    for (int stage = 0; stage < request.stages; ++stage)
      orders_.push_back(pipeline_order(shape_of(request), stage));
    out_.stages.resize(orders_.size());
  }

  PipelineChart run() {
    bool advances = true;
    while (advances) {
      advances = false;
      for (std::size_t stage = 0; stage < orders_.size(); ++stage)
        while (take_next(stage)) advances = true;
    }
    for (std::size_t stage = 0; stage < orders_.size(); ++stage)
      LOCKSTEP_CHECK(out_.stages[stage].spans.size() == orders_[stage].size());
    sum_up();
    return std::move(out_);
  }

 private:
  using Ends = std::vector<std::optional<TimePoint>>;

  /// Position of a chunk in the model.
  [[nodiscard]] int place_of(std::size_t stage, const PipelineStep& step) const {
    return model_chunk(request_.order, request_.stages, static_cast<int>(stage), step.chunk);
  }
  [[nodiscard]] std::size_t index(int place, int microbatch) const {
    return (static_cast<std::size_t>(place) * static_cast<std::size_t>(request_.microbatches)) +
           static_cast<std::size_t>(microbatch);
  }

  [[nodiscard]] Duration time_of(Work work) const {
    const auto share = [this](Duration whole) {
      return Duration::picoseconds(whole.ps() / request_.chunks);
    };
    switch (work) {
      case Work::forward:
        return share(request_.forward);
      case Work::backward:
        return share(request_.backward) + share(request_.weight);
      case Work::input_gradient:
        return share(request_.backward);
      case Work::weight_gradient:
        return share(request_.weight);
    }
    LOCKSTEP_CHECK(false);
  }

  /// What another place has computed, when it is here; none: not yet computed.
  [[nodiscard]] std::optional<TimePoint> arrival(const Ends& ends, int place,
                                                 int microbatch) const {
    const auto& end = ends[index(place, microbatch)];
    if (!end) return std::nullopt;
    return request_.stages > 1 ? *end + request_.send : *end;
  }

  /// When the input of a pass is there; none: not yet computed.
  [[nodiscard]] std::optional<TimePoint> input_of(std::size_t stage,
                                                  const PipelineStep& step) const {
    const int place = place_of(stage, step);
    switch (step.work) {
      case Work::forward:
        return begins_model(request_.order, request_.stages, place)
                   ? TimePoint{}
                   : arrival(forward_sent_, place - 1, step.microbatch);
      case Work::weight_gradient:
        return backward_end_[index(place, step.microbatch)];
      case Work::backward:
      case Work::input_gradient:
        break;
    }
    if (place == places_ - 1 || begins_model(request_.order, request_.stages, place + 1))
      return forward_end_[index(place, step.microbatch)];
    return arrival(backward_end_, place + 1, step.microbatch);
  }

  bool take_next(std::size_t stage) {
    auto& spans = out_.stages[stage].spans;
    if (spans.size() == orders_[stage].size()) return false;
    const PipelineStep& step = orders_[stage][spans.size()];
    const auto input = input_of(stage, step);
    if (!input) return false;
    const TimePoint free = spans.empty() ? TimePoint{} : spans.back().end;
    const TimePoint start = std::max(free, *input);
    const TimePoint end = start + time_of(step.work);
    spans.push_back({step, start, end});
    if (step.work == Work::forward)
      forward_end_[index(place_of(stage, step), step.microbatch)] = end;
    // With the end of its pair.
    const PipelineStep& sent = spans.size() > 1 && spans[spans.size() - 2].step.joined
                                   ? spans[spans.size() - 2].step
                                   : step;
    if (sent.work == Work::forward && (&sent != &step || !step.joined))
      forward_sent_[index(place_of(stage, sent), sent.microbatch)] = end;
    if (step.work == Work::backward || step.work == Work::input_gradient)
      backward_end_[index(place_of(stage, step), step.microbatch)] = end;
    return true;
  }

  void sum_up() {
    TimePoint last;
    for (const PipelineStage& stage : out_.stages) last = std::max(last, stage.spans.back().end);
    out_.step = last.since_start();
    for (const PipelineSpan& span : out_.stages.front().spans) out_.ideal += span.end - span.start;
    for (PipelineStage& stage : out_.stages) {
      stage.idle = out_.step - out_.ideal;
      hold(stage);
    }
    if (out_.ideal > Duration{})
      out_.bubble = (out_.step - out_.ideal).seconds() / out_.ideal.seconds();
    ParallelConfig parallel;
    parallel.pp = request_.stages;
    parallel.vpp = request_.chunks;
    parallel.schedule = request_.order;
    parallel.micro_batch = 1;
    parallel.global_batch = request_.microbatches;
    out_.formula = bubble_formula(parallel);
  }

  /// Activations are held from the start of the forward pass to the end of the last half of the
  /// backward pass.
  static void hold(PipelineStage& stage) {
    const bool split = std::any_of(
        stage.spans.begin(), stage.spans.end(),
        [](const PipelineSpan& span) { return span.step.work == Work::weight_gradient; });
    int held = 0;
    for (const PipelineSpan& span : stage.spans) {
      if (span.step.work == Work::forward) {
        stage.held.push_back({span.start, ++held});
      } else if (span.step.work == (split ? Work::weight_gradient : Work::backward)) {
        stage.held.push_back({span.end, --held});
      }
      stage.most_held = std::max(stage.most_held, held);
    }
  }

  PipelineChartRequest request_;
  int places_;
  std::vector<std::vector<PipelineStep>> orders_;
  Ends forward_sent_;
  Ends forward_end_;
  Ends backward_end_;
  PipelineChart out_;
};

}  // namespace

PipelineChart chart_pipeline(const PipelineChartRequest& request) {
  if (const auto problem = pipeline_problem(shape_of(request)))
    throw RequestError("schedule", *problem);
  return ChartMaker(request).run();
}

}  // namespace lockstep::app
