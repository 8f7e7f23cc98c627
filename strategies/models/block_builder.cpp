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

void GraphBuilder::share(TensorId value, int position) {
  Tensor gradient = graph.tensors.at(value);
  gradient.name += ".gradient";
  gradient.category = Category::buffer;
  graph.shared = SharedActivation{value, add(std::move(gradient)), position};
}

std::optional<Operation> GraphBuilder::cast_of(const Ref& x, Dtype math) {
  const Tensor& of = graph.tensors.at(x.tensor);
  if (!is_narrow(math) || is_narrow(of.dtype) || !options.recipe.stores_operands) return {};
  Tensor cast = of;
  cast.name += ".cast";
  cast.dtype = math;
  cast.scope = Scope::microbatch;
  cast.resident = false;
  Operation out;
  out.kind = OperationKind::cast;
  out.name = cast.name;
  out.math = math;
  out.reads = {x};
  out.writes = {{.tensor = add(std::move(cast))}};
  sources_.emplace(out.writes.front().tensor, x);
  return out;
}

Dtype GraphBuilder::gradient_dtype(TensorId tensor) const {
  if (narrow_gradients_.contains(tensor)) return options.math;
  const Dtype own = graph.tensors.at(tensor).dtype;
  return is_narrow(own) ? options.activations : own;
}

Ref GraphBuilder::source_of(const Ref& ref) const {
  const auto found = sources_.find(ref.tensor);
  return found == sources_.end() ? ref : found->second;
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
                                const std::optional<Ref>& bias, const Ref& y,
                                std::optional<Dtype> math) {
  const Dtype of = narrow_ ? math.value_or(options().math) : options().wide_math();
  std::vector<Ref> reads{operand(x, of), w};
  if (bias) reads.push_back(*bias);
  Operation& made = append(OperationKind::matmul, std::move(name), std::move(reads), {y});
  made.math = of;
  made.at_hand[1] = is_narrow(of) && options().recipe.weights_once;
  return made;
}

Ref BlockBuilder::operand(const Ref& x, Dtype math) {
  const auto known = std::find_if(casts_.begin(), casts_.end(),
                                  [&x](const auto& cast) { return cast.first == x; });
  if (known != casts_.end() && is_narrow(math)) return known->second;
  auto cast = graph_.cast_of(x, math);
  if (!cast) return x;
  const Ref out = cast->writes.front();
  // GEMMs that are fused stay together.
  const auto& all = block_.forward;
  const auto writer = std::find_if(all.rbegin(), all.rend(), [&x](const Operation& one) {
    return std::find(one.writes.begin(), one.writes.end(), x) != one.writes.end();
  });
  insert(static_cast<std::size_t>(all.rend() - writer), *std::move(cast));
  return casts_.emplace_back(x, out).second;
}

bool BlockBuilder::dispatches_narrow() const {
  return narrow_ && is_narrow(options().math) && options().recipe.stores_dispatched;
}

Ref BlockBuilder::dispatched(const Ref& x) {
  return dispatches_narrow() ? operand(x, options().math) : x;
}

Ref BlockBuilder::activation_input(const Ref& x) {
  if (!narrow_ || !options().recipe.stores_activation_inputs) return x;
  auto cast = graph_.cast_of(x, options().math);
  if (!cast) return x;
  const Ref out = cast->writes.front();
  block_.forward.push_back(*std::move(cast));
  return out;
}

void BlockBuilder::insert(std::size_t at, Operation operation) {
  block_.forward.insert(block_.forward.begin() + static_cast<std::ptrdiff_t>(at),
                        std::move(operation));
}

int BlockBuilder::finish(bool input_gradient) {
  const bool wanted = input_gradient && input_.has_value();
  if (wanted) block_.input_gradient = input_->gradient;
  differentiate(graph_, block_, last_fused_);
  graph_.graph.blocks.push_back(std::move(block_));
  return static_cast<int>(graph_.graph.blocks.size() - 1);
}

}  // namespace lockstep
