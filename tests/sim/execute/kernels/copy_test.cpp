#include <doctest/doctest.h>

#include "sim/execute/kernels/execution_error.hpp"
#include "tests/sim/execute/kernels/kernel_case.hpp"

namespace lockstep {
namespace {

const Shape kShape{{Dim::batch, 2}, {Dim::hidden, 4}};

[[nodiscard]] Part counted() {
  return with_values(zeros("x", kShape), {0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("add adds, scale multiplies, fill clears") {
  const Part x = counted();
  Operation scale = operation_of(OperationKind::scale);
  scale.factor = 0.5;
  CHECK(run<double>(operation_of(OperationKind::add), {x, x}, {x})[0] ==
        std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14});
  CHECK(run<double>(scale, {x}, {x})[0] == std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5});
  CHECK(run<double>(operation_of(OperationKind::fill), {}, {x})[0] == std::vector<double>(8, 0.0));
}

TEST_CASE("a slice is the part that the result has of the operand") {
  const Part x = counted();
  const Part right = cut(zeros("part", kShape), Dim::hidden, {2, 3});
  for (const OperationKind kind :
       {OperationKind::slice, OperationKind::cast, OperationKind::host_copy}) {
    CHECK(run<double>(operation_of(kind), {x}, {right})[0] == std::vector<double>{2, 3, 6, 7});
  }
}

TEST_CASE("a copy of what is not there is refused") {
  const Part x = counted();
  const Part left = cut(x, Dim::hidden, {0, 1});
  const Part right = cut(zeros("part", kShape), Dim::hidden, {1, 2});
  CHECK_THROWS_WITH_AS(run<double>(operation_of(OperationKind::slice), {left}, {right}),
                       "operation (slice): x has 2 of the 4 values that part takes",
                       ExecutionError);
}

TEST_CASE("operands that hold other parts of a dimension are refused") {
  const Part x = counted();
  const Part left = cut(x, Dim::hidden, {0, 1});
  const Part right = cut(x, Dim::hidden, {2, 3});
  CHECK_THROWS_AS(run<double>(operation_of(OperationKind::add), {left, right}, {left}),
                  ExecutionError);
}

TEST_CASE("communication is no computation") {
  const Part x = counted();
  CHECK_THROWS_WITH_AS(run<double>(operation_of(OperationKind::send), {x}, {}),
                       "operation (send): no computation", ExecutionError);
}

}  // namespace
}  // namespace lockstep
