#include "sim/program/unroll.hpp"

#include <doctest/doctest.h>

#include "sim/base/check.hpp"

/// Dependencies between streams: who has to wait for whom.

namespace lockstep {
namespace {

/// A program of one rank, operation by operation, every one in a call of its own.
class Bed {
 public:
  Ref tensor(bool resident = false, Scope scope = Scope::step) {
    Tensor made;
    made.name = "t" + std::to_string(program_.tensors.size());
    made.extents = {{Dim::hidden, 8}};
    made.resident = resident;
    made.scope = scope;
    return Ref{program_.add(std::move(made))};
  }

  /// Of a weight, in one microbatch.
  Ref gradient() {
    const Ref made = tensor(false, Scope::microbatch);
    program_.tensors.back().category = Category::gradient;
    return made;
  }

  /// Stream 0 computes.
  void operation(StreamId stream, std::vector<Ref> reads, std::vector<Ref> writes,
                 std::optional<int> ahead = {}, int position = 0, int microbatch = 0) {
    Operation made;
    made.kind = OperationKind::add;
    made.name = "op" + std::to_string(calls_.size());
    made.stream = stream;
    made.reads = std::move(reads);
    made.writes = std::move(writes);
    made.ahead = ahead;
    const RoutineId routine = program_.add(Routine{made.name, {made}});
    calls_.push_back({routine, position, microbatch});
  }

  /// Of the operation added last.
  void after_all() { program_.routines.back().operations.back().after_all = true; }

  void receives() { program_.routines.back().operations.back().kind = OperationKind::receive; }

  [[nodiscard]] RoleProgram unrolled() {
    program_.streams = {"compute", "one", "two"};
    program_.roles = {{"rank", {}, false, calls_}};
    return unroll(program_, 0);
  }

