#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"
#include "strategies/layout/passes.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

/// Directions travel and are orthogonalized in 16 bits (dion muon.py, Megatron-Core's muon).
/// Preconditioners are fp32, and so is what they are applied to (Vyas et al., SOAP, soap.py).
constexpr Dtype kDirections = Dtype::bf16;
constexpr Dtype kPreconditioned = Dtype::fp32;

struct Placed {
  TrainedWeight weight;
  int position = 0;
};

/// Matrices of one size and sharding on one stage, which are updated together (dion
/// megabatch_base.py: all parameters of one shape are one batch).
struct Matrices {
  MatrixStack form;
  MeshSubAxes blocks{};       // tensor parallelism cuts each matrix along these
  MeshSubAxes owners{};       // each rank along these takes its part of the stack
  bool sharded = false;       // the owners hold shards, else copies
  std::int64_t elements = 0;  // of a rank's part of an item, or of its copy
  std::vector<Placed> items{};

  [[nodiscard]] auto key() const { return std::tie(form, blocks, owners, sharded, elements); }
};

/// What tensor parallelism cuts the matrices of a weight along: rows first.
[[nodiscard]] MeshSubAxes blocks_of(const Tensor& weight) {
  MeshSubAxes out;
  for (const Extent& extent : weight.extents) {
    if (extent.dim == Dim::expert) continue;
    out.insert(out.end(), extent.shards.begin(), extent.shards.end());
  }
  return out;
}

/// The update of the matrices of one stage, one size after another.
class MatrixUpdates {
 public:
  MatrixUpdates(TrainingStepAssembly& step, StageScript& stage) : step_{step}, stage_{stage} {
    for (const auto& [position, after] : finished_positions(stage)) {
      for (TrainedWeight& weight : step_.trained_at(position))
        if (weight.matrix) add({std::move(weight), position});
    }
  }

  void run() {
    bool first = true;
    for (const Matrices& of : sizes_) {
      Routine out{"update_matrices", {}};
      update(of, out);
      out.operations.front().after_all = std::exchange(first, false);
      stage_.calls.push_back({CallWork::other, {step_.program.add(std::move(out)), 0, 0}});
    }
  }

 private:
  void add(Placed item) {
    const Mesh& mesh = step_.program.mesh;
    const Tensor& weight = step_.graph.tensors[item.weight.weight];
    Matrices of;
    of.form = *item.weight.matrix;
    of.blocks = blocks_of(weight);
    of.sharded = !item.weight.shard.empty();
    of.owners = of.sharded ? item.weight.shard : item.weight.over;
    of.elements = ceil_div<std::int64_t>(unflattened_elements(mesh, weight),
                                         of.sharded ? mesh.size(of.owners) : 1);
    for (Matrices& known : sizes_) {
      if (known.key() != of.key()) continue;
      known.items.push_back(std::move(item));
      return;
    }
    of.items.push_back(std::move(item));
    sizes_.push_back(std::move(of));
  }

  void update(const Matrices& of, Routine& out) {
    for (const Placed& item : of.items) slice(item, out);
    TensorId stack = this->stack(of, preconditions() ? "gradients" : "directions", false, false);
    out.operations.push_back(momentum(of, stack));
    const bool cut = !of.owners.empty();
    if (cut) stack = moved(of, stack, this->stack(of, "owned", true, false), true, out);
    const bool blocks = !of.blocks.empty() && !is_distributed(of) && !is_blockwise();
    if (blocks) stack = gathered(of, stack, this->stack(of, "whole", true, true), out);
    stack = transformed(of, stack, out);
    if (blocks) stack = sliced(stack, this->stack(of, "block", true, false), out);
    if (cut) stack = moved(of, stack, this->stack(of, "updates", false, false), false, out);
    out.operations.push_back(descent(of, stack));
  }

  /// Shards that nothing made yet.
  void slice(const Placed& item, Routine& out) {
    const TrainedWeight& weight = item.weight;
    if (weight.share != weight.summed)
      add_slice(at(weight.summed, item), at(weight.share, item), out);
    if (!has_master(weight) && !step_.graph.tensors[weight.kept].resident)
      add_slice(at(weight.weight, item), at(weight.kept, item), out);
  }

  static void add_slice(const Ref& from, const Ref& to, Routine& out) {
    Operation slice = computed(OperationKind::slice, "update.slice");
    slice.reads = {from};
    slice.writes = {to};
    out.operations.push_back(std::move(slice));
  }

