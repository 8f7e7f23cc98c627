#include "sim/program/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/check.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

const Tensor& tensor_of(const Program& program, const Ref& ref) {
  return program.tensors[ref.tensor];
}

/// The length of the rank's part of one dimension; 1 where the tensor has none such.
double length(const Program& program, const Tensor& tensor, Dim dim) {
  const Extent* extent = find_extent(tensor, dim);
  return extent == nullptr ? 1 : static_cast<double>(local_size(program.mesh, *extent));
}

bool has(const Tensor& tensor, Dim dim) {
  return find_extent(tensor, dim) != nullptr;
}

/// What the load of the busiest expert multiplies: `factor`, unless that is a number to compute
/// with.
double load_of(const Operation& operation) {
  const bool number = operation.kind == Kind::scale || operation.kind == Kind::loss ||
                      operation.kind == Kind::loss_backward;
  return number ? 1 : operation.factor;
}

/// Bytes of the rank's part; slots of the busiest expert are as many more.
double bytes_of(const Program& program, const Tensor& tensor, double load) {
  const auto bytes = static_cast<double>(local_bytes(program.mesh, tensor).count());
  return has(tensor, Dim::slot) ? bytes * load : bytes;
}

/// Sums the bytes of tensors, each once.
class Traffic {
 public:
  explicit Traffic(const Program& program) : program_{program} {}

  void read(const Ref& ref, double load) { add(ref, load, reads_); }
  void write(const Ref& ref, double load) { add(ref, load, writes_); }
  [[nodiscard]] bool writes(const Ref& ref) const {
    return std::find(writes_.begin(), writes_.end(), ref) != writes_.end();
  }
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  void add(const Ref& ref, double load, std::vector<Ref>& seen) {
    if (std::find(seen.begin(), seen.end(), ref) != seen.end()) return;
    seen.push_back(ref);
    bytes_ += bytes_of(program_, tensor_of(program_, ref), load);
  }

  const Program& program_;
  std::vector<Ref> reads_{};
  std::vector<Ref> writes_{};
  double bytes_ = 0;
};

bool adds_to(const Operation& operation, const Tensor& written) {
  const bool gradient = written.category == Category::gradient && operation.kind != Kind::fill &&
                        operation.kind != Kind::cast;
  return operation.accumulate || gradient;
}

/// What is added to is read too, unless the same kernel has just made it.
void pass_over(const Program& program, const Operation& operation, Traffic& traffic) {
  const double load = load_of(operation);
  for (const Ref& ref : operation.reads) traffic.read(ref, load);
  for (const Ref& ref : operation.writes) {
    const bool made = traffic.writes(ref);
    if (!made && adds_to(operation, tensor_of(program, ref))) traffic.read(ref, load);
    traffic.write(ref, load);
  }
}

double bytes_moved(const Program& program, const Operation& operation) {
  Traffic traffic{program};
  pass_over(program, operation, traffic);
  return traffic.bytes();
}

/// An embedding touches the rows of its tokens, not the whole table.
double embedding_bytes(const Program& program, const Operation& operation) {
  const Tensor& tokens = tensor_of(program, operation.reads.at(0));
  const Tensor& rows = tensor_of(program, operation.writes.at(0));
  return bytes_of(program, tokens, 1) + 2 * bytes_of(program, rows, 1);
}

/// [tokens, g_y] -> [g_table]: rows are read, added to and written; a new gradient is first all
/// zeros.
double embedding_backward_bytes(const Program& program, const Operation& operation) {
  const Tensor& tokens = tensor_of(program, operation.reads.at(0));
  const Tensor& gradient = tensor_of(program, operation.reads.at(1));
  const Tensor& table = tensor_of(program, operation.writes.at(0));
  const double whole = bytes_of(program, table, 1);
  const double rows = static_cast<double>(local_elements(program.mesh, gradient)) *
                      static_cast<double>(bytes_per_element(table.dtype));
  return bytes_of(program, tokens, 1) + bytes_of(program, gradient, 1) + 2 * std::min(rows, whole) +
         (adds_to(operation, table) ? 0 : whole);
}

