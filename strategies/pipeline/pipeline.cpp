#include <algorithm>
#include <compare>
#include <map>

#include "sim/base/check.hpp"
#include "strategies/layout/passes.hpp"
#include "strategies/pipeline/chunk_positions.hpp"
#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

[[nodiscard]] bool starts_chain(const ModelGraph& graph) {
  return !graph.blocks[static_cast<std::size_t>(graph.chain.front())].input;
}

[[nodiscard]] bool ends_chain(const ModelGraph& graph) {
  return !graph.blocks[static_cast<std::size_t>(graph.chain.back())].output;
}

[[nodiscard]] ChainOfLayers chain_of(const ModelGraph& graph) {
  ChainOfLayers out{static_cast<int>(graph.chain.size())};
  out.first_is_layer = !starts_chain(graph) || out.positions == 1;
  out.last_is_layer = !ends_chain(graph) || out.positions == 1;
  out.between_stacks = between_stacks(graph);
  return out;
}

void make_roles(Program& program, const ParallelConfig& parallel) {
  const MeshSubAxes pp = program.mesh.axis("pp");
  for (int stage = 0; stage < parallel.pp; ++stage) {
    Role role;
    role.name = parallel.pp > 1 ? "stage " + std::to_string(stage) : "rank";
    int place = place_of_stage(parallel.schedule, parallel.pp, stage);
    for (std::size_t i = pp.size(); i-- > 0;) {
      const int size = program.mesh.size({&pp[i], 1});
      role.fixed.emplace_back(pp[i], place % size);
      place /= size;
    }
    program.roles.push_back(std::move(role));
  }
}

/// Each copy of the model has the loss of its microbatches.
void sum_losses(TrainingStepAssembly& step) {
  const MeshSubAxes copies = step.program.mesh.axis("copies");
  for (const Block& block : step.graph.blocks)
    for (const Operation& operation : block.forward) {
      if (operation.kind != OperationKind::loss) continue;
      Tensor& loss = step.graph.tensors[write_of(operation, Operand::loss).tensor];
      loss.partial = joined(loss.partial, copies);
    }
}

/// Writes the calls of one stage after another.
class Pipeline {
 public:
  explicit Pipeline(TrainingStepAssembly& step) : step_{step} {}

  void order() {
    for (int stage = 0; stage < step_.parallel.pp; ++stage) {
      step_.stages.push_back({static_cast<std::size_t>(stage), {}});
      out_ = &step_.stages.back().calls;
      bool ends_pair = false;
      for (const PipelineStep& next : steps_of(stage)) {
        // A pass with calls that are put off is put in order as pairs are.
        const bool puts_off = delays() && next.work == PipelineStep::Work::backward;
        if (next.paired || (puts_off && pair_ == 0)) pair_ = ++pairs_;
        puts_sends_off_ = next.joined || ends_pair;
        add(stage, next);
        if (ends_pair) send_what_waits();
        ends_pair = next.joined;
        if (!next.paired) pair_ = 0;
      }
    }
  }

 private:
  [[nodiscard]] bool delays() const { return step_.parallel.delay_wgrad_compute; }

  [[nodiscard]] std::vector<PipelineStep> steps_of(int stage) const {
    PipelineShape shape = pipeline_shape(step_.parallel);
    if (step_.parallel.pp == 1) {
      shape.order = PipelineOrder::none;
      shape.stages = shape.chunks = 1;
    }
    return pipeline_order(shape, stage);
  }

  void add(int stage, const PipelineStep& next) {
    const int chunk = model_chunk(step_.parallel.schedule, step_.parallel.pp, stage, next.chunk);
    const auto [first, last] = step_.chunks[static_cast<std::size_t>(chunk)];
    switch (next.work) {
      case PipelineStep::Work::forward:
        forward(chunk, next.microbatch);
        return;
      case PipelineStep::Work::backward:
        backward(chunk, next.microbatch);
        if (step_.parallel.splits_backward()) {
          weight_gradients(first, last, next.microbatch);
        }
        return;
      case PipelineStep::Work::input_gradient:
        backward(chunk, next.microbatch);
        return;
      case PipelineStep::Work::weight_gradient:
        weight_gradients(first, last, next.microbatch);
        return;
    }
  }

