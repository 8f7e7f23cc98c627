#include "strategies/sharding/operands_fit.hpp"

#include <doctest/doctest.h>

#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Whether the parts that a rank holds fit together, in every operation of every layout.

namespace lockstep::test {
namespace {

/// The first operation that something is wrong with after `change` of one tensor. Expected: each
/// change contradicts what the placement meant.
template <class Change>
[[nodiscard]] std::string after(const Program& program, TensorId changed, Change&& change) {
  std::vector<Tensor> tensors = program.tensors;
  change(tensors[changed]);
  std::string out = misfit(program.mesh, tensors[changed]);
  for (const Routine& routine : program.routines)
    for (const Operation& operation : routine.operations)
      if (out.empty()) out = misfit(program.mesh, tensors, operation);
  return out;
}

[[nodiscard]] TensorId named(const Program& program, std::string_view name) {
  for (TensorId id = 0; id < program.tensors.size(); ++id)
    if (program.tensors[id].name == name) return id;
  FAIL("no tensor " << name);
  return 0;
}

/// GPT on tp 2, dp 2.
[[nodiscard]] Program sharded_program() {
  TransformerConfig shape;
  shape.hidden = 32;
  shape.heads = 4;
  shape.sequence = shape.vocabulary = 64;
  ParallelConfig parallel;
  parallel.tp = 2;
  parallel.dp = 2;
  parallel.global_batch = 2;
  return build_program(transformer(shape), parallel, 8);
}

}  // namespace

TEST_CASE("every layout: sub-axes cut a tensor once, and the operands of every operation fit") {
  for (const RandomLayout& layout : random_layouts(31, 120)) {
    CAPTURE(to_string(layout));
    const Program program = build_program(layout.model, layout.parallel, 8);
    for (const Tensor& tensor : program.tensors) CHECK(misfit(program.mesh, tensor) == "");
    for (const Routine& routine : program.routines) {
      for (const Operation& operation : routine.operations) {
        CAPTURE(routine.name);
        CAPTURE(operation.name);
        const std::string why = misfit(program.mesh, program.tensors, operation);
        if (!why.empty()) FAIL_CHECK(why);
      }
    }
  }
}

TEST_CASE("operands that do not fit are found: a weight cut otherwise, a sum that is none") {
  const Program program = sharded_program();
  const TensorId up = named(program, "mlp.up.weight");
  CHECK(after(program, up, [](Tensor&) {}) == "");
  CHECK(after(program, up, [](Tensor& tensor) {
          for (Extent& extent : tensor.extents) extent.shards.clear();
        }).find("cut unlike along ffn") != std::string::npos);
  const TensorId down = named(program, "mlp.down.weight");
  CHECK(after(program, down, [&](Tensor& tensor) {
          tensor.extents.front().dim = Dim::channels;
        }).find("nothing to contract") != std::string::npos);
  bool found = false;
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      if (operation.kind != OperationKind::matmul) continue;
      const TensorId id = write_of(operation, Operand::y).tensor;
      if (program.tensors[id].partial.empty()) continue;
      found = true;
      CAPTURE(operation.name);
      CHECK(after(program, id, [](Tensor& sum) { sum.partial.clear(); }).find("is not the sum") !=
            std::string::npos);
    }
  }
  CHECK(found);
}

TEST_CASE("operands that do not fit are found: a sum read too early, a collective, a double cut") {
  const Program program = sharded_program();
  const MeshSubAxes tp = program.mesh.axis("tp");
  std::size_t collectives = 0;
  for (const Routine& routine : program.routines) {
    for (Operation operation : routine.operations) {
      if (operation.kind != OperationKind::collective) continue;
      ++collectives;
      operation.communication->collective = Collective::all_gather;
      CHECK(misfit(program.mesh, program.tensors, operation).find("elements of") !=
            std::string::npos);
      operation.kind = OperationKind::add;
      operation.purpose = Purpose::forward;
      operation.communication.reset();
      const Tensor& read = program.tensors[operation.reads.front().tensor];
      if (read.category == Category::gradient) continue;
      CHECK(misfit(program.mesh, program.tensors, operation).find("is a partial sum over tp") !=
            std::string::npos);
    }
  }
  CHECK(collectives > 0);
  Tensor twice;
  twice.name = "twice";
  twice.extents = {{Dim::batch, 4, tp}, {Dim::hidden, 4, tp}};
  CHECK(misfit(program.mesh, twice) == "twice is cut or summed twice along tp");
  twice.extents = {{Dim::batch, 4, tp}};
  CHECK(misfit(program.mesh, twice) == "");
  twice.partial = tp;
  CHECK(misfit(program.mesh, twice) == "twice is cut or summed twice along tp");
}

}  // namespace lockstep::test