 private:
  Program program_;
  std::vector<Call> calls_;
};

using After = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("what reads waits for what wrote, where that is on another stream") {
  Bed bed;
  const Ref x = bed.tensor();
  bed.operation(0, {}, {x});
  bed.operation(1, {x}, {});  // read after write
  bed.operation(0, {x}, {});  // in its stream's order anyway
  const RoleProgram role = bed.unrolled();
  CHECK(role.operations[0].after == After{});
  CHECK(role.operations[1].after == After{0});
  CHECK(role.operations[2].after == After{});
}

TEST_CASE("what overwrites waits for those who still read") {
  Bed bed;
  const Ref x = bed.tensor();
  bed.operation(0, {}, {x});
  bed.operation(1, {x}, {});
  bed.operation(2, {x}, {});
  bed.operation(0, {}, {x});  // write after both reads
  CHECK(bed.unrolled().operations[3].after == After{1, 2});
}

TEST_CASE("what overwrites waits for what wrote before") {
  Bed bed;
  const Ref x = bed.tensor();
  bed.operation(1, {}, {x});
  bed.operation(0, {}, {x});  // write after write
  CHECK(bed.unrolled().operations[1].after == After{0});
}

TEST_CASE("readers do not wait for each other, nor for those before the last writer") {
  Bed bed;
  const Ref x = bed.tensor();
  bed.operation(0, {}, {x});
  bed.operation(1, {x}, {});
  bed.operation(2, {x}, {});
  bed.operation(0, {}, {x});
  bed.operation(1, {x}, {});
  const RoleProgram role = bed.unrolled();
  CHECK(role.operations[2].after == After{0});
  CHECK(role.operations[4].after == After{3});
}

TEST_CASE("of one stream only the last is waited for") {
  Bed bed;
  const Ref x = bed.tensor();
  const Ref y = bed.tensor();
  bed.operation(1, {}, {x});
  bed.operation(1, {}, {y});
  bed.operation(0, {x, y}, {});
  CHECK(bed.unrolled().operations[2].after == After{1});
}

TEST_CASE("a barrier waits for the last operation of every stream, others do not wait for it") {
  Bed bed;
  const Ref x = bed.tensor();
  bed.operation(1, {}, {x});
  bed.operation(2, {}, {});
  bed.operation(2, {}, {});
  bed.operation(0, {}, {});
  bed.after_all();
  bed.operation(1, {}, {});
  const RoleProgram role = bed.unrolled();
  CHECK(role.operations[3].after == After{0, 2});
  CHECK(role.operations[4].after == After{});
}

TEST_CASE("a receive that nothing hides holds up the compute stream from there on, no other") {
  Bed bed;
  bed.operation(0, {}, {});
  bed.operation(1, {}, {}, 0);
  bed.receives();
  bed.operation(2, {}, {});
  bed.operation(0, {}, {});
  bed.operation(0, {}, {});  // in its stream's order anyway
  const RoleProgram role = bed.unrolled();
  CHECK(role.operations[2].after == After{});
  CHECK(role.operations[3].after == After{1});
  CHECK(role.operations[4].after == After{});
}

TEST_CASE("instances of other positions and microbatches are other tensors") {
  Bed bed;
  const Ref x = bed.tensor(false, Scope::microbatch);
  const Ref layer = bed.tensor(false, Scope::layer);
  bed.operation(0, {}, {x, layer}, {}, 1, 0);
  bed.operation(0, {}, {x}, {}, 1, 1);
  bed.operation(1, {x}, {}, {}, 1, 0);
  bed.operation(2, {x}, {}, {}, 1, 1);
  bed.operation(1, {layer}, {}, {}, 1, 7);  // one for all microbatches
  const RoleProgram role = bed.unrolled();
  CHECK(role.operations[2].after == After{0});
  CHECK(role.operations[3].after == After{1});
  CHECK(role.operations[4].after == After{0});
  CHECK(role.instances.size() == 3);
}

TEST_CASE("a gradient of a microbatch is written once that of the one before is reduced") {
  Bed bed;
  const Ref gradient = bed.gradient();
  bed.operation(0, {}, {gradient}, {}, 1, 0);
  bed.operation(1, {gradient}, {}, {}, 1, 0);
  bed.operation(0, {}, {gradient}, {}, 2, 0);  // another layer's
  bed.operation(0, {}, {gradient}, {}, 1, 1);
  bed.operation(0, {}, {gradient}, {}, 1, 1);  // adds to it
  bed.operation(1, {gradient}, {}, {}, 1, 1);
  bed.operation(0, {}, {gradient}, {}, 1, 2);
  const RoleProgram role = bed.unrolled();
  CHECK(role.operations[2].after == After{});
  CHECK(role.operations[3].after == After{1});
  CHECK(role.operations[4].after == After{});
  CHECK(role.operations[6].after == After{5});
}

TEST_CASE("an operand further on, or at a fixed place") {
  Bed bed;
  Ref x = bed.tensor(false, Scope::microbatch);
  x.further = 1;
  bed.operation(0, {}, {x}, {}, 3, 2);  // position 4
  x.further = 0;
  bed.operation(1, {x}, {}, {}, 4, 2);
  x.position = 4;
  x.microbatch = 2;
  bed.operation(2, {x}, {}, {}, 9, 9);
  const RoleProgram role = bed.unrolled();
  CHECK(role.instances == std::vector<TensorInstance>{{x.tensor, 4, 2}});
  CHECK(role.operations[1].after == After{0});
  CHECK(role.operations[2].after == After{0});
}

TEST_CASE("reading what nobody has written is an error, unless it is there from the start") {
  Bed bed;
  bed.operation(0, {bed.tensor(true)}, {});
  CHECK_NOTHROW((void)bed.unrolled());
  bed.operation(0, {bed.tensor()}, {});
  CHECK_THROWS_AS((void)bed.unrolled(), InternalError);
}

TEST_CASE("ahead: held back until computation before has ended, or all but the last call's") {
  Bed bed;
  const Ref x = bed.tensor();
  bed.operation(0, {}, {});
  bed.operation(0, {}, {});
  bed.operation(1, {}, {x});     // at once
  bed.operation(1, {}, {x}, 0);  // behind both
  bed.operation(2, {}, {x}, 1);  // behind the first, beside the second
  const RoleProgram role = bed.unrolled();
  CHECK(role.operations[2].after == After{});
  CHECK(role.operations[3].after == After{1});
  CHECK(role.operations[4].after == After{0, 3});  // 3 wrote x
}

TEST_CASE("ahead counts calls that compute, not those that communicate") {
  Bed bed;
  bed.operation(0, {}, {});
  bed.operation(1, {}, {});
  bed.operation(0, {}, {});
  bed.operation(1, {}, {});
  bed.operation(2, {}, {}, 1);
  CHECK(bed.unrolled().operations[4].after == After{0});
}

}  // namespace lockstep
