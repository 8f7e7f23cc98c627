#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// Where a collective goes along another dimension than a tensor's first, PyTorch's copies put the
/// parts in order: torch.cat of what ranks sent after an all-gather, and of what they are to get
/// before a reduce-scatter (torch/distributed/_functional_collectives.py, all_gather_tensor and
/// reduce_scatter_tensor). Asynchronous tensor parallelism needs none at the GEMMs that it runs in
/// parts (torch/distributed/_symmetric_memory, restride_A_shard_for_fused_all_gather_matmul), but
/// adds up the parts that ranks sent of a GEMM's result in a kernel of its own
/// (_fused_matmul_reduce_scatter_impl).
class PartsInOrder {
 public:
  explicit PartsInOrder(TrainingStepAssembly& step) : step_{step} {}

  void run() {
    for (Block& block : step_.graph.blocks) {
      rewrite(block.forward, Purpose::forward);
      rewrite(block.backward, Purpose::backward);
    }
  }

 private:
  void rewrite(std::vector<Operation>& body, Purpose purpose) {
    const auto pass = [purpose](const Operation& beside, std::vector<Ref> reads,
                                std::vector<Ref> writes, const char* suffix) {
      return kernel(purpose, beside.name + suffix, std::move(reads), std::move(writes));
    };
    std::vector<Operation> out;
    for (const Operation& operation : body) {
      const bool orders = needs_order(operation);
      const Collective what = orders ? operation.communication->collective : Collective::all_reduce;
      const bool in_parts = step_.parallel.overlaps(Overlap::tp);
      const bool result_in_parts =
          in_parts && what == Collective::reduce_scatter && kernels_of(operation, out) == 1;
      if (what == Collective::reduce_scatter && !result_in_parts)
        out.push_back(pass(operation, operation.reads, operation.reads, ".parts"));
      out.push_back(operation);
      if (what == Collective::all_gather && !in_parts)
        out.push_back(pass(operation, operation.writes, operation.writes, ".joined"));
      if (what == Collective::reduce_scatter && result_in_parts)
        out.push_back(pass(operation, {operation.reads.front(), operation.writes.front()}, {},
                           ".sum_of_parts"));
    }
    body = std::move(out);
  }

  [[nodiscard]] bool needs_order(const Operation& operation) const {
    if (operation.kind != OperationKind::collective || operation.communication->group != "tp")
      return false;
    const Tensor& moved = step_.graph.tensors[operation.reads.front().tensor];
    return operation.communication->cut && !moved.extents.empty() &&
           moved.extents.front().dim != *operation.communication->cut;
  }

  /// Kernels of GEMMs whose sum a collective takes.
  [[nodiscard]] static std::size_t kernels_of(const Operation& collective,
                                              const std::vector<Operation>& before) {
    std::size_t kernels = 0;
    int fused = 0;
    for (const Operation& each : before) {
      const auto& writes = each.writes;
      const bool adds =
          std::find(writes.begin(), writes.end(), collective.reads.front()) != writes.end();
      if (each.kind != OperationKind::matmul || !adds) continue;
      if (kernels == 0 || each.fused <= 0 || each.fused != fused) ++kernels;
      fused = each.fused;
    }
    return kernels;
  }

  /// A kernel that reads some tensors and writes others.
  [[nodiscard]] static Operation kernel(Purpose purpose, std::string name, std::vector<Ref> reads,
                                        std::vector<Ref> writes) {
    Operation out;
    out.kind = OperationKind::scale;
    out.name = std::move(name);
    out.purpose = purpose;
    out.reads = std::move(reads);
    out.writes = std::move(writes);
    return out;
  }

  TrainingStepAssembly& step_;
};

}  // namespace

void order_parts(TrainingStepAssembly& step) {
  PartsInOrder{step}.run();
}

}  // namespace lockstep
