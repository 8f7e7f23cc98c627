#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/base/check.hpp"
#include "sim/execute/command_graph/host_backend.hpp"
#include "sim/execute/device_kernels/arguments_of.hpp"
#include "sim/execute/device_kernels/dispatch.hpp"
#include "sim/execute/kernels/lower_operation.hpp"
#include "sim/execute/kernels/random_bits.hpp"
#include "tests/sim/execute/device_program/lanes.hpp"
#include "tests/sim/execute/device_program/large_cases.hpp"
#include "tests/sim/execute/device_program/operation_on_device.hpp"
#include "tests/sim/execute/kernels/gradient_case.hpp"

/// Kernels for devices beside the oracle: on the host backend, and with many lanes that meet only
/// where the code lets them wait, as a GPU has them.
namespace lockstep {
namespace {

/// Roundings differ where sums are added up in another order.
constexpr double kTolerance = 1e-11;

struct Runner {
  int lanes = 0;
  const KernelLaunch* launch = nullptr;

  template <class Function>
  bool each(const Function& function) {
    // From the last to the first: no index may need what another has done.
    for (std::int64_t i = launch->count - 1; i >= 0; --i) function(i);
    return true;
  }
  template <class Function>
  bool teams(const Function& function) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Lanes all{lanes, static_cast<std::uint64_t>(launch->count)};
    std::vector<double> sums(static_cast<std::size_t>(lanes), nan);
    std::vector<double> scratch(static_cast<std::size_t>(launch->scratch), nan);
    all.run([&](int lane) {
      LaneTeam<double> team{all, lane, sums, scratch};
      for (std::int64_t i = 0; i < launch->count; ++i) {
        function(i, team);
        team.wait();
      }
    });
    return true;
  }
};

using Buffers = std::vector<std::vector<double>>;

struct Operands {
  Buffers reads{};
  Buffers writes{};
  Buffers scratch{};

  [[nodiscard]] kernels::Values of(const LoweredOperand& operand) {
    Buffers& from = operand.of == LoweredOperand::Of::reads    ? reads
                    : operand.of == LoweredOperand::Of::writes ? writes
                                                               : scratch;
    return {from.at(operand.index).data(), NumberType::fp64};
  }
  [[nodiscard]] std::vector<kernels::Values> of(const std::vector<LoweredOperand>& operands) {
    std::vector<kernels::Values> out;
    for (const LoweredOperand& each : operands) out.push_back(of(each));
    return out;
  }
};

void run_kernel_with(int lanes, const LoweredKernel& kernel, Operands& operands) {
  const auto reads = operands.of(kernel.reads);
  const auto writes = operands.of(kernel.writes);
  const kernels::Arguments arguments = kernels::arguments_of(kernel.launch, reads, writes);
  Runner runner{lanes, &kernel.launch};
  CHECK((kernels::dispatch<double>(kernel.launch.function, arguments, runner)));
}

struct Way {
  int lanes = 0;
  bool adds = false;
  std::int64_t max_scratch_elements = kMaxScratchElements;
};

/// What one operation makes of its operands on a device; everything else holds NaN at first.
[[nodiscard]] Buffers on_device(const Operation& operation, const std::vector<Part>& reads,
                                const std::vector<Part>& writes, const Buffers& held,
                                const KernelSettings& settings, const Way& how) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Operands operands;
  KernelCall<double> call{settings};
  call.operation = &operation;
  for (const Part& each : reads) {
    call.reads.push_back({&each.tensor, &each.layout, nullptr});
    operands.reads.push_back(each.values);
  }
  for (std::size_t i = 0; i < writes.size(); ++i) {
    call.writes.push_back({&writes[i].tensor, &writes[i].layout, {}});
    operands.writes.push_back(how.adds ? held[i] : std::vector<double>(held[i].size(), nan));
  }
  const std::vector<bool> adds(writes.size(), how.adds);
  const LoweredOperation lowered = lower_operation(call, adds, how.max_scratch_elements);
  for (const LoweredScratch& each : lowered.scratch) {
    operands.scratch.emplace_back(static_cast<std::size_t>(each.elements), nan);
  }
  for (const LoweredKernel& each : lowered.kernels) run_kernel_with(how.lanes, each, operands);
  return operands.writes;
}

