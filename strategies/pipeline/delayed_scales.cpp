#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "strategies/layout/passes.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

/// Maxima of a GEMM that a pass adds to its history: of input, weight and output forward, of the
/// gradients of output and input backward (TransformerEngine pytorch/module/base.py,
/// set_meta_tensor).
constexpr std::int64_t kForward = 3;
constexpr std::int64_t kBackward = 2;

/// After each pass of a model chunk, the all-reduce of its maxima and the kernel that makes scales
/// of them (TransformerEngine pytorch/quantization.py, reduce_and_update_fp8_tensors: when the
/// outermost autocast, that of a TransformerBlock, ends, and in the backward pass of its first
/// module; over tp, cp and dp as in Megatron-Core's get_amax_reduction_group).
class DelayedScales {
 public:
  explicit DelayedScales(TrainingStepAssembly& step) : step_{step} {
    const Mesh& mesh = step.program.mesh;
    // Replicas that train apart have scales of their own.
    const bool together =
        step.parallel.exchange == GradientExchange::all_reduce && !step.parallel.has_outer_loop();
    if (together) over_ = mesh.axis("dp_cp");
    over_ = joined(over_, mesh.axis("tp"));
  }

  void run() {
    if (step_.program.mesh.size(over_) < 2) return;
    for (StageScript& stage : step_.stages) rewrite(stage.calls);
  }

 private:
  void rewrite(std::vector<ScriptCall>& calls) {
    std::vector<ScriptCall> out;
    for (const ScriptCall& call : calls) {
      out.push_back(call);
      for (const auto& chunk : step_.chunks) {
        const bool forward = call.work == CallWork::forward;
        const int end = forward ? chunk.second - 1 : chunk.first;
        if (call.call.position != end || (!forward && call.work != CallWork::backward)) continue;
        add(chunk, call, forward ? kForward : kBackward, out);
        break;  // both copies of a chunk have the same positions
      }
    }
    calls = std::move(out);
  }

  void add(const std::pair<int, int>& chunk, const ScriptCall& after, std::int64_t each,
           std::vector<ScriptCall>& out) {
    const std::int64_t maxima = each * gemms_of(chunk);
    if (maxima == 0) return;
    const auto key = std::pair{after.work, maxima};
    auto found = routines_.find(key);
    if (found == routines_.end())
      found = routines_.emplace(key, step_.program.add(routine(after.work, maxima))).first;
    out.push_back(
        {CallWork::other, {found->second, after.call.position, after.call.microbatch}, after.pair});
  }

  /// Linear layers in 8 bits; GEMMs of one kernel are one.
  [[nodiscard]] std::int64_t gemms_of(const std::pair<int, int>& chunk) const {
    std::int64_t out = 0;
    for (int position = chunk.first; position < chunk.second; ++position) {
      std::set<int> kernels;
      for (const Operation& operation : step_.block(position).forward) {
        const bool narrow = operation.math && is_narrow(*operation.math);
        if (operation.kind != OperationKind::matmul || !narrow) continue;
        if (operation.fused <= 0 || kernels.insert(operation.fused).second) ++out;
      }
    }
    return out;
  }

  [[nodiscard]] Routine routine(CallWork work, std::int64_t maxima) {
    const bool forward = work == CallWork::forward;
    const char* name = forward ? "scales.forward" : "scales.backward";
    Tensor tensor;
    tensor.name = std::string{name} + ".maxima";
    tensor.category = Category::buffer;
    tensor.dtype = Dtype::fp32;
    tensor.extents = {{Dim::statistic, maxima}};
    const Ref ref{.tensor = static_cast<TensorId>(step_.graph.tensors.size())};
    step_.graph.tensors.push_back(std::move(tensor));
    const auto kernel = [&](OperationKind kind, const char* what) {
      Operation out;
      out.kind = kind;
      out.name = std::string{name} + what;
      out.purpose = forward ? Purpose::forward : Purpose::backward;
      out.writes = {ref};
      return out;
    };
    Operation reduced =
        collective_of(step_, Collective::all_reduce, over_, std::string{name} + ".reduce");
    reduced.communication->reduction = Reduction::maximum;
    reduced.reads = reduced.writes = {ref};
    Operation update = kernel(OperationKind::scale, ".update");
    update.reads = {ref};
    Routine out{name, {}};
    out.operations.push_back(kernel(OperationKind::fill, ".join"));
    out.operations.push_back(std::move(reduced));
    out.operations.push_back(std::move(update));
    return out;
  }

  TrainingStepAssembly& step_;
  MeshSubAxes over_;
  std::map<std::pair<CallWork, std::int64_t>, RoutineId> routines_;
};

}  // namespace

void reduce_delayed_scales(TrainingStepAssembly& step) {
  DelayedScales{step}.run();
}

}  // namespace lockstep