  void forward(int chunk, int microbatch) {
    const auto [first, last] = step_.chunks[static_cast<std::size_t>(chunk)];
    receive(first, microbatch, true, -way(chunk - 1));
    for (int position = first; position < last; ++position) {
      out_->push_back(
          {CallWork::forward, {routines(position).forward, position, microbatch}, pair_});
    }
    send(last, microbatch, true, way(chunk));
  }

  void backward(int chunk, int microbatch) {
    const auto [first, last] = step_.chunks[static_cast<std::size_t>(chunk)];
    receive(last, microbatch, false, way(chunk));
    for (int position = last; position-- > first;) {
      out_->push_back(
          {CallWork::backward, {routines(position).backward, position, microbatch}, pair_});
      if (delays() && position > first) weight_gradients(position, position + 1, microbatch);
    }
    send(first, microbatch, false, -way(chunk - 1));
    if (delays() && last > first) weight_gradients(first, first + 1, microbatch);
  }

  /// From the stage of a chunk to that of the next: places ahead along pp, 0 if that is the same
  /// one or if there is no such chunk.
  [[nodiscard]] int way(int chunk) const {
    const int stages = step_.parallel.pp;
    const PipelineOrder schedule = step_.parallel.schedule;
    if (chunk < 0 || chunk + 1 == static_cast<int>(step_.chunks.size())) return 0;
    if (begins_model(schedule, stages, chunk + 1)) return 0;
    const auto place = [&](int of) {
      return place_of_stage(schedule, stages, stage_of_chunk(schedule, stages, of));
    };
    if (is_bidirectional(schedule)) return place(chunk + 1) - place(chunk);
    if (!is_v(schedule)) return 1;
    if (chunk + 1 == stages) return 0;
    return chunk < stages ? 1 : -1;
  }

  /// The residual stream that enters `position`, or its gradient; `way`: the stage of the other
  /// end, relative to this one. With it goes what all layers from there on read, if it is made
  /// before, or the sum so far of its gradient.
  void receive(int position, int microbatch, bool forward, int way) {
    transfer(position, microbatch, {forward, false, way});
  }
  void send(int position, int microbatch, bool forward, int way) {
    if (puts_sends_off_) {
      waiting_.push_back({position, microbatch, {forward, true, way, true}});
    } else {
      transfer(position, microbatch, {forward, true, way});
    }
  }
  void send_what_waits() {
    for (const Waiting& each : waiting_) transfer(each.position, each.microbatch, each.message);
    waiting_.clear();
  }

  void weight_gradients(int first, int last, int microbatch) {
    for (int position = last; position-- > first;) {
      out_->push_back({CallWork::weight_gradient,
                       {routines(position).weight_gradients, position, microbatch},
                       pair_});
    }
  }

  [[nodiscard]] const TrainingStepAssembly::BlockRoutines& routines(int position) const {
    return step_
        .routines[static_cast<std::size_t>(step_.graph.chain[static_cast<std::size_t>(position)])];
  }

  struct Message {
    bool forward = true;
    bool send = true;
    int way = 1;
    bool waits = false;  // for all computation before it

    friend auto operator<=>(const Message&, const Message&) = default;
  };
  struct Waiting {
    int position = 0;
    int microbatch = 0;
    Message message{};
  };

  void transfer(int position, int microbatch, const Message& message) {
    if (message.way == 0) return;
    const Block& block = step_.block(position);
    transfer({.tensor = message.forward ? *block.input : *block.input_gradient}, position,
             microbatch, message);
    const auto& shared = step_.graph.shared;
    if (!shared || position <= shared->position) return;
    transfer(message.forward ? shared->read() : shared->sum(), position, microbatch, message);
  }

  void transfer(const Ref& what, int position, int microbatch, const Message& message) {
    const auto key = std::pair{what.tensor, message};
    auto found = transfers_.find(key);
    if (found == transfers_.end())
      found = transfers_.emplace(key, make_transfer(what, message)).first;
    out_->push_back({CallWork::other, {found->second, position, microbatch}});
  }

