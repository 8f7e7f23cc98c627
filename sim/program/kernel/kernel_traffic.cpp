#include "sim/program/kernel/kernel_traffic.hpp"

#include <algorithm>

namespace lockstep {

namespace {

using Kind = OperationKind;

/// Bytes of the rank's part.
double bytes_of(const Program& program, const Tensor& tensor) {
  return static_cast<double>(local_bytes(program.mesh, tensor).count());
}

bool seen_before(const std::vector<Ref>& seen, const Ref& ref) {
  return std::find(seen.begin(), seen.end(), ref) != seen.end();
}

bool adds_to(const Operation& operation, const Tensor& written) {
  const bool gradient = written.category == Category::gradient && operation.kind != Kind::fill;
  return operation.accumulate || gradient;
}

double embedding_bytes(const Program& program, const Operation& operation) {
  const Tensor& tokens = tensor_of(program, read_of(operation, Operand::tokens));
  const Tensor& rows = tensor_of(program, write_of(operation, Operand::y));
  return bytes_of(program, tokens) + 2 * bytes_of(program, rows);
}

/// Rows are read, added to and written; a new gradient is first all zeros.
double embedding_backward_bytes(const Program& program, const Operation& operation) {
  const Tensor& tokens = tensor_of(program, read_of(operation, Operand::tokens));
  const Tensor& gradient = tensor_of(program, read_of(operation, gradient_of(Operand::y)));
  const Tensor& table = tensor_of(program, write_of(operation, gradient_of(Operand::table)));
  const double whole = bytes_of(program, table);
  const double rows = static_cast<double>(local_elements(program.mesh, gradient)) *
                      static_cast<double>(bytes_per_element(table.dtype));
  return bytes_of(program, tokens) + bytes_of(program, gradient) + 2 * std::min(rows, whole) +
         (adds_to(operation, table) ? 0 : whole);
}

/// One token of every sequence is read, and written.
[[nodiscard]] bool takes_first_token(const Operation& operation) {
  return operation.kind == Kind::pool_tokens && operation.window != 0;
}

[[nodiscard]] bool is_elementwise(Kind reader, Kind writer) {
  if (reader == Kind::add) return true;
  const bool behind_gemm = reader == Kind::activation || reader == Kind::dropout;
  return behind_gemm && writer == Kind::matmul;
}

}  // namespace

double local_length(const Program& program, const Tensor& tensor, Dim dim) {
  const Extent* extent = find_extent(tensor, dim);
  return extent == nullptr ? 1 : static_cast<double>(local_size(program.mesh, *extent));
}

void KernelTraffic::add(const Ref& ref, std::vector<Ref>& seen) {
  if (seen_before(seen, ref)) return;
  seen.push_back(ref);
  bytes_ += bytes_of(program_, tensor_of(program_, ref));
}

void KernelTraffic::add(const Operation& operation) {
  for (const Ref& ref : operation.reads) add(ref, reads_);
  for (const Ref& ref : operation.writes) {
    const bool made = seen_before(writes_, ref);
    if (!made && adds_to(operation, tensor_of(program_, ref))) add(ref, reads_);
    add(ref, writes_);
  }
}

bool is_read_elementwise(const Routine& routine, const Operation& operation) {
  if (operation.writes.empty()) return false;
  Ref result = operation.writes.front();
  const Operation* end = routine.operations.data() + routine.operations.size();
  for (const Operation* next = &operation + 1; next < end; ++next) {
    const auto& reads = next->reads;
    if (std::find(reads.begin(), reads.end(), result) == reads.end()) continue;
    if (!row_of(next->kind).exchange) return is_elementwise(next->kind, operation.kind);
    if (!next->writes.empty()) result = next->writes.front();
  }
  return false;
}

double gradient_bytes_of(const Program& program, const Operation& operation) {
  double out = 0;
  for (const Ref& ref : operation.writes) {
    const Tensor& written = tensor_of(program, ref);
    if (written.category == Category::gradient) out += bytes_of(program, written);
  }
  return out;
}

/// Of stored scores, or what has their shape, a kernel reads and writes the columns of the keys
/// that it has, once: a part of a ring adds nothing to those of others.
double unfused_bytes(const Program& program, const Operation& operation) {
  const Tensor& keys = tensor_of(
      program, read_of(operation, reads(operation, Operand::v) ? Operand::v : Operand::k));
  double bytes = 0;
  const auto add = [&](const Ref& ref, bool written) {
    const Tensor& tensor = tensor_of(program, ref);
    if (!has_dim(tensor, Dim::keys)) {
      bytes += bytes_of(program, tensor) * (written && adds_to(operation, tensor) ? 2 : 1);
      return;
    }
    const double share =
        local_length(program, keys, Dim::sequence) / local_length(program, tensor, Dim::keys);
    bytes += bytes_of(program, tensor) * std::min(1.0, share);
  };
  for (const Ref& ref : operation.reads) add(ref, false);
  for (const Ref& ref : operation.writes) add(ref, true);
  return bytes;
}

double bytes_moved(const Program& program, const Operation& operation) {
  const WorkRule work = row_of(operation.kind).work;
  if (work == WorkRule::unfused_attention) return unfused_bytes(program, operation);
  if (work == WorkRule::embedding) return embedding_bytes(program, operation);
  if (work == WorkRule::embedding_gradient) return embedding_backward_bytes(program, operation);
  if (takes_first_token(operation))
    return 2 * bytes_of(program, tensor_of(program, write_of(operation, Operand::y)));
  KernelTraffic traffic{program};
  traffic.add(operation);
  return traffic.bytes();
}

}  // namespace lockstep
