#include <algorithm>
#include <map>

#include "sim/check.hpp"
#include "strategies/parallel/pipeline_order.hpp"
#include "strategies/parallel/step_assembly.hpp"

namespace lockstep {

namespace {

[[nodiscard]] bool starts_chain(const ModelGraph& graph) {
  return !graph.blocks[static_cast<std::size_t>(graph.chain.front())].input;
}

[[nodiscard]] bool ends_chain(const ModelGraph& graph) {
  return !graph.blocks[static_cast<std::size_t>(graph.chain.back())].output;
}

[[nodiscard]] std::vector<int> layers_of_chunks(int layers, const ParallelConfig& parallel) {
  if (!parallel.stages.empty()) return parallel.stages;
  const int chunks = parallel.pp * parallel.vpp;
  const int missing = parallel.short_edges ? 2 : 0;
  LOCKSTEP_CHECK((layers + missing) % chunks == 0);
  std::vector<int> out(static_cast<std::size_t>(chunks), (layers + missing) / chunks);
  if (parallel.short_edges) {
    --out.front();
    --out.back();
  }
  return out;
}

/// Writes the calls of one stage after another.
class Pipeline {
 public:
  explicit Pipeline(StepAssembly& step) : step_{step} {}

  void order() {
    for (int stage = 0; stage < step_.parallel.pp; ++stage) {
      StageScript script;
      script.role = static_cast<std::size_t>(stage);
      out_ = &script.calls;
      for (const PipelineStep& next : steps_of(stage)) add(stage, next);
      step_.stages.push_back(std::move(script));
    }
  }

 private:
  [[nodiscard]] std::vector<PipelineStep> steps_of(int stage) const {
    const auto microbatches = static_cast<int>(step_.parallel.microbatches());
    if (step_.parallel.pp > 1) {
      return pipeline_order(step_.parallel.schedule, step_.parallel.pp, stage, step_.parallel.vpp,
                            microbatches);
    }
    std::vector<PipelineStep> out;
    for (int m = 0; m < microbatches; ++m) {
      out.push_back({PipelineStep::Work::forward, m, 0});
      out.push_back({PipelineStep::Work::backward, m, 0});
    }
    return out;
  }

  void add(int stage, const PipelineStep& next) {
    const int chunk = next.chunk * step_.parallel.pp + stage;
    const auto [first, last] = step_.chunks[static_cast<std::size_t>(chunk)];
    switch (next.work) {
      case PipelineStep::Work::forward:
        forward(first, last, next.microbatch);
        return;
      case PipelineStep::Work::backward:
        backward(first, last, next.microbatch);
        if (step_.parallel.schedule >= PipelineOrder::zb_h1) {
          weight_gradients(first, last, next.microbatch);
        }
        return;
      case PipelineStep::Work::input_gradient:
        backward(first, last, next.microbatch);
        return;
      case PipelineStep::Work::weight_gradient:
        weight_gradients(first, last, next.microbatch);
        return;
    }
  }

  void forward(int first, int last, int microbatch) {
    if (first > 0) out_->push_back(transfer(first, microbatch, true, false));
    for (int position = first; position < last; ++position) {
      out_->push_back({Work::forward, {routines(position).forward, position, microbatch}});
    }
    if (last < positions()) out_->push_back(transfer(last, microbatch, true, true));
  }

  void backward(int first, int last, int microbatch) {
    if (last < positions()) out_->push_back(transfer(last, microbatch, false, false));
    for (int position = last; position-- > first;) {
      out_->push_back({Work::backward, {routines(position).backward, position, microbatch}});
    }
    if (first > 0) out_->push_back(transfer(first, microbatch, false, true));
  }

  void weight_gradients(int first, int last, int microbatch) {
    for (int position = last; position-- > first;) {
      out_->push_back(
          {Work::weight_gradient, {routines(position).weight_gradients, position, microbatch}});
    }
  }

  [[nodiscard]] int positions() const { return static_cast<int>(step_.graph.chain.size()); }
  [[nodiscard]] const StepAssembly::BlockRoutines& routines(int position) const {
    return step_
        .routines[static_cast<std::size_t>(step_.graph.chain[static_cast<std::size_t>(position)])];
  }

  /// The residual stream that enters `position`, or its gradient, sent or received.
  [[nodiscard]] ScriptCall transfer(int position, int microbatch, bool forward, bool send) {
    const Block& block = step_.block(position);
    const TensorId tensor = forward ? *block.input : *block.input_gradient;
    const auto key = std::tuple{tensor, forward, send};
    auto found = transfers_.find(key);
    if (found == transfers_.end()) {
      found = transfers_.emplace(key, make_transfer(tensor, forward, send)).first;
    }
    return {Work::other, {found->second, position, microbatch}};
  }

  [[nodiscard]] RoutineId make_transfer(TensorId tensor, bool forward, bool send) {
    Operation operation;
    operation.kind = send ? OperationKind::send : OperationKind::receive;
    operation.name = std::string{send ? "send." : "receive."} + (forward ? "forward" : "backward");
    operation.purpose = Purpose::communication;
    (send ? operation.reads : operation.writes) = {Ref{.tensor = tensor}};
    Communication how;
    how.over = step_.program.mesh.axis("pp");
    how.offset = send == forward ? 1 : -1;
    how.group = "pp";
    operation.communication = how;
    const bool overlaps = step_.parallel.overlaps(Overlap::pp);
    if (!send) operation.ahead = overlaps ? 1 : 0;
    if (!send || overlaps) operation.stream = step_.program.stream("pp." + operation.name);
    return step_.program.add(Routine{operation.name, {operation}});
  }

  StepAssembly& step_;
  std::vector<ScriptCall>* out_ = nullptr;
  std::map<std::tuple<TensorId, bool, bool>, RoutineId> transfers_;
};

}  // namespace

std::vector<std::pair<int, int>> chunk_positions(const ModelGraph& graph,
                                                 const ParallelConfig& parallel) {
  const int begin = starts_chain(graph) && graph.chain.size() > 1 ? 1 : 0;
  const int end =
      static_cast<int>(graph.chain.size()) - (ends_chain(graph) && graph.chain.size() > 1 ? 1 : 0);
  std::vector<std::pair<int, int>> out;
  int position = begin;
  for (const int layers : layers_of_chunks(end - begin, parallel)) {
    out.emplace_back(position, position + layers);
    position += layers;
  }
  LOCKSTEP_CHECK(position == end);
  out.front().first = 0;
  out.back().second = static_cast<int>(graph.chain.size());
  return out;
}

int StepAssembly::stage_of(int position) const {
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (position >= chunks[chunk].first && position < chunks[chunk].second) {
      return static_cast<int>(chunk) % parallel.pp;
    }
  }
  LOCKSTEP_CHECK(!"every position has a stage");
  return 0;
}

void order_pipeline(StepAssembly& step) {
  Pipeline{step}.order();
}

}  // namespace lockstep
