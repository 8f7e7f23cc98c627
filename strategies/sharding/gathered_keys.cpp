#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "strategies/layout/passes.hpp"
#include "strategies/sharding/placement.hpp"
#include "strategies/sharding/ring_attention.hpp"

namespace lockstep {

namespace {

/// Attention to gathered keys and values. Queries stay cut along the sequence.
class GatheredKeys {
 public:
  explicit GatheredKeys(TrainingStepAssembly& step)
      : graph_{step.graph}, over_{step.program.mesh.axis("ring")} {}

  void run() {
    for (Block& block : graph_.blocks)
      for (auto* operations : {&block.forward, &block.backward}) rewrite(*operations);
  }

 private:
  void rewrite(std::vector<Operation>& body) {
    std::vector<Operation> out;
    for (Operation& operation : body) {
      if (!attends(operation.kind)) {
        out.push_back(std::move(operation));
        continue;
      }
      std::vector<Operation> after;
      for (const Operand operand : {Operand::k, Operand::v}) {
        if (!reads(operation, operand)) continue;
        Ref& keys = read_of(operation, operand);
        const Ref whole = gathered(keys, "gathered");
        out.push_back(exchange(Collective::all_gather, operation, operand, keys, whole));
        keys = whole;
        if (!writes(operation, gradient_of(operand))) continue;
        Ref& gradient = write_of(operation, gradient_of(operand));
        const Ref sum = gathered(gradient, "sum");
        Tensor& partial = graph_.tensors[sum.tensor];
        partial.partial = joined(partial.partial, over_);
        after.push_back(exchange(Collective::reduce_scatter, operation, operand, sum, gradient));
        gradient = sum;
      }
      out.push_back(std::move(operation));
      for (Operation& each : after) out.push_back(std::move(each));
    }
    body = std::move(out);
  }

  /// Kinds that read keys or values.
  [[nodiscard]] static bool attends(OperationKind kind) {
    switch (kind) {
      case OperationKind::attention:
      case OperationKind::attention_backward:
      case OperationKind::attention_scores:
      case OperationKind::attention_scores_backward:
      case OperationKind::attention_context:
      case OperationKind::attention_context_backward:
        return true;
      default:
        return false;
    }
  }

  /// A copy with the whole sequence.
  [[nodiscard]] Ref gathered(Ref of, const char* suffix) {
    Tensor whole = graph_.tensors[of.tensor];
    whole.name += fmt::format(".{}", suffix);
    whole.category = Category::buffer;
    whole.resident = false;
    for (Extent& extent : whole.extents)
      if (extent.dim == Dim::sequence) extent.shards = without(extent.shards, over_);
    of.tensor = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(whole));
    return of;
  }

  [[nodiscard]] Operation exchange(Collective collective, const Operation& attention,
                                   Operand operand, const Ref& from, const Ref& to) const {
    Operation out;
    out.kind = OperationKind::collective;
    out.name =
        fmt::format("{}.{}.cp.{}", attention.name, to_string(operand), to_string(collective));
    out.purpose = Purpose::communication;
    out.reads = {from};
    out.writes = {to};
    Communication how;
    how.collective = collective;
    how.over = over_;
    how.cut = Dim::sequence;
    how.group = "cp";
    out.communication = std::move(how);
    return out;
  }

  ModelGraph& graph_;
  MeshSubAxes over_;
};

}  // namespace

void gather_keys(TrainingStepAssembly& step) {
  GatheredKeys{step}.run();
  if (cuts_zigzag(step)) cut_zigzag(step.graph, step.program.mesh.axis("ring"));
}

}  // namespace lockstep
