#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "strategies/scenario/scenario.hpp"
#include "tests/strategies/step/random_layouts.hpp"

/// The operands of every operation are those of the row of its kind
/// (sim/program/operation_kinds.hpp): as many, and each where its name says.
namespace lockstep::test {
namespace {

[[nodiscard]] std::set<Dim> dims_of(const Program& program, const Ref& ref) {
  std::set<Dim> out;
  for (const Extent& extent : program.tensors[ref.tensor].extents) out.insert(extent.dim);
  return out;
}

/// Every operand of an operation by name; of any number of tensors the first.
[[nodiscard]] std::multimap<Operand, Ref> named(const Operation& operation) {
  std::multimap<Operand, Ref> out;
  const OperationKindRow& row = row_of(operation.kind);
  for (std::size_t i = 0; i < row.reads.size(); ++i) {
    const auto place = read_place(operation, row.reads[i]);
    if (place) out.emplace(row.reads[i], operation.reads[*place]);
  }
  for (std::size_t i = 0; i < row.writes.size(); ++i) {
    const auto place = write_place(operation, row.writes[i]);
    if (place) out.emplace(row.writes[i], operation.writes[*place]);
  }
  return out;
}

/// A gradient has the dimensions of what it is the gradient of. What has the same name on both
/// sides is the same tensor, or has its dimensions.
[[nodiscard]] std::string mismatch(const Program& program, const Operation& operation) {
  const std::multimap<Operand, Ref> operands = named(operation);
  for (const auto& [operand, ref] : operands) {
    if (operand == Operand::states) continue;  // of several weights
    for (const auto& [other, of] : operands) {
      if (without_gradient(other) != without_gradient(operand)) continue;
      if (dims_of(program, of) != dims_of(program, ref)) {
        return to_string(operand) + " has other dimensions than " + to_string(other);
      }
    }
    const bool integers = operand == Operand::tokens || operand == Operand::labels;
    if (integers && program.tensors[ref.tensor].dtype != Dtype::int32) {
      return to_string(operand) + " holds no integers";
    }
  }
  return "";
}

void check_operands(const Program& program, std::set<OperationKind>& seen) {
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      CAPTURE(routine.name);
      CAPTURE(operation.name);
      const OperationKindRow& row = row_of(operation.kind);
      seen.insert(operation.kind);
      if (!row.reads.takes(operation.reads.size())) FAIL_CHECK("reads other operands");
      if (!row.writes.takes(operation.writes.size())) FAIL_CHECK("writes other operands");
      const std::string why = mismatch(program, operation);
      if (!why.empty()) FAIL_CHECK(why);
    }
  }
}

TEST_CASE("operands: every operation of every scenario has those of its kind, in their order") {
  const std::filesystem::path configs = LOCKSTEP_SOURCE_DIR "/configs";
  std::set<OperationKind> seen;
  for (const auto& file : std::filesystem::directory_iterator(configs / "scenarios")) {
    if (file.path().extension() != ".json") continue;
    CAPTURE(file.path().stem().string());
    const Scenario scenario = load_scenario(file.path(), {}, configs);
    check_operands(
        build_program(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node()),
        seen);
  }
  for (const RandomLayout& layout : random_layouts(36, 60)) {
    CAPTURE(to_string(layout));
    check_operands(build_program(layout.model, layout.parallel, 8), seen);
  }
  // Those of resnet and of transformers alike.
  CHECK(seen.contains(OperationKind::convolution_weight_grad));
  CHECK(seen.contains(OperationKind::combine_backward));
}

TEST_CASE("operands: a list finds what it has by the number of tensors") {
  constexpr OperandList kList{"q k [o statistics | sinks] g_o"};
  CHECK(kList.takes(3));
  CHECK(kList.takes(4));
  CHECK(kList.takes(5));
  CHECK(!kList.takes(2));
  CHECK(!kList.takes(6));
  CHECK(kList.find(gradient_of(Operand::o), 3) == 2);
  CHECK(kList.find(gradient_of(Operand::o), 5) == 4);
  CHECK(kList.find(Operand::sinks, 4) == 2);
  CHECK(!kList.find(Operand::sinks, 5));
  CHECK(!kList.find(Operand::o, 4));
  constexpr OperandList kMany{"gradient states..."};
  CHECK(kMany.takes(1));
  CHECK(kMany.takes(7));
  CHECK(!kMany.takes(0));
  CHECK(kMany.find(Operand::states, 7) == 1);
  CHECK(!kMany.find(Operand::states, 1));
}

TEST_CASE("operands: a gradient by names finds every operand in its forward operation") {
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const OperationKindRow& forward = row_of(static_cast<OperationKind>(i));
    if (forward.gradient_rule != GradientRule::by_names) continue;
    CAPTURE(forward.name);
    const OperationKindRow& backward = row_of(forward.gradient);
    for (std::size_t k = 0; k < backward.reads.size(); ++k) {
      const Operand operand = backward.reads[k];
      CAPTURE(to_string(operand));
      const bool known = is_gradient(operand)
                             ? forward.writes.has(without_gradient(operand))
                             : forward.reads.has(operand) || forward.writes.has(operand);
      CHECK(known);
    }
    for (std::size_t k = 0; k < backward.writes.size(); ++k) {
      CAPTURE(to_string(backward.writes[k]));
      CHECK(is_gradient(backward.writes[k]));
      CHECK(forward.reads.has(without_gradient(backward.writes[k])));
    }
  }
}

}  // namespace
}  // namespace lockstep::test