  [[nodiscard]] Operation momentum(const Matrices& of, TensorId stack) const {
    Operation out = computed(OperationKind::momentum, preconditions() ? "stack" : "momentum");
    out.writes.push_back({.tensor = stack});
    for (const Placed& item : of.items) {
      out.reads.push_back(at(item.weight.share, item));
      if (preconditions()) continue;
      const Ref moment = at(item.weight.states.back(), item);
      out.reads.push_back(moment);
      out.writes.push_back(moment);
    }
    return out;
  }

  /// To or from the ranks that own matrices: between shards of all and all of some by an
  /// all-to-all, of copies a part, and all from all who have parts.
  [[nodiscard]] TensorId moved(const Matrices& of, TensorId from, TensorId to, bool to_owners,
                               Routine& out) {
    if (!of.sharded && to_owners) return sliced(from, to, out);
    Operation move = collective_of(
        step_, of.sharded ? Collective::all_to_all : Collective::all_gather, of.owners,
        to_owners    ? "send_to_owners"
        : of.sharded ? "send_updates"
                     : "gather_updates");
    move.communication->cut = of.sharded && !to_owners ? Dim::element : Dim::matrix;
    if (of.sharded) move.communication->joined = to_owners ? Dim::element : Dim::matrix;
    move.stream = stream_of(step_, move.communication->group, false);
    return added(std::move(move), from, to, out);
  }

  [[nodiscard]] TensorId gathered(const Matrices& of, TensorId from, TensorId to, Routine& out) {
    Operation gather = collective_of(step_, Collective::all_gather, of.blocks, "gather_blocks");
    gather.communication->cut = Dim::element;
    gather.stream = stream_of(step_, gather.communication->group, false);
    return added(std::move(gather), from, to, out);
  }

  [[nodiscard]] bool preconditions() const {
    return step_.parallel.state.optimizer == Optimizer::soap;
  }

  /// Blocks are matrices.
  [[nodiscard]] bool is_blockwise() const {
    return step_.parallel.state.muon_blocks == MuonBlocks::blockwise && !preconditions();
  }

  /// Blocks of one side stay where they are.
  [[nodiscard]] bool is_distributed(const Matrices& of) const {
    const bool one_side = of.form.row_parts == 1 || of.form.column_parts == 1;
    return step_.parallel.state.muon_blocks == MuonBlocks::distributed && !of.blocks.empty() &&
           one_side && !preconditions();
  }

  /// Every iteration all-reduces the Gram matrices (Megatron-Core and its Emerging-Optimizers,
  /// newton_schulz_tp of tp_mode distributed).
  [[nodiscard]] TensorId iterated(const Matrices& of, TensorId from, Routine& out) {
    const TensorId to = stack(of, "orthogonal", true, false);
    const TensorId summand = gram(of, true);
    const TensorId sum = gram(of, false);
    for (int i = 0; i < of.form.iterations; ++i) {
      Operation gram = computed(OperationKind::gram, "gram");
      gram.matrices = of.form;
      gram.math = kDirections;
      (void)added(std::move(gram), i == 0 ? from : to, summand, out);
      Operation reduce = collective_of(step_, Collective::all_reduce, of.blocks, "reduce_gram");
      reduce.stream = stream_of(step_, reduce.communication->group, false);
      (void)added(std::move(reduce), summand, sum, out);
      Operation iterate = computed(OperationKind::orthogonalize, "orthogonalize");
      iterate.matrices = of.form;
      iterate.matrices->normalized = i > 0;
      iterate.math = kDirections;
      (void)added(std::move(iterate), i == 0 ? from : to, to, out);
      out.operations.back().reads.push_back({.tensor = sum});
    }
    return to;
  }

  [[nodiscard]] TensorId gram(const Matrices& of, bool partial) {
    Tensor out = step_.graph.tensors[stack(of, "orthogonal", true, false)];
    const std::int64_t side = of.form.column_parts > 1 ? of.form.rows : of.form.columns;
    out.name += partial ? ".gram.partial" : ".gram";
    if (partial) out.partial = of.blocks;
    out.extents.back() = {Dim::element, of.form.count * side * side};
    return known(std::move(out));
  }

  [[nodiscard]] TensorId transformed(const Matrices& of, TensorId from, Routine& out) {
    if (is_distributed(of)) return iterated(of, from, out);
    const TensorId to =
        stack(of, preconditions() ? "preconditioned" : "orthogonal", true, !is_blockwise());
    Operation operation = preconditions() ? computed(OperationKind::precondition, "precondition")
                                          : computed(OperationKind::orthogonalize, "orthogonalize");
    operation.matrices = of.form;
    operation.math = dtype();
    (void)added(std::move(operation), from, to, out);
    if (!preconditions()) return to;
    const Ref states{.tensor = preconditioners(of)};
    out.operations.back().reads.push_back(states);
    out.operations.back().writes.push_back(states);
    return to;
  }

