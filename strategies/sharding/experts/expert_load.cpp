#include "strategies/sharding/experts/expert_load.hpp"

#include <algorithm>
#include <cmath>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

[[nodiscard]] bool takes_slots(const Tensor& tensor) {
  return find_extent(tensor, Dim::expert) != nullptr && find_extent(tensor, Dim::slot) != nullptr;
}

/// Rounded up, but for what multiplying left behind the point.
[[nodiscard]] std::int64_t whole(double slots) {
  return static_cast<std::int64_t>(std::ceil(slots - 1e-6));
}

class Loading {
 public:
  Loading(ModelGraph& graph, const Mesh& mesh, const ParallelConfig& parallel,
          const TransformerConfig& model)
      : graph_{graph},
        mesh_{mesh},
        experts_{model.experts->experts},
        load_{experts_, *parallel.expert_skew, parallel.capacity_factor},
        mean_{static_cast<double>(parallel.micro_batch * parallel.dp * model.sequence *
                                  model.experts->top_k) /
              static_cast<double>(experts_)} {}

  void run() {
    for (Tensor& tensor : graph_.tensors) {
      if (takes_slots(tensor)) resize(tensor);
    }
    for (Block& block : graph_.blocks) {
      for (auto* operations : {&block.forward, &block.backward}) {
        for (Operation& operation : *operations) mark(operation);
      }
    }
  }

 private:
  [[nodiscard]] double load_of(const Tensor& tensor) const {
    return load_.of(local_size(mesh_, *find_extent(tensor, Dim::expert)));
  }

  void resize(Tensor& tensor) const {
    const double slots = mean_ * load_of(tensor);
    for (Extent& extent : tensor.extents) {
      if (extent.dim != Dim::slot) continue;
      const auto parts = std::int64_t{mesh_.size(extent.shards)};
      extent.size = parts * whole(slots / static_cast<double>(parts));
    }
  }

  void mark(Operation& operation) const {
    if (operation.kind == OperationKind::collective) return mark_exchange(operation);
    if (operation.kind != OperationKind::matmul) return;
    for (const Ref& read : operation.reads) {
      const Tensor& tensor = graph_.tensors[read.tensor];
      if (takes_slots(tensor)) operation.factor = load_of(tensor) / load_.of(experts_);
    }
  }

  /// All-to-alls between the ranks whose loads differ.
  void mark_exchange(Operation& operation) const {
    if (operation.communication->collective != Collective::all_to_all) return;
    for (const auto* operands : {&operation.reads, &operation.writes}) {
      for (const Ref& each : *operands) {
        const Tensor& tensor = graph_.tensors[each.tensor];
        if (!takes_slots(tensor)) continue;
        if (find_extent(tensor, Dim::expert)->shards == operation.communication->over)
          operation.factor = load_of(tensor) / load_.of(experts_);
      }
    }
  }

  ModelGraph& graph_;
  const Mesh& mesh_;
  std::int64_t experts_;
  ExpertLoad load_;
  double mean_;
};

}  // namespace

ExpertLoad::ExpertLoad(std::int64_t experts, double skew, double capacity) {
  const auto all = static_cast<double>(experts);
  busiest_ = skew;
  other_ = experts > 1 ? (all - skew) / (all - 1) : 1;
  if (capacity == 0) return;
  busiest_ = std::min(busiest_, capacity);
  other_ = std::min(other_, capacity);
}

double ExpertLoad::of(std::int64_t local) const {
  const auto count = static_cast<double>(local);
  return (busiest_ + (count - 1) * other_) / count;
}

void load_experts(TrainingStepAssembly& step) {
  Loading{step.graph, step.program.mesh, step.parallel, *step.model.transformer()}.run();
}

}  // namespace lockstep
