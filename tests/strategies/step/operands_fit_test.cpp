#include <doctest/doctest.h>

#include <algorithm>

#include "strategies/sharding/placement.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Whether the parts that a rank holds fit together, in every operation of every layout.

namespace lockstep::test {
namespace {

[[nodiscard]] std::vector<AtomId> sorted(MeshSubAxes atoms) {
  std::sort(atoms.begin(), atoms.end());
  return atoms;
}

/// The atoms that cut a dimension of a tensor, in order; none where it does not have it.
[[nodiscard]] MeshSubAxes cut(const Tensor& tensor, Dim dim) {
  const Extent* extent = find_extent(tensor, dim);
  return extent == nullptr ? MeshSubAxes{} : extent->shards;
}

[[nodiscard]] bool has(const Tensor& tensor, Dim dim) {
  return find_extent(tensor, dim) != nullptr;
}

/// Slots of experts are a bag: their order means nothing.
[[nodiscard]] bool alike(Dim dim, const MeshSubAxes& a, const MeshSubAxes& b) {
  return dim == Dim::slot ? sorted(a) == sorted(b) : a == b;
}

/// A GEMM: what both operands have is cut alike, what the result keeps is cut as the operand is,
/// and the result is a sum over the atoms that cut what is contracted.
[[nodiscard]] bool gemm_fits(const Tensor& a, const Tensor& b, const Tensor& y) {
  MeshSubAxes sums;
  for (const Tensor* operand : {&a, &b}) {
    for (const Extent& extent : operand->extents) {
      const bool kept = has(y, extent.dim);
      const bool shared = has(a, extent.dim) && has(b, extent.dim);
      if (kept && !alike(extent.dim, extent.shards, cut(y, extent.dim))) return false;
      if (!kept && !shared) return false;  // nothing to contract with
      if (!kept && !alike(extent.dim, cut(a, extent.dim), cut(b, extent.dim))) return false;
      if (!kept) sums = joined(sums, extent.shards);
    }
  }
  return sorted(sums) == sorted(y.partial);
}

/// A collective: what its kind promises of shapes.
[[nodiscard]] bool collective_fits(const Mesh& mesh, const Operation& operation, const Tensor& from,
                                   const Tensor& to) {
  const Communication& how = *operation.communication;
  const std::int64_t n = mesh.size(how.over);
  const std::int64_t in = local_elements(mesh, from);
  const std::int64_t out = local_elements(mesh, to);
  switch (how.collective) {
    case Collective::all_gather:
      return out <= n * in && out > n * (in - 1);  // the last part may be padded
    case Collective::reduce_scatter:
      return in <= n * out && in > n * (out - 1);
    default:
      return in == out;
  }
}

template <class Fits>
void check_every_layout(std::uint64_t seed, Fits&& fits) {
  for (const RandomLayout& layout : random_layouts(seed, 60)) {
    CAPTURE(to_string(layout));
    const Program program = build_program(layout.model, layout.parallel, 8);
    for (const Routine& routine : program.routines) {
      for (const Operation& operation : routine.operations) {
        CAPTURE(routine.name);
        CAPTURE(operation.name);
        if (!fits(program, operation)) FAIL_CHECK("does not fit");
      }
    }
  }
}

[[nodiscard]] const Tensor& of(const Program& program, const Ref& ref) {
  return program.tensors[ref.tensor];
}

}  // namespace

TEST_CASE("every layout: an atom cuts a tensor once, and nothing that is a sum over it") {
  for (const RandomLayout& layout : random_layouts(31, 80)) {
    CAPTURE(to_string(layout));
    const Program program = build_program(layout.model, layout.parallel, 8);
    for (const Tensor& tensor : program.tensors) {
      MeshSubAxes all = tensor.partial;
      for (const Extent& extent : tensor.extents) {
        all.insert(all.end(), extent.shards.begin(), extent.shards.end());
      }
      all.insert(all.end(), tensor.flat.begin(), tensor.flat.end());
      CAPTURE(tensor.name);
      const std::vector<AtomId> in_order = sorted(all);
      CHECK(std::adjacent_find(in_order.begin(), in_order.end()) == in_order.end());
    }
  }
}

TEST_CASE("every layout: the operands of a GEMM fit, and its result is the sum that it says") {
  check_every_layout(32, [](const Program& program, const Operation& operation) {
    if (operation.kind != OperationKind::matmul) return true;
    return gemm_fits(of(program, operation.reads[0]), of(program, operation.reads[1]),
                     of(program, operation.writes[0]));
  });
}

TEST_CASE("every layout: nothing but a collective or a weight's gradient reads or leaves a sum") {
  check_every_layout(33, [](const Program& program, const Operation& operation) {
    if (operation.kind == OperationKind::collective) return true;
    return std::all_of(operation.reads.begin(), operation.reads.end(), [&](const Ref& ref) {
      const Tensor& tensor = of(program, ref);
      return tensor.partial.empty() || tensor.category == Category::gradient || tensor.on_host ||
             operation.purpose == Purpose::update;
    });
  });
}

TEST_CASE("every layout: elementwise operations have operands of one shape") {
  check_every_layout(34, [](const Program& program, const Operation& operation) {
    if (operation.kind != OperationKind::add && operation.kind != OperationKind::dropout) {
      return true;
    }
    const std::int64_t size = local_elements(program.mesh, of(program, operation.writes[0]));
    return std::all_of(operation.reads.begin(), operation.reads.end(), [&](const Ref& ref) {
      return local_elements(program.mesh, of(program, ref)) == size;
    });
  });
}

TEST_CASE("every layout: collectives give what their kind promises") {
  check_every_layout(35, [](const Program& program, const Operation& operation) {
    if (operation.kind != OperationKind::collective) return true;
    if (operation.communication->host || operation.reads.size() != operation.writes.size()) {
      return operation.communication->host.has_value();
    }
    for (std::size_t i = 0; i < operation.reads.size(); ++i) {
      if (!collective_fits(program.mesh, operation, of(program, operation.reads[i]),
                           of(program, operation.writes[i]))) {
        return false;
      }
    }
    return true;
  });
}

}  // namespace lockstep::test
