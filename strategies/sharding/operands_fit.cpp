#include "strategies/sharding/operands_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

[[nodiscard]] MeshSubAxes sorted(MeshSubAxes atoms) {
  std::sort(atoms.begin(), atoms.end());
  return atoms;
}

/// The sub-axes that cut a dimension of a tensor, in order; none where it does not have it.
[[nodiscard]] MeshSubAxes cut(const Tensor& tensor, Dim dim) {
  const Extent* extent = find_extent(tensor, dim);
  return extent == nullptr ? MeshSubAxes{} : extent->shards;
}

/// Slots of experts are a bag: their order means nothing.
[[nodiscard]] bool alike(Dim dim, const MeshSubAxes& a, const MeshSubAxes& b) {
  return dim == Dim::slot ? sorted(a) == sorted(b) : a == b;
}

[[nodiscard]] std::string cut_unlike(const Tensor& a, const Tensor& b, Dim dim) {
  return fmt::format("{} and {} are cut unlike along {}", a.name, b.name, to_string(dim));
}

/// Copies of a stage of a pipeline have different microbatches, which no dimension shows.
[[nodiscard]] std::string gemm_misfit(const Mesh& mesh, const Tensor& a, const Tensor& b,
                                      const Tensor& y) {
  MeshSubAxes sums;
  for (const Tensor* operand : {&a, &b}) {
    for (const Extent& extent : operand->extents) {
      const Dim dim = extent.dim;
      if (find_extent(y, dim) != nullptr) {
        if (!alike(dim, extent.shards, cut(y, dim))) return cut_unlike(*operand, y, dim);
        continue;
      }
      if (find_extent(a, dim) == nullptr || find_extent(b, dim) == nullptr)
        return fmt::format("nothing to contract {} of {} with", to_string(dim), operand->name);
      if (!alike(dim, cut(a, dim), cut(b, dim))) return cut_unlike(a, b, dim);
      sums = joined(sums, extent.shards);
    }
  }
  const MeshSubAxes partial = without(y.partial, mesh.axis("copies"));
  if (sorted(sums) == sorted(partial)) return {};
  return fmt::format("{} is not the sum over what cuts the contracted dimensions", y.name);
}

/// Ranks that hold different parts.
[[nodiscard]] std::int64_t parts_of(const Mesh& mesh, const Tensor& tensor) {
  std::int64_t out = mesh.size(tensor.flat);
  for (const Extent& extent : tensor.extents) out *= mesh.size(extent.shards);
  return out;
}

/// The last part may be padded.
[[nodiscard]] bool is_part(std::int64_t part, std::int64_t whole, std::int64_t parts) {
  return whole <= parts * part && whole > parts * (part - 1);
}

[[nodiscard]] std::string collective_misfit(const Mesh& mesh, const Communication& how,
                                            const Tensor& from, const Tensor& to) {
  const std::int64_t members = mesh.size(how.over);
  // Slots of experts are padded in every part, whatever else cuts them: parts count, not elements.
  const bool pads = find_extent(from, Dim::slot) != nullptr;
  const std::int64_t in = pads ? parts_of(mesh, to) : local_elements(mesh, from);
  const std::int64_t out = pads ? parts_of(mesh, from) : local_elements(mesh, to);
  bool fits = in == out;
  if (how.collective == Collective::all_gather) fits = is_part(in, out, members);
  if (how.collective == Collective::reduce_scatter) fits = is_part(out, in, members);
  if (fits) return {};
  return fmt::format("{} {} of {} become {} of {}", pads ? out : in, pads ? "parts" : "elements",
                     from.name, pads ? in : out, to.name);
}

/// Partial sums over the same axes add up to one over these, and may be scaled or put in order.
[[nodiscard]] bool keeps_partial_sums(const std::vector<Tensor>& tensors,
                                      const Operation& operation) {
  const bool linear =
      operation.kind == OperationKind::add || operation.kind == OperationKind::scale;
  return linear &&
         std::all_of(operation.reads.begin(), operation.reads.end(), [&](const Ref& read) {
           return std::all_of(operation.writes.begin(), operation.writes.end(), [&](const Ref& to) {
             return tensors[read.tensor].partial == tensors[to.tensor].partial;
           });
         });
}

[[nodiscard]] bool is_elementwise(OperationKind kind) {
  return kind == OperationKind::add || kind == OperationKind::dropout;
}

}  // namespace

std::string misfit(const Mesh& mesh, const std::vector<Tensor>& tensors,
                   const Operation& operation) {
  const auto of = [&tensors](const Ref& ref) -> const Tensor& { return tensors[ref.tensor]; };
  if (operation.kind == OperationKind::collective) {
    const Communication& how = *operation.communication;
    if (how.host) return {};
    if (operation.reads.size() != operation.writes.size())
      return fmt::format("{} operands become {}", operation.reads.size(), operation.writes.size());
    for (std::size_t i = 0; i < operation.reads.size(); ++i) {
      std::string why =
          collective_misfit(mesh, how, of(operation.reads[i]), of(operation.writes[i]));
      if (!why.empty()) return why;
    }
    return {};
  }
  if (operation.kind == OperationKind::matmul) {
    std::string why =
        gemm_misfit(mesh, of(read_of(operation, Operand::a)), of(read_of(operation, Operand::b)),
                    of(write_of(operation, Operand::y)));
    if (!why.empty()) return why;
  }
  for (const Ref& ref : operation.reads) {
    const Tensor& read = of(ref);
    const bool may_be_sum = read.category == Category::gradient || read.on_host ||
                            operation.purpose == Purpose::update ||
                            keeps_partial_sums(tensors, operation);
    if (!read.partial.empty() && !may_be_sum)
      return fmt::format("{} is a partial sum over {}", read.name, mesh.name(read.partial));
    if (!is_elementwise(operation.kind)) continue;
    const Tensor& written = of(operation.writes.front());
    if (local_elements(mesh, read) != local_elements(mesh, written))
      return fmt::format("{} and {} differ in size", read.name, written.name);
  }
  return {};
}

std::string misfit(const Mesh& mesh, const Tensor& tensor) {
  MeshSubAxes all = tensor.partial;
  for (const Extent& extent : tensor.extents)
    all.insert(all.end(), extent.shards.begin(), extent.shards.end());
  all.insert(all.end(), tensor.flat.begin(), tensor.flat.end());
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice == all.end()) return {};
  return fmt::format("{} is cut or summed twice along {}", tensor.name,
                     mesh.name(MeshSubAxes{*twice}));
}

}  // namespace lockstep