/// The dimensions of a product, each the product of the rank's lengths.
struct Product {
  double batches = 1;
  double m = 1;
  double n = 1;
  double k = 1;

  [[nodiscard]] double flops() const { return 2 * batches * m * n * k; }
};

bool is_token(Dim dim) {
  return dim == Dim::batch || dim == Dim::sequence || dim == Dim::slot || dim == Dim::time ||
         dim == Dim::height || dim == Dim::width;
}

/// Rows of the result are tokens, wherever only one operand brings tokens into it.
bool transposed(const Tensor& a, const Tensor& b, const Tensor& y) {
  const auto brings_tokens = [&y](const Tensor& from, const Tensor& other) {
    return std::any_of(from.extents.begin(), from.extents.end(), [&](const Extent& extent) {
      return is_token(extent.dim) && has(y, extent.dim) && !has(other, extent.dim);
    });
  };
  return brings_tokens(b, a) && !brings_tokens(a, b);
}

Product product_of(const Program& program, const Operation& operation) {
  const Tensor* a = &tensor_of(program, operation.reads.at(0));
  const Tensor* b = &tensor_of(program, operation.reads.at(1));
  const Tensor& y = tensor_of(program, operation.writes.at(0));
  if (transposed(*a, *b, y)) std::swap(a, b);
  Product out;
  bool slots = false;
  const auto multiply = [&](double& by, const Tensor& tensor, Dim dim) {
    const bool slot = dim == Dim::slot;
    slots = slots || slot;
    by *= length(program, tensor, dim) * (slot ? load_of(operation) : 1);
  };
  for (const Extent& extent : a->extents) {
    const bool shared = has(*b, extent.dim);
    if (has(y, extent.dim)) multiply(shared ? out.batches : out.m, *a, extent.dim);
    if (!has(y, extent.dim) && shared) multiply(out.k, *a, extent.dim);
  }
  for (const Extent& extent : b->extents) {
    if (has(y, extent.dim) && !has(*a, extent.dim)) multiply(out.n, *b, extent.dim);
  }
  if (!slots) out.m *= load_of(operation);
  return out;
}

/// All products of a group as one: deeper where they add up to one result, else wider where they
/// have the same rows, else longer.
Product together(const Program& program, std::span<const Operation* const> group) {
  Product all = product_of(program, *group.front());
  double flops = 0;
  bool same_result = true;
  bool same_rows = true;
  for (const Operation* operation : group) {
    const Product one = product_of(program, *operation);
    flops += one.flops();
    same_result = same_result && operation->writes.at(0) == group.front()->writes.at(0);
    same_rows = same_rows && one.m == all.m;
  }
  double& grows = same_result ? all.k : same_rows ? all.n : all.m;
  grows *= flops / all.flops();
  return all;
}

/// The products that run as one kernel with this one, itself included.
std::vector<const Operation*> group_of(const Routine& routine, const Operation& operation) {
  if (operation.fused == 0) return {&operation};
  std::vector<const Operation*> out;
  for (const Operation& other : routine.operations) {
    if (other.kind == operation.kind && other.fused == operation.fused) out.push_back(&other);
  }
  return out;
}

std::int64_t whole(double length) {
  return static_cast<std::int64_t>(std::ceil(length));
}

void set_product(Kernel& kernel, const Product& product) {
  kernel.batches = whole(product.batches);
  kernel.m = whole(product.m);
  kernel.n = whole(product.n);
  kernel.k = whole(product.k);
  kernel.flops = product.flops();
}

void set_matmul(Kernel& kernel, const Program& program, const Routine& routine,
                const Operation& operation) {
  const std::vector<const Operation*> group = group_of(routine, operation);
  kernel.moved_bytes = 0;
  if (group.front() != &operation) {
    kernel.fused_away = true;
    return;
  }
  set_product(kernel, together(program, group));
  kernel.bias = operation.reads.size() > 2;
  Traffic traffic{program};
  for (const Operation* one : group) pass_over(program, *one, traffic);
  kernel.moved_bytes = traffic.bytes();
}

