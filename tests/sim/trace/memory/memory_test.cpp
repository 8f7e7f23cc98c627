#include "sim/trace/memory/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sim/base/check.hpp"
#include "tests/sim/trace/step_builder.hpp"

namespace lockstep {
namespace {

using Kind = OperationKind;

constexpr TensorId kWeight = 0;
constexpr TensorId kInput = 1;
constexpr TensorId kHidden = 2;
constexpr TensorId kOutput = 3;
constexpr TensorId kGradient = 4;
constexpr TensorId kMaster = 5;

/// One block: fill x (10 bytes), h = relu(x) (20), y = h w (40); back: g_w (5, resident) from h and
/// y. The weight has 100 bytes, its copy on the host 400.
Program one_block(int microbatches) {
  Program program;
  program.add(tensor_of("weight", 100, Category::weight, true));
  program.tensors[kWeight].scope = Scope::layer;
  program.add(tensor_of("x", 10));
  program.add(tensor_of("h", 20));
  program.add(tensor_of("y", 40));
  program.add(tensor_of("weight.gradient", 5, Category::gradient, true));
  program.tensors[kGradient].scope = Scope::layer;
  program.add(tensor_of("master", 400, Category::optimizer_state, true));
  program.tensors[kMaster].scope = Scope::layer;
  program.tensors[kMaster].on_host = true;
  const RoutineId forward = program.add(
      Routine{"forward",
              {operation_of(Kind::fill, "load", {}, {Ref{kInput}}),
               operation_of(Kind::activation, "relu", {Ref{kInput}}, {Ref{kHidden}}),
               operation_of(Kind::matmul, "up", {Ref{kHidden}, Ref{kWeight}}, {Ref{kOutput}})}});
  const RoutineId backward = program.add(Routine{
      "backward",
      {operation_of(Kind::matmul, "up.weight_gradient", {Ref{kHidden}, Ref{kOutput}},
                    {Ref{kGradient}}),
       operation_of(Kind::update, "update", {Ref{kGradient}}, {Ref{kWeight}, Ref{kMaster}})}});
  Role role{"all", {}, false, {}};
  for (int i = 0; i < microbatches; ++i) role.calls.push_back({forward, 0, i});
  for (int i = microbatches; i-- > 0;) role.calls.push_back({backward, 0, i});
  program.roles.push_back(role);
  return program;
}

TrainingStepTimeline one_microbatch() {
  return timeline_of(one_block(1), {{{0, 10}, {10, 20}, {20, 30}, {30, 40}, {40, 50}}});
}

// Everything is small, so one segment of 2 MiB has room for it (kSmallBuffer).
TEST_CASE("what an allocator reserves holds what tensors need") {
  const TrainingStepTimeline step = one_microbatch();
  CHECK(reserved_bytes(step.roles[0], step.ranks[0]) == 2_MiB);
  CHECK(reserved_bytes(step.roles[0], step.ranks[0], 1_MiB) == 2_MiB);
}

TEST_CASE("a tensor is held from its first writer's start to its last user's end") {
  const TrainingStepTimeline step = one_microbatch();
  const MemoryAccount account = memory_account(step.roles[0], step.ranks[0]);

  // Resident: weight 100 and gradient 5. Activations: x [0, 20), h [10, 40), y [20, 40).
  const auto held = [&](std::int64_t activation) {
    CategoryBytes out;
    out[Category::weight] = Bytes{100};
    out[Category::gradient] = Bytes{5};
    out[Category::activation] = Bytes{activation};
    return out;
  };
  const auto at = [](std::int64_t ps) { return TimePoint{Duration::picoseconds(ps)}; };
  const std::vector<MemoryPoint> curve{
      {at(0), held(10)}, {at(10), held(10 + 20)}, {at(20), held(20 + 40)}, {at(40), held(0)}};
  CHECK(account.device.curve == curve);
}

TEST_CASE("what ends at an instant is freed before what begins there is allocated") {
  const TrainingStepTimeline step = one_microbatch();
  const MemoryPeak peak = memory_account(step.roles[0], step.ranks[0]).device.peak;
  // At 20 relu has done with x; allocating y first would have held 10 + 20 + 40.
  CHECK(peak.held[Category::activation] == Bytes{20 + 40});
  CHECK(peak.held.total() == Bytes{100 + 5 + 20 + 40});
  CHECK(peak.at.ps() == 20);
  REQUIRE(peak.operation);
  CHECK(step.roles[0].operations[*peak.operation].operation->name == "up");
}

TEST_CASE("the peak names its largest instances first") {
  const TrainingStepTimeline step = one_microbatch();
  const MemoryPeak peak = memory_account(step.roles[0], step.ranks[0]).device.peak;
  std::vector<std::string> names;
  Bytes sum;
  for (const HeldInstance& held : peak.instances) {
    names.push_back(step.roles[0].tensor(held.instance).name);
    sum += held.bytes;
  }
  CHECK(names == std::vector<std::string>{"weight", "y", "h", "weight.gradient"});
  CHECK(sum == peak.held.total());
}

TEST_CASE("tensors of the host are counted apart") {
  const TrainingStepTimeline step = one_microbatch();
  const MemoryAccount account = memory_account(step.roles[0], step.ranks[0]);
  CHECK(account.host.peak.held.total() == Bytes{400});
  CHECK_FALSE(account.host.peak.operation);
  CHECK(account.device.peak.held[Category::optimizer_state] == Bytes{0});
}

TEST_CASE("every tensor of a role that a host plays lies on the host") {
  TrainingStepTimeline step = one_microbatch();
  Program program = *step.program;
  program.roles[0].host = true;
  const RoleProgram role = unroll(program, 0);
  const MemoryAccount account = memory_account(role, step.ranks[0]);
  CHECK(account.device.peak.held.total() == Bytes{0});
  CHECK(account.host.peak.held.total() == Bytes{400 + 100 + 5 + 20 + 40});
}

TEST_CASE("microbatches in flight pile up, and are reported as one tensor") {
  // Forward of three microbatches, each 3 operations of 10 ps, then backward of the last.
  std::vector<Ran> ran;
  for (int i = 0; i < 3 * 3 + 3 * 2; ++i) ran.push_back({10 * i, 10 * i + 10});
  const TrainingStepTimeline step = timeline_of(one_block(3), {ran});
  const MemoryPeak peak = memory_account(step.roles[0], step.ranks[0]).device.peak;
  // When the third `up` starts: h and y of all three.
  CHECK(peak.at.ps() == 80);
  CHECK(peak.held[Category::activation] == Bytes{3 * (20 + 40)});
  REQUIRE(peak.tensors.size() == 4);
  const auto text_of = [&step](const HeldTensor& held) {
    return to_string(held, step.program->tensors[held.tensor].name);
  };
  CHECK(text_of(peak.tensors[0]) == "y (3 microbatches)");
  CHECK(peak.tensors[0].bytes == Bytes{120});
  CHECK(text_of(peak.tensors[1]) == "weight");  // 100 bytes, before 3 * 20
  CHECK(text_of(peak.tensors[2]) == "h (3 microbatches)");
}

TEST_CASE("a tensor of positions and microbatches says how many instances where some are gone") {
  const std::string name = "mlp.up.output";
  CHECK(to_string(HeldTensor{0, 72, 24, 3, Bytes{576}}, name) ==
        "mlp.up.output (24 layers, 3 microbatches)");
  CHECK(to_string(HeldTensor{0, 60, 24, 3, Bytes{480}}, name) ==
        "mlp.up.output (24 layers, 3 microbatches, 60 instances)");
}

TEST_CASE("what lives for no time takes no room") {
  // The activation and what reads it take no time: h is never held.
  Program program;
  program.add(tensor_of("x", 10));
  program.add(tensor_of("h", 1000));
  program.add(tensor_of("y", 1));
  const RoutineId all =
      program.add(Routine{"all",
                          {operation_of(Kind::fill, "load", {}, {Ref{0}}),
                           operation_of(Kind::slice, "part", {Ref{0}}, {Ref{1}}),
                           operation_of(Kind::slice, "part of part", {Ref{1}}, {Ref{2}}),
                           operation_of(Kind::activation, "relu", {Ref{2}}, {Ref{2}})}});
  program.roles.push_back({"all", {}, false, {{all, 0, 0}}});
  const TrainingStepTimeline step = timeline_of(program, {{{0, 10}, {10, 10}, {10, 10}, {10, 20}}});
  const MemoryAccount account = memory_account(step.roles[0], step.ranks[0]);
  CHECK(account.device.peak.held.total() == Bytes{10});
}

TEST_CASE("a rank holds its shard alone") {
  // 100 bytes over four ranks, then 25 flat over the same: ceil(25 / 4) = 7.
  Program program;
  program.mesh = Mesh{{{"tp", 4}}};
  program.add(tensor_of("weight", 100, Category::weight, true));
  program.tensors[0].extents[0].shards = {0};
  program.add(tensor_of("state", 25, Category::optimizer_state, true));
  program.tensors[1].flat = {0};
  const RoutineId all =
      program.add(Routine{"all", {operation_of(Kind::update, "update", {}, {Ref{0}, Ref{1}})}});
  program.roles.push_back({"all", {}, false, {{all, 0, 0}}});
  const CategoryBytes held = resident_bytes(unroll(program, 0));
  CHECK(held[Category::weight] == Bytes{25});
  CHECK(held[Category::optimizer_state] == Bytes{7});
  CHECK(model_state_bytes(held) == Bytes{32});
}

TEST_CASE("resident bytes need no timeline") {
  const Program program = one_block(1);
  const RoleProgram role = unroll(program, 0);
  CHECK(resident_bytes(role)[Category::weight] == Bytes{100});
  CHECK(resident_bytes(role)[Category::gradient] == Bytes{5});
  CHECK(resident_bytes(role).total() == Bytes{105});
  CHECK(resident_bytes(role, true)[Category::optimizer_state] == Bytes{400});
}

TEST_CASE("forward leaves for backward what backward reads and does not write first") {
  const Program program = one_block(2);
  const RoleProgram role = unroll(program, 0);
  // Backward reads h and y; x is gone.
  const std::vector<HeldInstance> left = live_between(role, {{0}, {1}, 0, 1});
  REQUIRE(left.size() == 2);
  CHECK(role.tensor(left[0].instance).name == "y");
  CHECK(role.instances[left[0].instance].microbatch == 1);
  CHECK(role.tensor(left[1].instance).name == "h");
  CHECK(total_bytes(left) == Bytes{20 + 40});
}

TEST_CASE("what backward computes again was not left for it") {
  Program program = one_block(1);
  // relu once more before the products: x stays instead of h.
  program.routines[1].operations.insert(
      program.routines[1].operations.begin(),
      operation_of(Kind::activation, "relu again", {Ref{kInput}}, {Ref{kHidden}}));
  const std::vector<HeldInstance> left = live_between(unroll(program, 0), {{0}, {1}, 0, 0});
  CHECK(total_bytes(left) == Bytes{10 + 40});
}

TEST_CASE("nothing is left where there are no such calls") {
  const Program program = one_block(1);
  CHECK(live_between(unroll(program, 0), {{0}, {1}, 7, 0}).empty());
}

/// Tensors of every kind that operations of two streams read and write in any order.
Program random_program(std::mt19937& draw) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(draw() % n); };
  Program program;
  const StreamId side = program.stream("side");
  Routine routine{"all", {}};
  for (TensorId i = 0; i < 12; ++i) {
    program.add(tensor_of("t", std::int64_t{1} << i, static_cast<Category>(below(5)), i % 4 == 3));
    routine.operations.push_back(operation_of(Kind::fill, "fill", {}, {Ref{i}}));
  }
  for (int i = 0; i < 30; ++i) {
    routine.operations.push_back(operation_of(Kind::add, "add", {Ref{below(12)}, Ref{below(12)}},
                                              {Ref{below(12)}},
                                              below(2) == 0 ? side : kComputeStream));
  }
  const RoutineId all = program.add(std::move(routine));
  program.roles.push_back({"all", {}, false, {{all, 0, 0}}});
  return program;
}

