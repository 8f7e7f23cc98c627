#include "strategies/models/block_builder.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/models/differentiate.hpp"

namespace lockstep {

TensorId GraphBuilder::add(Tensor tensor) {
  graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

std::int64_t GraphBuilder::size(TensorId tensor, Dim dim) const {
  const Extent* extent = find_extent(graph.tensors.at(tensor), dim);
  LOCKSTEP_CHECK(extent != nullptr);
  return extent->size;
}

Boundary GraphBuilder::boundary(const std::string& name, const std::vector<Extent>& extents) {
  Tensor value;
  value.name = name;
  value.dtype = options.activations;
  value.extents = extents;
  Tensor gradient = value;
  gradient.name = name + ".gradient";
  gradient.category = Category::buffer;
  const TensorId first = add(std::move(value));
  return {first, add(std::move(gradient))};
}

TensorId GraphBuilder::input(std::string name, std::vector<Extent> extents, Dtype dtype) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.category = Category::buffer;
  tensor.dtype = dtype;
  tensor.extents = std::move(extents);
  tensor.resident = true;
  graph.inputs.push_back(add(std::move(tensor)));
  return graph.inputs.back();
}

TensorId GraphBuilder::weight(std::string name, std::vector<Extent> extents) {
  Tensor weight;
  weight.name = std::move(name);
  weight.scope = Scope::layer;
  weight.category = Category::weight;
  weight.dtype = options.weights;
  weight.extents = std::move(extents);
  weight.resident = true;
  Tensor gradient = weight;
  gradient.name += ".gradient";
  gradient.category = Category::gradient;
  gradient.dtype = options.gradients;
  const TensorId id = add(std::move(weight));
  gradients_[id] = add(std::move(gradient));
  return id;
}

bool GraphBuilder::is_input(TensorId tensor) const {
  return std::find(graph.inputs.begin(), graph.inputs.end(), tensor) != graph.inputs.end();
}

BlockBuilder::BlockBuilder(GraphBuilder& graph, std::string name, std::optional<Boundary> input,
                           std::optional<Boundary> output)
    : graph_{graph}, input_{input}, output_{output} {
  block_.name = std::move(name);
  if (input_) block_.input = input_->value;
  if (output_) {
    block_.output = output_->value;
    block_.output_gradient = output_->gradient;
  }
}

Ref BlockBuilder::input() const {
  LOCKSTEP_CHECK(input_.has_value());
  return {.tensor = input_->value};
}

Ref BlockBuilder::output() const {
  LOCKSTEP_CHECK(output_.has_value());
  return {.tensor = output_->value, .further = 1};
}

Ref BlockBuilder::weight(const std::string& name, std::vector<Extent> extents) {
  const TensorId id = graph_.weight(prefix_ + name, std::move(extents));
  block_.weights.push_back(id);
  block_.gradients.push_back(graph_.gradient_of_weight(id));
  return {.tensor = id};
}

Ref BlockBuilder::tensor(const std::string& name, std::vector<Extent> extents,
                         std::optional<Dtype> dtype) {
  Tensor made;
  made.name = prefix_ + name;
  made.dtype = dtype.value_or(options().activations);
  made.extents = std::move(extents);
  return {.tensor = graph_.add(std::move(made))};
}

Ref BlockBuilder::like(const std::string& name, const Ref& other, std::optional<Dtype> dtype) {
  return tensor(name, std::vector<Extent>{extents(other)}, dtype);
}

const std::vector<Extent>& BlockBuilder::extents(const Ref& ref) const {
  return graph_.graph.tensors.at(ref.tensor).extents;
}

Operation& BlockBuilder::append(OperationKind kind, std::string name, std::vector<Ref> reads,
                                std::vector<Ref> writes) {
  Operation& made = block_.forward.emplace_back();
  made.kind = kind;
  made.name = prefix_ + std::move(name);
  made.reads = std::move(reads);
  made.writes = std::move(writes);
  return made;
}

Operation& BlockBuilder::matmul(std::string name, const Ref& x, const Ref& w,
                                const std::optional<Ref>& bias, const Ref& y) {
  std::vector<Ref> reads{x, w};
  if (bias) reads.push_back(*bias);
  Operation& made = append(OperationKind::matmul, std::move(name), std::move(reads), {y});
  made.math = options().math;
  made.at_hand[1] = options().form.fp8_casts.weights_once;
  return made;
}

void BlockBuilder::attention_core(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) block_.attention_core.push_back(i);
}

int BlockBuilder::finish(bool input_gradient) {
  const bool wanted = input_gradient && input_.has_value();
  if (wanted) block_.input_gradient = input_->gradient;
  differentiate(graph_, block_, last_fused_);
  graph_.graph.blocks.push_back(std::move(block_));
  return static_cast<int>(graph_.graph.blocks.size() - 1);
}

}  // namespace lockstep
