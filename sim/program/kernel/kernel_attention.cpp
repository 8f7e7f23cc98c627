#include "sim/program/kernel/kernel_attention.hpp"

#include <algorithm>
#include <cmath>

#include "sim/program/kernel/attention_loads.hpp"
#include "sim/program/kernel/kernel_traffic.hpp"

namespace lockstep {

namespace {

/// Rounded up, but for what multiplying left behind the point.
std::int64_t whole(double length) {
  return static_cast<std::int64_t>(std::ceil(length - 1e-6));
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
  return local_length(program, value,
                      has_dim(value, Dim::value_size) ? Dim::value_size : Dim::head_size);
}

AttentionShape fused_shape(const Program& program, const Operation& operation) {
  const Tensor& q = tensor_of(program, read_of(operation, Operand::q));
  const Tensor& k = tensor_of(program, read_of(operation, Operand::k));
  const Tensor& v = tensor_of(program, read_of(operation, Operand::v));
  AttentionShape out;
  out.batches = local_length(program, q, Dim::batch) * local_length(program, q, Dim::heads);
  out.queries = local_length(program, q, Dim::sequence);
  out.keys = local_length(program, k, has_dim(k, Dim::keys) ? Dim::keys : Dim::sequence);
  out.key_size = local_length(program, q, Dim::head_size);
  out.value_size = head_value_size(program, v);
  const Extent* sequence = find_extent(q, Dim::sequence);
  out.zigzag = sequence != nullptr && sequence->zigzag && program.mesh.size(sequence->shards) > 1;
  return out;
}

/// [scores or what has their shape, one operand with heads]. In a ring the keys are a part.
AttentionShape unfused_shape(const Program& program, const Operation& operation,
                             const Tensor& scores, const Tensor& operand) {
  AttentionShape out;
  out.batches =
      local_length(program, scores, Dim::batch) * local_length(program, scores, Dim::heads);
  out.queries = local_length(program, scores, Dim::sequence);
  const Tensor& keys = tensor_of(
      program, read_of(operation, reads(operation, Operand::v) ? Operand::v : Operand::k));
  out.keys = std::min(local_length(program, scores, Dim::keys),
                      local_length(program, keys, Dim::sequence));
  out.key_size = head_value_size(program, operand);
  out.value_size = out.key_size;
  return out;
}

/// What has the shape of the scores.
const Ref& scores_of(const Operation& operation) {
  if (writes(operation, Operand::scores)) return write_of(operation, Operand::scores);
  const bool of_values = reads(operation, Operand::v);
  return read_of(operation, of_values ? Operand::probabilities : gradient_of(Operand::scores));
}

/// Leaves of the keys those that the mask lets through, on the rank that has most of them. Of a
/// zigzag cut, every rank sees half of each part (its low chunk attends the other's low chunk and
/// its high chunk both or only the low one: 2 of 4); of a plain cut, the last rank sees all parts
/// before its own whole. Masked within a kernel (`causal`) is only the diagonal.
void mask(Kernel& kernel, const Operation& operation, AttentionShape& shape) {
  if (!operation.causal) return;
  const bool diagonal = operation.ring_offset == 0;
  kernel.causal = diagonal;
  kernel.zigzag = diagonal && shape.zigzag;
  kernel.visible = operation.visible;
  if (!diagonal && shape.zigzag) shape.keys /= 2;
}

/// Equal parts of the sequence of which the queries are one.
std::int64_t parts_of(const AttentionShape& shape) {
  return std::max<std::int64_t>(1, std::llround(shape.keys / shape.queries));
}

/// Pairs of a query and a key that it sees, of all heads. Windows need the keys of the sequence
/// whole on a rank: layout_problems() refuses rings with them.
double pairs_of(const Kernel& kernel, const AttentionShape& shape) {
  if (!kernel.causal) return shape.batches * shape.queries * shape.keys;
  const std::int64_t parts = parts_of(shape);
  if (parts > 1)
    return shape.batches * most_pairs(kernel.visible, whole(shape.keys), parts, shape.zigzag);
  if (kernel.visible.limits(whole(shape.keys)))
    return shape.batches * visible_pairs(kernel.visible, whole(shape.keys));
  return shape.batches * shape.queries * shape.keys * 0.5;
}

void set_shape(Kernel& kernel, const AttentionShape& shape, double flops) {
  kernel.batches = whole(shape.batches);
  kernel.m = whole(shape.queries);
  kernel.n = whole(shape.keys);
  kernel.k = whole(shape.key_size);
  kernel.flops = flops;
}

/// The busiest place in the first microbatch.
MaskedAttention busiest_of(const AttentionLoads& loads) {
  const std::vector<MaskedAttention> all = loads.loads(0);
  return *std::max_element(all.begin(), all.end(),
                           [](const auto& a, const auto& b) { return a.pairs < b.pairs; });
}

/// Only blocks that the mask leaves are computed, and only their operands read. Within them it
/// hides keys on the diagonal alone: in a step past it, queries see all keys of their document.
void set_masked(Kernel& kernel, const Operation& operation, const AttentionShape& shape,
                const MaskedAttention& masked) {
  kernel.causal = operation.ring_offset == 0;
  const double sequences = shape.batches / static_cast<double>(masked.heads);
  const double queries = masked.queries / (shape.queries * sequences);
  const double keys = std::min(1.0, masked.keys / (shape.keys * sequences));
  kernel.moved_bytes *= (queries + keys) / 2;
  kernel.masked = masked;
}

}  // namespace

double mean_over_busiest(const Program& program, const Operation& operation) {
  const bool fused = row_of(operation.kind).work == WorkRule::attention;
  if (!fused || !operation.causal) return 1;
  if (const auto loads = AttentionLoads::of(program, operation)) {
    double sum = 0;
    for (const MaskedAttention& each : loads->loads(0)) sum += each.pairs;
    return sum > 0 ? sum / loads->places() / busiest_of(*loads).pairs : 1;
  }
  const AttentionShape shape = fused_shape(program, operation);
  const std::int64_t parts = parts_of(shape);
  if (parts > 1 && operation.visible.limits(whole(shape.keys))) {
    const std::int64_t keys = whole(shape.keys);
    return limited_pairs(operation.visible, keys) / static_cast<double>(parts) /
           most_pairs(operation.visible, keys, parts, shape.zigzag);
  }
  if (shape.zigzag) return 1;
  if (operation.ring_offset > 0) {
    const double members = program.mesh.size(program.mesh.axis("ring"));
    return (members - operation.ring_offset) / members;
  }
  if (shape.keys <= shape.queries) return 1;
  return shape.keys / 2 / (shape.keys - shape.queries / 2);
}

/// Forward q k^T and p v. Backward both again for each operand, and q k^T again: 5 GEMMs where
/// forward has 2 (Dao et al. 2022, arXiv 2205.14135, algorithm 4).
void set_attention(Kernel& kernel, const Program& program, const Operation& operation,
                   const MaskedAttention* masked) {
  AttentionShape shape = fused_shape(program, operation);
  const auto loads = AttentionLoads::of(program, operation);
  if (loads) set_masked(kernel, operation, shape, masked != nullptr ? *masked : busiest_of(*loads));
  if (!loads) mask(kernel, operation, shape);
  const double pairs = loads ? static_cast<double>(kernel.masked->heads) * kernel.masked->pairs
                             : pairs_of(kernel, shape);
  const double by_key = 2 * pairs * shape.key_size;
  const double by_value = 2 * pairs * shape.value_size;
  const bool backward = writes(operation, gradient_of(Operand::q));
  set_shape(kernel, shape, backward ? 3 * by_key + 2 * by_value : by_key + by_value);
}

/// One GEMM over all scores, two backward; a mask saves nothing here.
void set_unfused_attention(Kernel& kernel, const Program& program, const Operation& operation) {
  const Tensor& scores = tensor_of(program, scores_of(operation));
  const Operand operand = reads(operation, Operand::v) ? Operand::v : Operand::q;
  const bool backward = writes(operation, gradient_of(operand));
  const AttentionShape shape =
      unfused_shape(program, operation, scores, tensor_of(program, read_of(operation, operand)));
  const double one = 2 * shape.batches * shape.queries * shape.keys * shape.key_size;
  set_shape(kernel, shape, one * (backward ? 2 : 1));
}

}  // namespace lockstep
