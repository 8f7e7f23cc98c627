#include "strategies/models/loss.hpp"

namespace lockstep {

namespace {

/// A number per microbatch that outlives the step.
[[nodiscard]] TensorId loss_tensor(GraphBuilder& graph, const std::string& name) {
  Tensor loss;
  loss.name = name;
  loss.category = Category::buffer;
  loss.dtype = Dtype::fp32;
  loss.extents = {{Dim::statistic, 1}};
  loss.resident = true;
  return graph.add(std::move(loss));
}

/// The copy in 32 bits that the loss is computed from, where the form makes one.
[[nodiscard]] Ref widened(BlockBuilder& block, const Ref& logits) {
  const Dtype given = block.options().activations;
  const bool wide = bytes_per_element(given) >= bytes_per_element(Dtype::fp32);
  if (wide || block.options().form.loss == LossForm::logits) return logits;
  const Ref out = block.like("logits.wide", logits, Dtype::fp32);
  block.append(OperationKind::cast, "logits.wide", {logits}, {out});
  return out;
}

}  // namespace

void append_loss(BlockBuilder& block, const Ref& given, TensorId labels, double share) {
  const Ref logits = widened(block, given);
  std::vector<Extent> rows = block.extents(logits);
  rows.pop_back();
  const Ref truth{.tensor = labels};
  const Ref maximum = block.tensor("loss.maximum", rows, Dtype::fp32);
  block.append(OperationKind::loss_maximum, "loss.maximum", {logits}, {maximum});
  const Ref sum = block.tensor("loss.sum", rows, Dtype::fp32);
  const Ref target = block.tensor("loss.target", rows, Dtype::fp32);
  block.append(OperationKind::loss_sum, "loss.sum", {logits, truth, maximum}, {sum, target});
  GraphBuilder& graph = block.graph();
  const TensorId loss = loss_tensor(graph, block.prefix() + "loss");
  if (!graph.graph.loss) graph.graph.loss = loss;
  double count = static_cast<double>(block.options().microbatches);
  for (const Extent& extent : rows) count *= static_cast<double>(extent.size);
  block.append(OperationKind::loss, "loss", {maximum, sum, target}, {{.tensor = loss}}).factor =
      share / count;
}

void append_squared_error(BlockBuilder& block, const Ref& predictions, TensorId target) {
  std::vector<Extent> rows = block.extents(predictions);
  double count = static_cast<double>(block.options().microbatches);
  for (const Extent& extent : rows) count *= static_cast<double>(extent.size);
  rows.pop_back();
  const Ref sum = block.tensor("loss.sum", rows, Dtype::fp32);
  block.append(OperationKind::squared_error, "loss.squared_error",
               {predictions, {.tensor = target}}, {sum});
  GraphBuilder& graph = block.graph();
  graph.graph.loss = loss_tensor(graph, block.prefix() + "loss");
  block.append(OperationKind::loss, "loss", {sum}, {{.tensor = *graph.graph.loss}}).factor =
      1 / count;
}

}  // namespace lockstep