  [[nodiscard]] RoutineId make_transfer(const Ref& what, const Message& message) {
    const auto& [forward, send, way, waits] = message;
    const TensorId tensor = what.tensor;
    Operation operation;
    operation.kind = send ? OperationKind::send : OperationKind::receive;
    operation.name = std::string{send ? "send." : "receive."} + (what.position ? "shared." : "") +
                     (forward ? "forward" : "backward");
    operation.purpose = Purpose::communication;
    Communication how;
    how.over = step_.program.mesh.axis("pp");
    how.offset = way;
    how.group = "pp";
    operation.communication = how;
    const bool overlaps = step_.parallel.overlaps(Overlap::pp);
    if (!send) operation.ahead = overlaps ? 1 : 0;
    if (waits) operation.ahead = 0;
    // Of two messages the sender does not wait for the second one's room.
    if (!send || overlaps || step_.graph.shared)
      operation.stream = step_.program.stream(std::string{"pp."} + (send ? "send." : "receive.") +
                                              (forward ? "forward" : "backward"));
    const bool in_parts = forward || step_.parallel.gradient_messages_in_parts;
    const std::optional<TensorId> part = in_parts ? part_of(tensor) : std::nullopt;
    const Ref moved = part ? Ref{.tensor = *part} : what;
    (send ? operation.reads : operation.writes) = {moved};
    Routine out{operation.name, {operation}};
    if (part && send) {
      out.operations.insert(out.operations.begin(), slice(what, *part));
    } else if (part) {
      out.operations.push_back(gather(*part, what));
    }
    return step_.program.add(std::move(out));
  }

  /// Ranks along tp that all have the same residual stream send a part of it each, and put it
  /// together on the other side (Narayanan et al., arXiv 2104.04473, section 4.1). None where it is
  /// cut anyway, or cannot be.
  [[nodiscard]] std::optional<TensorId> part_of(TensorId tensor) {
    const MeshSubAxes tp = step_.program.mesh.axis("tp");
    const Extent* sequence = find_extent(step_.graph.tensors[tensor], Dim::sequence);
    if (tp.empty() || sequence == nullptr || !common(sequence->shards, tp).empty()) return {};
    const int parts = step_.program.mesh.size(joined(sequence->shards, tp));
    if (sequence->zigzag || sequence->size % parts != 0) return {};
    const auto known = parts_.find(tensor);
    if (known != parts_.end()) return known->second;
    Tensor part = step_.graph.tensors[tensor];
    part.name += ".part";
    part.category = Category::buffer;
    for (Extent& extent : part.extents) {
      if (extent.dim == Dim::sequence) extent.shards = joined(extent.shards, tp);
    }
    const auto id = static_cast<TensorId>(step_.graph.tensors.size());
    step_.graph.tensors.push_back(std::move(part));
    parts_.emplace(tensor, id);
    return id;
  }

  [[nodiscard]] static Operation slice(const Ref& what, TensorId part) {
    Operation out;
    out.kind = OperationKind::slice;
    out.name = "send.slice";
    out.purpose = Purpose::communication;
    out.reads = {what};
    out.writes = {Ref{.tensor = part}};
    return out;
  }

  [[nodiscard]] Operation gather(TensorId part, const Ref& what) const {
    Operation out = collective_of(step_, Collective::all_gather, step_.program.mesh.axis("tp"),
                                  "receive.gather");
    out.communication->cut = Dim::sequence;
    out.reads = {Ref{.tensor = part}};
    out.writes = {what};
    return out;
  }

  TrainingStepAssembly& step_;
  int pairs_ = 0;
  bool puts_sends_off_ = false;  // of the two passes of a pair
  std::vector<Waiting> waiting_{};
  int pair_ = 0;  // of the step that is added; 0: none
  std::vector<ScriptCall>* out_ = nullptr;
  std::map<std::pair<TensorId, Message>, RoutineId> transfers_;
  std::map<TensorId, TensorId> parts_;
};

}  // namespace

int TrainingStepAssembly::stage_of(int position) const {
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (position >= chunks[chunk].first && position < chunks[chunk].second) {
      const int stage = stage_of_chunk(parallel.schedule, parallel.pp, static_cast<int>(chunk));
      return parallel.stage_copies() > 1 ? std::min(stage, parallel.pp - 1 - stage) : stage;
    }
  }
  LOCKSTEP_CHECK(false);  // every position has a stage
}

void order_pipeline(TrainingStepAssembly& step) {
  make_roles(step.program, step.parallel);
  step.chunks = chunk_positions(chain_of(step.graph), step.parallel);
  Pipeline{step}.order();
  sum_losses(step);
}

}  // namespace lockstep
