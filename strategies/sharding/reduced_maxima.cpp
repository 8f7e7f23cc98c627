#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// A tensor's largest absolute value before each cast whose scale follows from it.
class ReducedMaxima {
 public:
  explicit ReducedMaxima(TrainingStepAssembly& step)
      : step_{step}, over_{step.program.mesh.axis("tp")} {}

  void run() {
    for (Block& block : step_.graph.blocks)
      for (auto* operations : {&block.forward, &block.backward}) rewrite(*operations);
  }

 private:
  void rewrite(std::vector<Operation>& body) {
    std::vector<Operation> out;
    for (Operation& operation : body) {
      if (is_reduced(operation)) append(operation, out);
      out.push_back(std::move(operation));
    }
    body = std::move(out);
  }

  /// A cast to an operand of GEMMs that tensor parallelism gathers along the sequence.
  [[nodiscard]] bool is_reduced(const Operation& operation) const {
    if (operation.kind != OperationKind::cast || operation.writes.empty()) return false;
    const Tensor& cast = step_.graph.tensors[operation.writes.front().tensor];
    const Extent* sequence = find_extent(cast, Dim::sequence);
    return is_narrow(cast.dtype) && sequence != nullptr &&
           std::any_of(over_.begin(), over_.end(), [&](const auto& part) {
             const auto& shards = sequence->shards;
             return std::find(shards.begin(), shards.end(), part) != shards.end();
           });
  }

  void append(const Operation& cast, std::vector<Operation>& out) {
    Tensor maximum;
    maximum.name = cast.name + ".maximum";
    maximum.category = Category::buffer;
    maximum.dtype = Dtype::fp32;
    maximum.extents = {{Dim::statistic, 1}};
    const Ref ref{.tensor = static_cast<TensorId>(step_.graph.tensors.size())};
    step_.graph.tensors.push_back(std::move(maximum));
    Operation made;
    made.kind = OperationKind::fill;
    made.name = cast.name + ".maximum";
    made.purpose = cast.purpose;
    made.writes = {ref};
    out.push_back(std::move(made));
    Operation reduced =
        collective_of(step_, Collective::all_reduce, over_, cast.name + ".reduce_maximum");
    reduced.communication->reduction = Reduction::maximum;
    reduced.reads = reduced.writes = {ref};
    out.push_back(std::move(reduced));
  }

  TrainingStepAssembly& step_;
  MeshSubAxes over_;
};

}  // namespace

void reduce_maxima(TrainingStepAssembly& step) {
  ReducedMaxima{step}.run();
}

}  // namespace lockstep
