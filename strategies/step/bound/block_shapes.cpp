#include "strategies/step/bound/block_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/models/count/layers.hpp"
#include "strategies/step/bound/operation_bounds.hpp"
#include "strategies/step/bound/routine_bound.hpp"
#include "strategies/step/build_program.hpp"

namespace lockstep {

namespace {

/// The least number of replicas with the same shapes. Experts are dealt to ranks along dp and cp in
/// the order of the ranks: without cp, as many replicas do as hold them all once. Slots with a
/// capacity depend on how many ranks the tokens are cut among.
[[nodiscard]] int least_replicas(const ParallelConfig& parallel) {
  const bool capacity = parallel.capacity_factor > 0;
  if (!capacity && parallel.ep == 1) return 1;
  if (capacity || parallel.cp > 1) return parallel.dp;
  const int experts = parallel.expert_tp() * parallel.ep;
  int dp = 1;
  while (dp < parallel.dp && (parallel.dp % dp != 0 || parallel.tp * dp % experts != 0)) ++dp;
  return dp;
}

void add_shapes(const ParallelConfig& parallel, fold::KeyBuilder& key) {
  key.add(parallel.tp).add(parallel.cp).add(parallel.ep).add(parallel.micro_batch);
  key.add(parallel.expert_tp()).add(static_cast<int>(parallel.dispatcher));
  key.add(static_cast<int>(parallel.recompute)).add(parallel.sequence_parallel ? 1 : 0);
  int modules = 0;
  if (parallel.recompute == Recompute::selective)
    for (const RecomputeModule module : parallel.recompute_modules)
      modules |= 1 << static_cast<int>(module);
  key.add(modules);
  key.add(static_cast<int>(parallel.precision)).add(static_cast<int>(parallel.cp_kind));
  key.add(parallel.ulysses).add(parallel.zigzag ? 1 : 0).add(parallel.splits_backward() ? 1 : 0);
  for (const Overlap what :
       {Overlap::tp, Overlap::tp_backward, Overlap::cp, Overlap::ep, Overlap::ep_pairs})
    key.add(parallel.overlaps(what) ? 1 : 0);
  key.add(parallel.delay_wgrad_compute ? 1 : 0);
  const StateConfig& state = parallel.state;
  key.add(static_cast<int>(state.weights)).add(static_cast<int>(state.gradients));
  key.add(parallel.has_wide_shards() ? 1 : 0);
  key.add(state.master ? 1 : 0).add(static_cast<int>(state.optimizer));
  key.add(static_cast<int>(state.moments));
  key.add(std::int64_t{std::llround(parallel.capacity_factor * 1e6)});
  key.add(least_replicas(parallel));
  if (parallel.ep > 1 && parallel.cp > 1)
    for (const std::string& axis : parallel.order) key.add(static_cast<int>(axis.front()));
  const TokenCounts& counts = parallel.token_counts;
  key.add(counts.exchange ? static_cast<int>(*counts.exchange) : -1);
  key.add(counts.host_waits ? 1 : 0);
  key.add(std::int64_t{std::llround(parallel.expert_skew.value_or(0) * 1e6)});
  const ModelForm& form = parallel.form;
  key.add(static_cast<int>(form.loss)).add(form.joined_gemms ? 1 : 0).add(form.stops_early ? 1 : 0);
  key.add(static_cast<int>(form.router_weights)).add(form.distributed_tensors ? 1 : 0);
  const PrecisionRecipe& recipe = parallel.recipe;
  for (const bool flag :
       {recipe.inputs_once, recipe.weights_once, recipe.stores_operands, recipe.reduces_maxima,
        recipe.casts_before_gather, recipe.stores_dispatched, recipe.stores_activation_inputs,
        recipe.weight_gradients, recipe.output_layer, recipe.attention})
    key.add(flag ? 1 : 0);
  key.add(recipe.first_layers).add(recipe.last_layers).add(recipe.kept_weights);
  key.add(std::int64_t{std::llround(recipe.casts.kernels * 1e6)});
  key.add(std::int64_t{std::llround(recipe.casts.traffic * 1e6)});
}

/// The same shapes on as few ranks, stages and microbatches as have them.
[[nodiscard]] ParallelConfig smallest_alike(const ParallelConfig& parallel,
                                            const ModelConfig& model) {
  ParallelConfig out = parallel;
  out.pp = 1;
  out.vpp = 1;
  out.schedule = PipelineOrder::none;
  out.short_edges = false;
  out.stages.clear();
  out.state.gradients =
      parallel.has_wide_shards() ? parallel.state.weights : parallel.state.gradients;
  out.zero = 0;
  out.shard_ranks = 0;
  out.scatter_gradients = true;
  out.state.offload = false;
  out.reshard_after_forward = true;
  out.prefetch = true;
  out.reduce_gradients = GradientReduction::last_microbatch;
  out.exchange = GradientExchange::all_reduce;
  out.update = UpdateStart::after_all;
  out.dp = least_replicas(parallel);
  if (parallel.splits_backward()) {
    out.pp = 2;
    out.schedule = PipelineOrder::zb_h1;
    const auto layers = static_cast<int>(layers_of(model));
    out.stages = {layers - 1, 1};
  }
  out.global_batch = out.micro_batch * out.dp;
  return out;
}

using TensorPlace = std::pair<TensorId, int>;

/// Bytes of activations that forward leaves at a position and backward reads there.
[[nodiscard]] std::int64_t kept_bytes(const Program& program, const BlockOfProgram& block) {
  std::set<TensorPlace> written;
  for (const Operation& operation : program.routines[block.forward].operations)
    for (const Ref& ref : operation.writes)
      if (!ref.position && !ref.microbatch) written.insert({ref.tensor, ref.further});
  if (block.input) written.insert({*block.input, 0});
  std::set<TensorPlace> kept;
  std::set<TensorPlace> anew;
  const auto look = [&](RoutineId routine) {
    for (const Operation& operation : program.routines[routine].operations) {
      for (const Ref& ref : operation.reads) {
        const TensorPlace place{ref.tensor, ref.further};
        if (ref.further == 0 && written.contains(place) && !anew.contains(place))
          kept.insert(place);
      }
      for (const Ref& ref : operation.writes) anew.insert({ref.tensor, ref.further});
    }
  };
  look(block.backward);
  if (block.weight_gradients) look(*block.weight_gradients);
  std::int64_t bytes = 0;
  for (const auto& [id, further] : kept) {
    const Tensor& tensor = program.tensors[id];
    const bool counts = tensor.category == Category::activation && !tensor.resident &&
                        !tensor.on_host && tensor.scope == Scope::microbatch;
    if (counts) bytes += local_bytes(program.mesh, tensor).count();
  }
  return bytes;
}

/// What distinguishes the layers of a transformer.
[[nodiscard]] std::vector<int> kinds_of_layers(const TransformerConfig& shape,
                                               const PrecisionRecipe& recipe) {
  std::vector<int> out;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const bool edge = i < recipe.first_layers || i >= shape.layers - recipe.last_layers;
    out.push_back((has_experts(shape, i) ? 1 : 0) + (is_windowed(shape, i) ? 2 : 0) +
                  (edge ? 4 : 0));
  }
  return out;
}

/// Layers that repeat: after the first `before`, every `period` ones, an even number since
/// recomputation may take every second one.
struct Repetition {
  std::size_t before = 0;
  std::size_t period = 0;

