#include "sim/execute/kernels/part_layout.hpp"

#include <doctest/doctest.h>

#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep {
namespace {

/// Six ranks: b the outer atom of size 3, a the inner of size 2; rank = 2 b + a.
Program mesh_of_six() {
  Program program;
  program.mesh = Mesh{{{"a", 2}, {"b", 3}}};
  return program;
}

constexpr AtomId kInner = 0;
constexpr AtomId kOuter = 1;

TensorId add(Program& program, std::vector<Extent> extents, MeshSubAxes flat = {}) {
  Tensor tensor;
  tensor.name = "x";
  tensor.extents = std::move(extents);
  tensor.flat = std::move(flat);
  return program.add(std::move(tensor));
}

using Indices = std::vector<std::int64_t>;

TEST_CASE("parts are cut outermost atom first") {
  Program program = mesh_of_six();
  const TensorId x = add(program, {{Dim::hidden, 12, {kInner, kOuter}}});
  LayoutTable layouts{program, 0};
  // Rank 3: b = 1, a = 1; a is the outer of this cut: part 1 * 3 + 1 = 4 of six, two each.
  CHECK(layouts.of(x, 3).global_indices() == Indices{8, 9});
}

TEST_CASE("what does not divide is padded at the end") {
  Program program = mesh_of_six();
  const TensorId x = add(program, {{Dim::vocabulary, 7, {kOuter}}, {Dim::hidden, 1}});
  LayoutTable layouts{program, 0};
  CHECK(layouts.of(x, 0).global_indices() == Indices{0, 1, 2});
  CHECK(layouts.of(x, 4).global_indices() == Indices{6, -1, -1});
  CHECK(layouts.of(x, 4).filled() == 1);
}

TEST_CASE("of a zigzag part r of n has the 2n-ths r and 2n - 1 - r") {
  Program program = mesh_of_six();
  const TensorId x = add(program, {{Dim::sequence, 12, {kOuter}, true}});
  LayoutTable layouts{program, 0};
  CHECK(layouts.of(x, 0).global_indices() == Indices{0, 1, 10, 11});
  CHECK(layouts.of(x, 2).global_indices() == Indices{2, 3, 8, 9});
  CHECK(layouts.of(x, 4).global_indices() == Indices{4, 5, 6, 7});
}

TEST_CASE("flat parts cut what the rank has, row by row") {
  Program program = mesh_of_six();
  // Rank 1 (a = 1, b = 0) has columns 2 and 3: elements 2 3 6 7 10 11 14 15; a third of 8 is 3.
  const TensorId x = add(program, {{Dim::vocabulary, 4}, {Dim::hidden, 4, {kInner}}}, {kOuter});
  LayoutTable layouts{program, 0};
  CHECK(layouts.of(x, 1).global_indices() == Indices{2, 3, 6});
  CHECK(layouts.of(x, 3).global_indices() == Indices{7, 10, 11});
  CHECK(layouts.of(x, 5).global_indices() == Indices{14, 15, -1});
}

TEST_CASE("what two parts have in common is copied to its place") {
  Program program = mesh_of_six();
  const TensorId whole = add(program, {{Dim::hidden, 6}});
  const TensorId part = add(program, {{Dim::hidden, 6, {kOuter}}});
  LayoutTable layouts{program, 0};
  std::vector<double> into(2, 1.0);
  const std::vector<double> from{10, 11, 12, 13, 14, 15};
  CHECK(copy_common(layouts.of(whole, 0), from, layouts.of(part, 2), into, true) == 2);
  CHECK(into == std::vector<double>{13, 14});
  std::vector<double> back(6, 0.0);
  CHECK(copy_common(layouts.of(part, 2), into, layouts.of(whole, 0), back, false) == 2);
  CHECK(back == std::vector<double>{0, 0, 13, 14, 0, 0});
}

TEST_CASE("parts of different flat parts do not meet") {
  Program program = mesh_of_six();
  const TensorId x = add(program, {{Dim::hidden, 12, {kInner}}}, {kOuter});
  LayoutTable layouts{program, 0};
  std::vector<double> into(2, 0.0);
  const std::vector<double> from(2, 0.0);
  CHECK_THROWS_AS(copy_common(layouts.of(x, 0), from, layouts.of(x, 1), into, false),
                  ExecutionError);
}

}  // namespace
}  // namespace lockstep
