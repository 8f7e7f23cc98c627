#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/program/unroll.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/random_layouts.hpp"

/// The forward passes of a step alone.
namespace lockstep::test {
namespace {

constexpr int kGpusPerNode = 8;

/// What a role computes forward, and the stages' messages with the residual stream, in order.
[[nodiscard]] std::vector<std::string> forward_of(const RoleProgram& role) {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    const bool message = operation.name == "send.forward" || operation.name == "receive.forward";
    if (operation.purpose == Purpose::forward || message) out.push_back(role.name(i));
  }
  return out;
}

[[nodiscard]] bool goes_back(const RoleProgram& role) {
  return std::any_of(role.operations.begin(), role.operations.end(), [](const auto& each) {
    const Purpose purpose = each.operation->purpose;
    return purpose == Purpose::backward || purpose == Purpose::update ||
           purpose == Purpose::recompute || each.operation->name == "send.backward";
  });
}

}  // namespace

// unroll() refuses an operation that reads what nothing has written.
TEST_CASE("a forward program is what the step does forward, in its order, and nothing else") {
  int pipelines = 0;
  int sharded = 0;
  for (const RandomLayout& layout : random_layouts(77, 120)) {
    CAPTURE(to_string(layout));
    const Program whole = build_program(layout.model, layout.parallel, kGpusPerNode);
    const Program forward = build_forward_program(layout.model, layout.parallel, kGpusPerNode);
    const RolePrograms all = unroll(whole);
    const RolePrograms part = unroll(forward);
    REQUIRE(part.size() <= all.size());  // hosts that average have nothing to do
    for (std::size_t role = 0; role < part.size(); ++role) {
      CHECK(forward_of(part[role]) == forward_of(all[role]));
      CHECK(!goes_back(part[role]));
    }
    pipelines += layout.parallel.pp > 1 ? 1 : 0;
    sharded += layout.parallel.zero == 3 ? 1 : 0;
  }
  CHECK(pipelines > 10);
  CHECK(sharded > 10);
}

}  // namespace lockstep::test