  [[nodiscard]] std::size_t layers() const { return before + period; }
  /// The layer of the first layers() that is like layer i.
  [[nodiscard]] std::size_t like(std::size_t i) const {
    return i < before ? i : before + (i - before) % period;
  }
};

[[nodiscard]] std::optional<Repetition> repetition_of(const std::vector<int>& kinds) {
  constexpr std::size_t kMostBefore = 8;
  for (const std::size_t period : {4U, 6U, 8U, 10U, 12U}) {
    for (std::size_t before = 0; before <= kMostBefore; ++before) {
      const Repetition out{before, period};
      if (out.layers() >= kinds.size()) break;
      bool repeats = true;
      for (std::size_t i = before; i < kinds.size() && repeats; ++i)
        repeats = kinds[i] == kinds[out.like(i)];
      if (repeats) return out;
    }
  }
  return std::nullopt;
}

/// A model with the same blocks in as few layers as repeat, and how they do.
struct FewLayers {
  ModelConfig model;
  std::optional<Repetition> repetition{};

  /// Its chain at full length.
  [[nodiscard]] std::vector<int> full_chain(const std::vector<int>& few,
                                            std::int64_t layers) const {
    if (!repetition) return few;
    std::vector<int> out{few.front()};
    for (std::int64_t i = 0; i < layers; ++i)
      out.push_back(few[1 + repetition->like(static_cast<std::size_t>(i))]);
    out.push_back(few.back());
    return out;
  }
};

[[nodiscard]] FewLayers few_layers(const ModelConfig& model, const PrecisionRecipe& recipe) {
  FewLayers out{model};
  const TransformerConfig* shape = model.transformer();
  if (shape == nullptr || shares_activation(*shape)) return out;
  const std::vector<int> kinds = kinds_of_layers(*shape, recipe);
  const auto repetition = repetition_of(kinds);
  if (!repetition) return out;
  TransformerConfig few = *shape;
  few.layers = static_cast<std::int64_t>(repetition->layers());
  const std::vector<int> same = kinds_of_layers(few, recipe);
  // Layers of multi-token prediction are like the last one.
  const bool other_end = few.mtp && same.back() != kinds.back();
  if (other_end || !std::equal(same.begin(), same.end(), kinds.begin())) return out;
  out.model.shape = few;
  out.repetition = repetition;
  return out;
}

/// Shapes the kinds of blocks.
class Shaper {
 public:
  Shaper(const Program& program, const CostModel& cost) : program_{program}, cost_{cost} {}