void check_alike(const Buffers& got, const Buffers& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    double size = 1;
    for (const double each : expected[i]) size = std::max(size, std::abs(each));
    CHECK(largest_gap(got[i], expected[i]) <= kTolerance * size);
    bool is_whole = true;
    for (const double each : got[i]) is_whole = is_whole && !std::isnan(each);
    CHECK(is_whole);
  }
}

void check_operation(const Operation& operation, const std::vector<Part>& reads,
                     const std::vector<Part>& writes, const KernelSettings& settings,
                     const Way& how) {
  CAPTURE(to_string(operation.kind));
  CAPTURE(how.lanes);
  CAPTURE(how.adds);
  Buffers expected = run_oracle<double>(operation, reads, writes, settings);
  Buffers held;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::vector<double>& values = held.emplace_back();
    for (std::size_t k = 0; k < expected[i].size(); ++k) {
      values.push_back(static_cast<double>(k % 5) - 2);
      if (how.adds) expected[i][k] += values.back();
    }
  }
  check_alike(on_device(operation, reads, writes, held, settings, how), expected);
}

void check_case(const GradientCase& test, Way how) {
  CAPTURE(test.forward.name);
  // What is kept in scratch buffers is never added to.
  const bool combines =
      combines_itself(test.forward) || test.forward.kind == OperationKind::batch_norm;
  Way forward = how;
  forward.adds = how.adds && !combines;
  check_operation(test.forward, test.reads, test.results, test.settings, forward);
  if (test.gradients_of.empty()) return;
  const Values<double> results =
      run_oracle<double>(test.forward, test.reads, test.results, test.settings);
  const BackwardOperation backward = backward_of<double>(test, results);
  check_operation(backward.operation, backward.reads, backward.writes, test.settings, how);
}

TEST_CASE("kernels compute what the oracle does, in every precision") {
  const auto host = host_backend();
  for (const auto& cases : {gradient_cases(), large_cases()}) {
    for (const GradientCase& test : cases) {
      CAPTURE(test.forward.name);
      for (const bool adds : {false, true}) {
        CAPTURE(adds);
        CHECK(largest_error(test, {host.get(), NumberType::fp64, adds}) < kTolerance);
        CHECK(largest_error(test, {host.get(), NumberType::fp32, adds}) < 1e-4);
        CHECK(largest_error(test, {host.get(), NumberType::fp16, adds}) < 0.01);
        CHECK(largest_error(test, {host.get(), NumberType::bf16, adds}) < 0.08);
      }
    }
  }
}

TEST_CASE("they do so with many lanes that meet only where they wait") {
  for (const GradientCase& test : gradient_cases()) check_case(test, {64});
}

TEST_CASE("and where there is more than a team takes at a time") {
  for (const GradientCase& test : large_cases()) check_case(test, {128});
}

TEST_CASE("convolutions of some images at a time are those of all") {
  const auto host = host_backend();
  for (const GradientCase& test : image_cases()) {
    CHECK(largest_error(test, {host.get(), NumberType::fp64, false, 1}) < kTolerance);
  }
}

TEST_CASE("lanes that do not wait for each other are found") {
  Lanes lanes{8, 1};
  std::vector<int> seen(8, 0);
  int written = 0;
  lanes.run([&](int lane) {
    if (lane == 3) written = 1;
    seen[static_cast<std::size_t>(lane)] = written;
  });
  CHECK(std::count(seen.begin(), seen.end(), 1) < 8);
  lanes.run([&](int lane) {
    if (lane == 3) written = 2;
    lanes.wait();
    seen[static_cast<std::size_t>(lane)] = written;
  });
  CHECK(std::count(seen.begin(), seen.end(), 2) == 8);
  CHECK_THROWS_AS(lanes.run([&](int lane) {
    if (lane == 3) lanes.wait();
  }),
                  InternalError);
}

}  // namespace
}  // namespace lockstep
