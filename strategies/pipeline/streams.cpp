#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/layout/passes.hpp"
#include "strategies/pipeline/delayed_weight_gradients.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// Groups whose traffic stands within the model's own routines.
constexpr std::array<std::pair<const char*, Overlap>, 3> kWithinLayers{
    {{"cp", Overlap::cp}, {"ep", Overlap::ep}, {"tp", Overlap::tp}}};

[[nodiscard]] bool shares_any(const std::vector<Ref>& a, const std::vector<Ref>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const Ref& ref) {
    return std::find(b.begin(), b.end(), ref) != b.end();
  });
}

/// The communication of column-parallel layers in a backward pass. Megatron-Core and Transformer
/// Engine gather the input next to the input-gradient GEMM, and reduce that GEMM's result next to
/// the weight-gradient GEMM (Megatron-LM core/tensor_parallel/layers.py,
/// LinearWithGradAccumulationAndAsyncCommunication.backward; TransformerEngine
/// pytorch/module/linear.py).
class ColumnBackward {
 public:
  /// `delays`: gradients of weights may be in other routines.
  ColumnBackward(const Program& program, const Routine& routine, bool delays)
      : program_{program}, all_{routine.operations}, delays_{delays} {}

  /// The gather of the input that the weight-gradient GEMM, and no earlier one, reads.
  [[nodiscard]] bool gathers_input(std::size_t i) const {
    if (!is_of_tp(i) || all_[i].communication->collective != Collective::all_gather) return false;
    std::vector<Ref> gathered = all_[i].writes;
    bool is_read = false;
    for (std::size_t at = i + 1; at < all_.size(); ++at) {
      if (!shares_any(all_[at].reads, gathered)) continue;
      if (all_[at].kind == Kind::matmul) return gives_weight_gradient(all_[at]);
      const auto& copies = all_[at].writes;  // transposed
      if (all_[at].kind == Kind::scale) {
        gathered.insert(gathered.end(), copies.begin(), copies.end());
      } else {
        is_read = true;
      }
    }
    return delays_ && !is_read;
  }

  /// The reduction of an input gradient.
  [[nodiscard]] bool reduces_gradient(std::size_t i) const {
    if (!is_of_tp(i)) return false;
    const Collective what = all_[i].communication->collective;
    if (what != Collective::reduce_scatter && what != Collective::all_reduce) return false;
    for (std::size_t at = i; at-- > 0;)
      if (all_[at].kind == Kind::matmul && shares_any(all_[at].writes, all_[i].reads))
        return all_[at].purpose == Purpose::backward && !gives_weight_gradient(all_[at]);
    return false;
  }

  /// Whether the reduced gradient is a sum over several kernels, as where queries, keys and values
  /// are GEMMs of their own.
  [[nodiscard]] bool reduces_sum(std::size_t i) const {
    if (!reduces_gradient(i)) return false;
    std::vector<std::size_t> kernels;
    for (std::size_t at = 0; at < i; ++at) {
      if (all_[at].kind != Kind::matmul || !shares_any(all_[at].writes, all_[i].reads)) continue;
      const int fused = all_[at].fused;
      const bool joins = fused > 0 && std::any_of(kernels.begin(), kernels.end(),
                                                  [&](auto k) { return all_[k].fused == fused; });
      if (!joins) kernels.push_back(at);
    }
    return kernels.size() > 1;
  }

  /// Where a gather of the input starts: ahead of the input-gradient GEMMs before it, of which
  /// several may be one kernel; none if others stand in between, or make what it reads.
  [[nodiscard]] std::size_t launch_of(std::size_t gather) const {
    std::size_t out = gather;
    for (std::size_t at = gather; at-- > 0;) {
      const Operation& before = all_[at];
      if (shares_any(before.writes, all_[gather].reads)) break;
      const bool gemm = before.kind == Kind::matmul && before.purpose == Purpose::backward &&
                        !gives_weight_gradient(before);
      if (gemm) out = at;
      if (!gemm && !reduces_gradient(at)) break;
    }
    return out;
  }

 private:
  [[nodiscard]] bool is_of_tp(std::size_t i) const {
    return all_[i].kind == Kind::collective && all_[i].communication->group == "tp";
  }
  [[nodiscard]] bool gives_weight_gradient(const Operation& gemm) const {
    return program_.tensors[write_of(gemm, Operand::y).tensor].category == Category::gradient;
  }