/// Queries, keys and values of any operation of attention. Where scores are written out, lengths
/// are theirs.
struct AttentionShape {
  double batches = 1;  // sequences * heads
  double queries = 1;
  double keys = 1;
  double key_size = 1;    // of a head
  double value_size = 1;  // of a head
  bool zigzag = false;
};

double head_value_size(const Program& program, const Tensor& value) {
  return length(program, value, has(value, Dim::value_size) ? Dim::value_size : Dim::head_size);
}

/// [q, k, v, ...] of fused attention.
AttentionShape fused_shape(const Program& program, const Operation& operation) {
  const Tensor& q = tensor_of(program, operation.reads.at(0));
  const Tensor& k = tensor_of(program, operation.reads.at(1));
  const Tensor& v = tensor_of(program, operation.reads.at(2));
  AttentionShape out;
  out.batches = length(program, q, Dim::batch) * length(program, q, Dim::heads);
  out.queries = length(program, q, Dim::sequence);
  out.keys = length(program, k, has(k, Dim::keys) ? Dim::keys : Dim::sequence);
  out.key_size = length(program, q, Dim::head_size);
  out.value_size = head_value_size(program, v);
  const Extent* sequence = find_extent(q, Dim::sequence);
  out.zigzag = sequence != nullptr && sequence->zigzag && program.mesh.size(sequence->shards) > 1;
  return out;
}

/// [scores or what has their shape, one operand with heads].
AttentionShape unfused_shape(const Program& program, const Tensor& scores, const Tensor& operand) {
  AttentionShape out;
  out.batches = length(program, scores, Dim::batch) * length(program, scores, Dim::heads);
  out.queries = length(program, scores, Dim::sequence);
  out.keys = length(program, scores, Dim::keys);
  out.key_size = head_value_size(program, operand);
  out.value_size = out.key_size;
  return out;
}

/// Leaves of the keys those that the mask lets through, on the rank that has most of them. Of a
/// zigzag cut, every rank sees half of each part (its low chunk attends the other's low chunk and
/// its high chunk both or only the low one: 2 of 4); of a plain cut, the last rank sees all parts
/// before its own whole. Masked within a kernel (`causal`) is only the diagonal.
void mask(Kernel& kernel, const Operation& operation, AttentionShape& shape) {
  if (!operation.causal) return;
  const bool diagonal = operation.ring_offset == 0;
  kernel.causal = diagonal;
  if (!diagonal && shape.zigzag) shape.keys /= 2;
}

/// The share of queries * keys that is computed under the mask of a diagonal part. Where there are
/// more keys than queries, the queries are the last of them.
double computed_share(const Kernel& kernel, const AttentionShape& shape) {
  if (!kernel.causal) return 1;
  if (shape.zigzag || shape.keys <= shape.queries) return 0.5;
  return (shape.keys - shape.queries / 2) / shape.keys;
}

void set_attention(Kernel& kernel, const AttentionShape& shape, double flops) {
  kernel.batches = whole(shape.batches);
  kernel.m = whole(shape.queries);
  kernel.n = whole(shape.keys);
  kernel.k = whole(shape.key_size);
  kernel.flops = flops;
}

/// Forward q k^T and p v. Backward both again for each operand, and q k^T anew: 5 products where
/// forward has 2 (Dao et al. 2022, arXiv 2205.14135, algorithm 4).
void set_fused_attention(Kernel& kernel, const Program& program, const Operation& operation) {
  AttentionShape shape = fused_shape(program, operation);
  mask(kernel, operation, shape);
  const double pairs = shape.batches * shape.queries * shape.keys * computed_share(kernel, shape);
  const double by_key = 2 * pairs * shape.key_size;
  const double by_value = 2 * pairs * shape.value_size;
  const bool backward = operation.kind == Kind::attention_backward;
  set_attention(kernel, shape, backward ? 3 * by_key + 2 * by_value : by_key + by_value);
}