  [[nodiscard]] ShapedBlock shape(const BlockOfProgram& block) const {
    PositionCosts fixed;
    ShapedBlock out{call(block.forward, place(block.input, 0), place(block.output, 1), fixed),
                    call(block.backward, place(block.output_gradient, 1),
                         place(block.input_gradient, 0), fixed),
                    std::nullopt,
                    {}};
    if (block.weight_gradients)
      out.weight_gradients = call(*block.weight_gradients, std::nullopt, std::nullopt, fixed);
    fixed.kept = kept_bytes(program_, block);
    add_states(block, fixed);
    out.fixed = fixed;
    return out;
  }

 private:
  [[nodiscard]] ShapedCall call(RoutineId id, const std::optional<Ref>& in,
                                const std::optional<Ref>& out, PositionCosts& fixed) const {
    const Routine& routine = program_.routines[id];
    ShapedCall call{CallChain{routine, in, out}, {}, {}};
    const std::vector<Duration> times = OperationBounds::kernels(program_, routine, cost_);
    for (std::size_t i = 0; i < routine.operations.size(); ++i) {
      const Operation& operation = routine.operations[i];
      const bool collective = operation.kind == OperationKind::collective;
      call.times.push_back(collective ? 0 : times[i].ps());
      if (OperationBounds::host_counts(operation, cost_))
        fixed.host += cost_.host_time(kernel_of(program_, routine, i)).ps();
      if (collective && !operation.communication->host)
        call.collectives.push_back(shaped(operation, i));
    }
    return call;
  }

  [[nodiscard]] ShapedCollective shaped(const Operation& operation, std::size_t place) const {
    const Communication& how = *operation.communication;
    return {place,
            how,
            program_.mesh.name(how.over),
            program_.mesh.size(how.over),
            OperationBounds::message_of(program_, operation),
            token_skew(program_, operation)};
  }

  [[nodiscard]] static std::optional<Ref> place(std::optional<TensorId> tensor, int further) {
    if (!tensor) return std::nullopt;
    return Ref{.tensor = *tensor, .further = further};
  }

