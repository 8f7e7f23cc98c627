#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// A second copy of each gathered cast that the GEMM of a weight gradient reads. Casts are gathered
/// by rows; in 8 bits with one scale per tensor that GEMM takes columns, so that Transformer Engine
/// transposes what was gathered, a kernel that reads and writes a byte per number
/// (pytorch/module/linear.py: fp8_transpose of inputmat_total, and of the gathered grad_output).
class TransposedOperands {
 public:
  explicit TransposedOperands(TrainingStepAssembly& step) : step_{step} {}

  void run() {
    for (Block& block : step_.graph.blocks) rewrite(block.backward);
  }

 private:
  void rewrite(std::vector<Operation>& body) {
    gathered_.clear();
    copies_.clear();
    std::vector<Operation> out;
    for (Operation& operation : body) {
      if (gathers(operation))
        gathered_.insert(gathered_.end(), operation.writes.begin(), operation.writes.end());
      if (gives_weight_gradient(operation))
        for (Ref& read : operation.reads)
          if (is_gathered(read)) read = copy_of(read, out);
      out.push_back(std::move(operation));
    }
    body = std::move(out);
  }

  [[nodiscard]] static bool gathers(const Operation& operation) {
    return operation.kind == OperationKind::collective &&
           operation.communication->collective == Collective::all_gather &&
           operation.communication->group == "tp";
  }

  [[nodiscard]] bool gives_weight_gradient(const Operation& operation) const {
    return operation.kind == OperationKind::matmul &&
           step_.graph.tensors[write_of(operation, Operand::y).tensor].category ==
               Category::gradient;
  }

  [[nodiscard]] bool is_gathered(const Ref& ref) const {
    return is_narrow(step_.graph.tensors[ref.tensor].dtype) &&
           std::find(gathered_.begin(), gathered_.end(), ref) != gathered_.end();
  }

  [[nodiscard]] Ref copy_of(const Ref& rows, std::vector<Operation>& out) {
    const auto known = std::find_if(copies_.begin(), copies_.end(),
                                    [&rows](const auto& copy) { return copy.first == rows; });
    if (known != copies_.end()) return known->second;
    Tensor tensor = step_.graph.tensors[rows.tensor];
    tensor.name += ".transposed";
    tensor.category = Category::buffer;
    Ref columns = rows;
    columns.tensor = static_cast<TensorId>(step_.graph.tensors.size());
    Operation transpose;
    transpose.kind = OperationKind::scale;
    transpose.name = step_.graph.tensors[rows.tensor].name + ".transpose";
    transpose.purpose = Purpose::backward;
    transpose.reads = {rows};
    transpose.writes = {columns};
    step_.graph.tensors.push_back(std::move(tensor));
    out.push_back(std::move(transpose));
    copies_.emplace_back(rows, columns);
    return columns;
  }

  TrainingStepAssembly& step_;
  std::vector<Ref> gathered_;  // of the block so far
  std::vector<std::pair<Ref, Ref>> copies_;
};

}  // namespace

void transpose_gathered(TrainingStepAssembly& step) {
  if (step.parallel.recipe.kept_weights == 1) return;  // GEMMs take rows and columns
  TransposedOperands{step}.run();
}

}  // namespace lockstep