  /// Of each side that is not too long, the sum of Gram matrices and its eigenvectors.
  [[nodiscard]] TensorId preconditioners(const Matrices& of) {
    std::int64_t elements = 0;
    for (const std::int64_t side : {of.form.rows, of.form.columns})
      if (side <= of.form.largest_side) elements += 2 * side * side;
    Tensor out = step_.graph.tensors[stack(of, "preconditioned", true, true)];
    out.name += ".preconditioners";
    out.category = Category::optimizer_state;
    out.resident = true;
    out.extents.back() = {Dim::element, std::max<std::int64_t>(1, of.form.count * elements)};
    return known(std::move(out));
  }

  [[nodiscard]] Dtype dtype() const { return preconditions() ? kPreconditioned : kDirections; }

  [[nodiscard]] static TensorId sliced(TensorId from, TensorId to, Routine& out) {
    add_slice({.tensor = from}, {.tensor = to}, out);
    return to;
  }

  [[nodiscard]] static TensorId added(Operation operation, TensorId from, TensorId to,
                                      Routine& out) {
    operation.reads = {{.tensor = from}};
    operation.writes = {{.tensor = to}};
    out.operations.push_back(std::move(operation));
    return to;
  }

  [[nodiscard]] Operation descent(const Matrices& of, TensorId stack) const {
    Operation out = computed(OperationKind::update, "update");
    out.optimizer = step_.parallel.state.optimizer;
    out.matrices = of.form;
    out.reads.push_back({.tensor = stack});
    for (const Placed& item : of.items) {
      const bool master = has_master(item.weight);
      const Ref kept = at(item.weight.kept, item);
      out.reads.push_back(master ? at(item.weight.states.front(), item) : kept);
      out.writes.push_back(kept);
      if (master) out.writes.push_back(at(item.weight.states.front(), item));
      if (!preconditions()) continue;
      for (std::size_t i = master ? 1 : 0; i < item.weight.states.size(); ++i) {
        out.reads.push_back(at(item.weight.states[i], item));
        out.writes.push_back(at(item.weight.states[i], item));
      }
    }
    return out;
  }

  /// Items are padded to as many for every owner (dion: pad_batch). `owned`: by the rank along
  /// `owners`, else its part of all; `whole`: all blocks.
  [[nodiscard]] TensorId stack(const Matrices& of, const char* what, bool owned, bool whole) {
    const Mesh& mesh = step_.program.mesh;
    const int owners = mesh.size(of.owners);
    const auto items = round_up<std::int64_t>(std::ssize(of.items), owners);
    const std::int64_t parts = std::int64_t{of.sharded ? owners : 1} * mesh.size(of.blocks);
    Extent matrix{Dim::matrix, items};
    Extent element{Dim::element, of.elements * parts};
    if (owned) matrix.shards = of.owners;
    if (!whole) element.shards = of.blocks;
    if (!owned && of.sharded)
      element.shards.insert(element.shards.end(), of.owners.begin(), of.owners.end());
    Tensor out;
    out.name = fmt::format("{}.{}x{}", what, of.form.rows, of.form.columns);
    if (of.form.count > 1) out.name += fmt::format("x{}", of.form.count);
    if (!of.blocks.empty())
      out.name +=
          fmt::format(".{}.{}x{}", mesh.name(of.blocks), of.form.row_parts, of.form.column_parts);
    out.scope = Scope::step;
    out.category = Category::buffer;
    out.dtype = dtype();
    out.extents = {matrix, element};
    return known(std::move(out));
  }

  /// Stages with as many matrices have the same tensors.
  [[nodiscard]] TensorId known(Tensor tensor) {
    std::vector<Tensor>& tensors = step_.graph.tensors;
    for (std::size_t i = tensors.size(); i-- > 0;) {
      const Tensor& other = tensors[i];
      if (other.name == tensor.name && other.extents == tensor.extents)
        return static_cast<TensorId>(i);
    }
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size() - 1);
  }

  [[nodiscard]] static Operation computed(OperationKind kind, const char* name) {
    Operation out;
    out.kind = kind;
    out.name = name;
    out.purpose = Purpose::update;
    return out;
  }

  [[nodiscard]] bool has_master(const TrainedWeight& weight) const {
    return step_.graph.tensors[weight.states.front()].copy_of == weight.weight;
  }

  [[nodiscard]] Ref at(TensorId tensor, const Placed& of) const {
    return step_.at(tensor, of.weight, of.position);
  }

  TrainingStepAssembly& step_;
  StageScript& stage_;
  std::vector<Matrices> sizes_{};
};

}  // namespace

void update_matrices(TrainingStepAssembly& step) {
  for (StageScript& stage : step.stages) MatrixUpdates{step, stage}.run();
}

}  // namespace lockstep