  static void add_states(const BlockOfProgram& block, PositionCosts& out) {
    for (const BlockWeight& weight : block.weights)
      (weight.of_experts ? out.experts : out.dense).add(StateBytes{weight}, 1);
  }

  const Program& program_;
  const CostModel& cost_;
};

/// Kernel times of updates, by position.
[[nodiscard]] std::vector<std::int64_t> update_times(const ProgramOfBlocks& of,
                                                     const CostModel& cost) {
  std::vector<std::int64_t> out(of.chain.size());
  for (const Role& role : of.program.roles) {
    for (const Call& call : role.calls) {
      const Routine& routine = of.program.routines[call.routine];
      const auto is_update = [](const Operation& each) {
        // Stacks of matrices are of as many layers as a stage has, cut over replicas.
        return each.kind == OperationKind::update && !each.matrices;
      };
      if (std::none_of(routine.operations.begin(), routine.operations.end(), is_update)) continue;
      const std::vector<Duration> times = OperationBounds::kernels(of.program, routine, cost);
      for (std::size_t i = 0; i < times.size(); ++i) {
        if (!is_update(routine.operations[i])) continue;
        const auto position = static_cast<std::size_t>(
            routine.operations[i].writes.front().position.value_or(call.position));
        out[position] += times[i].ps();
      }
    }
  }
  return out;
}

/// The residual stream of the stack of layers that has the smaller one.
[[nodiscard]] std::int64_t least_residual(const ProgramOfBlocks& of) {
  std::optional<std::int64_t> out;
  for (const BlockOfProgram& block : of.blocks) {
    if (!block.input) continue;
    const auto bytes = local_bytes(of.program.mesh, of.program.tensors[*block.input]).count();
    out = std::min(out.value_or(bytes), bytes);
  }
  return out.value_or(0);
}

}  // namespace

StateBytes::StateBytes(const BlockWeight& of)
    : weights{of.weight_bytes},
      gradients{of.gradient_bytes},
      states{of.state_bytes},
      outer{2 * storage(Dtype::fp32, of.elements).count()} {}

void PositionCosts::add(const PositionCosts& other, std::int64_t times) {
  forward.add(other.forward, times);
  backward.add(other.backward, times);
  weight_gradients += other.weight_gradients * times;
  host += other.host * times;
  update += other.update * times;
  kept += other.kept * times;
  dense.add(other.dense, times);
  experts.add(other.experts, times);
}

BlockShapes block_shapes(const ModelConfig& model, const ParallelConfig& parallel,
                         int gpus_per_node, const CostModel& cost) {
  const FewLayers few = few_layers(model, parallel.recipe);
  const ProgramOfBlocks of =
      build_blocks(few.model, smallest_alike(parallel, few.model), gpus_per_node);
  const Shaper shaper{of.program, cost};
  BlockShapes out;
  out.chain = few.full_chain(of.chain, layers_of(model));
  for (const BlockOfProgram& block : of.blocks) out.kinds.push_back(shaper.shape(block));
  const std::vector<std::int64_t> updates = update_times(of, cost);
  std::vector<bool> seen(of.blocks.size());
  for (std::size_t i = 0; i < of.chain.size(); ++i) {
    const auto kind = static_cast<std::size_t>(of.chain[i]);
    // Of equal blocks the updates are equal, but for what two of them share.
    std::int64_t& update = out.kinds[kind].fixed.update;
    update = seen[kind] ? std::min(update, updates[i]) : updates[i];
    seen[kind] = true;
  }
  const BlockOfProgram& last = of.blocks[static_cast<std::size_t>(of.chain.back())];
  for (const BlockWeight& weight : last.weights)
    if (weight.shared) out.tied.add(StateBytes{weight}, 1);
  out.between_stacks = of.between_stacks;
  out.residual = least_residual(of);
  return out;
}

fold::Key shape_key(const ParallelConfig& parallel) {
  fold::KeyBuilder key;
  add_shapes(parallel, key);
  return key.key();
}

}  // namespace lockstep