/// One product over all scores, two backward; a mask saves nothing here.
void set_unfused_attention(Kernel& kernel, const Program& program, const Tensor& scores,
                           const Tensor& operand, int products) {
  const AttentionShape shape = unfused_shape(program, scores, operand);
  const double one = 2 * shape.batches * shape.queries * shape.keys * shape.key_size;
  set_attention(kernel, shape, one * products);
}

void set_attention_part(Kernel& kernel, const Program& program, const Operation& operation) {
  const auto read = [&](std::size_t i) -> const Tensor& {
    return tensor_of(program, operation.reads.at(i));
  };
  switch (operation.kind) {
    case Kind::attention:
    case Kind::attention_backward:
      return set_fused_attention(kernel, program, operation);
    case Kind::attention_scores:
      return set_unfused_attention(kernel, program, tensor_of(program, operation.writes.at(0)),
                                   read(0), 1);
    case Kind::attention_scores_backward:
      return set_unfused_attention(kernel, program, read(2), read(0), 2);
    case Kind::attention_context:
      return set_unfused_attention(kernel, program, read(0), read(1), 1);
    case Kind::attention_context_backward:
      return set_unfused_attention(kernel, program, read(0), read(1), 2);
    default:
      return;  // softmax: memory alone
  }
}

/// The product over all windows of all pixels out: pixels * (window) by (window) * channels out.
/// The gradients are the same three lengths in another order.
void set_convolution(Kernel& kernel, const Program& program, const Operation& operation) {
  const bool forward = operation.kind == Kind::convolution;
  const bool of_weight = operation.kind == Kind::convolution_weight_grad;
  const Tensor& out =
      tensor_of(program, forward ? operation.writes.at(0) : operation.reads.at(of_weight ? 1 : 0));
  const Tensor& weight =
      tensor_of(program, of_weight ? operation.writes.at(0) : operation.reads.at(1));
  const double channels = length(program, weight, Dim::channels);
  const double window = length(program, weight, Dim::window);
  const double pixels = static_cast<double>(unflattened_elements(program.mesh, out)) /
                        length(program, out, Dim::channels);
  Product product{1, pixels, channels, window};
  if (operation.kind == Kind::convolution_input_grad) product = {1, pixels, window, channels};
  if (of_weight) product = {1, channels, window, pixels};
  set_product(kernel, product);
}

/// Of products, as stated; of others what they work on.
Dtype math_of(const Program& program, const Operation& operation) {
  if (operation.math) return *operation.math;
  const auto& of = operation.kind == Kind::embedding || operation.reads.empty() ? operation.writes
                                                                                : operation.reads;
  return of.empty() ? Dtype::fp32 : tensor_of(program, of.front()).dtype;
}

bool is_backward(const Operation& operation) {
  return operation.purpose == Purpose::backward;
}

}  // namespace

Kernel kernel_of(const Program& program, const Routine& routine, std::size_t operation) {
  const Operation& of = routine.operations.at(operation);
  Kernel kernel;
  kernel.kind = of.kind;
  kernel.of = class_of(of.kind);
  kernel.math = math_of(program, of);
  kernel.backward = is_backward(of);
  if (kernel.of == OperationClass::communication || kernel.of == OperationClass::copy) {
    return kernel;
  }
  kernel.moved_bytes = bytes_moved(program, of);
  if (of.kind == Kind::matmul) set_matmul(kernel, program, routine, of);
  if (kernel.of == OperationClass::attention) set_attention_part(kernel, program, of);
  if (kernel.of == OperationClass::convolution) set_convolution(kernel, program, of);
  if (of.kind == Kind::embedding) kernel.moved_bytes = embedding_bytes(program, of);
  if (of.kind == Kind::embedding_backward) {
    kernel.moved_bytes = embedding_backward_bytes(program, of);
  }
  return kernel;
}

}  // namespace lockstep