  const Program& program_;
  const std::vector<Operation>& all_;
  bool delays_ = false;
};

/// Gathers and reductions of the tokens of experts along tp: dispatchers call them in the order of
/// computation, outside of the linear layers that overlap theirs (Megatron-LM
/// core/transformer/moe/token_dispatcher.py). They keep what is gathered forward, so that gathering
/// it again for the gradients of weights, which stands for keeping it, may hide.
[[nodiscard]] bool is_of_experts(const Program& program, const Operation& operation) {
  if (operation.communication->group != "tp") return false;
  return std::any_of(operation.reads.begin(), operation.reads.end(), [&](const Ref& ref) {
    const auto& extents = program.tensors[ref.tensor].extents;
    return std::any_of(extents.begin(), extents.end(),
                       [](const Extent& extent) { return extent.dim == Dim::expert; });
  });
}

[[nodiscard]] bool may_hide(const Program& program, const Routine& routine, std::size_t i,
                            const ParallelConfig& parallel) {
  const ColumnBackward column{program, routine, parallel.delay_wgrad_compute};
  const bool exchanges = parallel.overlaps(Overlap::tp_backward);
  // PyTorch scatters the result of one GEMM while it runs (torch/_inductor/fx_passes/
  // micro_pipeline_tp.py, fuse_matmul_reduce_scatter), and a sum when it is complete; from memory.
  if (!exchanges && column.reduces_sum(i)) return false;
  if (is_of_experts(program, routine.operations[i]) && !column.gathers_input(i)) return false;
  for (const auto& [group, overlap] : kWithinLayers) {
    if (routine.operations[i].communication->group != group) continue;
    if (parallel.overlaps(overlap)) return true;
    if (overlap == Overlap::ep && parallel.overlaps(Overlap::ep_pairs)) return true;
  }
  return exchanges && (column.gathers_input(i) || column.reduces_gradient(i));
}

/// Gathers of inputs go ahead of the GEMMs next to which they travel, behind all computation before
/// these: their stream waits for what was launched before.
void launch_gathers_early(const Program& program, Routine& routine, bool delays) {
  auto& all = routine.operations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ColumnBackward column{program, routine, delays};
    if (all[i].stream == kComputeStream || !column.gathers_input(i)) continue;
    const auto at = [&all](std::size_t index) {
      return all.begin() + static_cast<std::ptrdiff_t>(index);
    };
    all[i].ahead = -1;
    std::rotate(at(column.launch_of(i)), at(i), at(i + 1));
  }
}

/// Whether an all-to-all of experts next to another microbatch's computation waits for gradients of
/// weights: those of a backward pass that is not split come right after those of inputs.
[[nodiscard]] bool follows_gradients(const ParallelConfig& parallel) {
  return parallel.overlaps(Overlap::ep_pairs) && !parallel.calls_weight_gradients();
}

void hold_for_weight_gradients(const Program& program, Routine& routine) {
  bool computed = false;
  for (Operation& operation : routine.operations) {
    if (operation.kind == Kind::matmul)
      computed = computed || computes_weight_gradients(program.tensors, operation);
    if (computed && exchanges_tokens(program.tensors, operation)) operation.ahead = -1;
  }
}

}  // namespace

StreamId stream_of(TrainingStepAssembly& step, std::string_view group, bool hides) {
  return hides ? step.program.stream(group) : kComputeStream;
}

void assign_streams(TrainingStepAssembly& step) {
  Program& program = step.program;
  for (Routine& routine : program.routines) {
    for (std::size_t i = 0; i < routine.operations.size(); ++i) {
      Operation& operation = routine.operations[i];
      if (operation.kind != Kind::collective || operation.stream != kComputeStream) continue;
      if (may_hide(program, routine, i, step.parallel))
        operation.stream = program.stream(operation.communication->group);
    }
    launch_gathers_early(program, routine, step.parallel.delay_wgrad_compute);
    if (follows_gradients(step.parallel)) hold_for_weight_gradients(program, routine);
  }
}

void weigh_traffic(TrainingStepAssembly& step) {
  const std::map<std::string, TrafficWeight>& by_group = step.parallel.traffic_weights;
  for (Routine& routine : step.program.routines)
    for (Operation& operation : routine.operations) {
      if (!operation.communication) continue;
      const auto found = by_group.find(operation.communication->group);
      if (found != by_group.end()) operation.communication->traffic_weight = found->second;
    }
}

}  // namespace lockstep