/// Of an instant, tensor by tensor: sizes are powers of two, so that each set has its own sum.
Bytes held_at(const RoleProgram& role, const RankTimeline& rank, std::int64_t ps) {
  Bytes sum;
  for (std::uint32_t instance = 0; instance < role.instances.size(); ++instance) {
    std::int64_t from = INT64_MAX;
    std::int64_t to = 0;
    for (std::size_t i = 0; i < role.operations.size(); ++i) {
      const auto uses = [&](const IndexList& operands) {
        return std::find(operands.begin(), operands.end(), instance) != operands.end();
      };
      const bool writes = uses(role.operations[i].writes);
      if (writes) from = std::min(from, rank.operations[i].start.ps());
      if (writes || uses(role.operations[i].reads)) to = std::max(to, rank.operations[i].end.ps());
    }
    if (role.tensor(instance).resident || (from <= ps && ps < to)) {
      sum += local_bytes(role.program->mesh, role.tensor(instance));
    }
  }
  return sum;
}

TEST_CASE("at every instant the curve is the sum over the tensors") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 draw{seed};
    const Program program = random_program(draw);
    std::vector<Ran> ran;
    for (std::size_t i = 0; i < program.routines[0].operations.size(); ++i) {
      const auto start = static_cast<std::int64_t>(draw() % 20);
      ran.push_back({start, start + static_cast<std::int64_t>(draw() % 4)});
    }
    const TrainingStepTimeline step = timeline_of(program, {ran});
    const MemoryUse use = memory_account(step.roles[0], step.ranks[0]).device;
    Bytes highest;
    for (std::int64_t ps = 0; ps < 25; ++ps) {
      Bytes held;
      for (const MemoryPoint& point : use.curve) {
        if (point.at.ps() <= ps) held = point.held.total();
      }
      CHECK(held == held_at(step.roles[0], step.ranks[0], ps));
      highest = std::max(highest, held);
    }
    CHECK(use.peak.held.total() == highest);
    CHECK(total_bytes(use.peak.instances) == highest);
    CHECK(held_at(step.roles[0], step.ranks[0], use.peak.at.ps()) == highest);
  }
}

TEST_CASE("an account of the wrong rank is refused") {
  TrainingStepTimeline step = one_microbatch();
  step.ranks[0].operations.pop_back();
  CHECK_THROWS_AS(static_cast<void>(memory_account(step.roles[0], step.ranks[0])), InternalError);
}

}  // namespace
}  // namespace lockstep
