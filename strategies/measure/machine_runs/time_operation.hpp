#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "sim/program/kernel.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

struct TimingOptions {
  int warmups = 2;
  int repeats = 5;
  bool cuda_graph = true;
};

/// What a device took for an operation of a program, or for all of a program of one rank.
struct TimedOperation {
  std::string name{};
  Kernel kernel{};
  int kernels = 1;     // that the operation became
  double seconds = 0;  // the median
};

/// The type that a device holds numbers of a program in: whole numbers are floats.
[[nodiscard]] NumberType number_type(Dtype dtype);

/// One operation of a routine on the lowest rank's parts, on numbers that are not zero. Errors:
/// DeviceError.
[[nodiscard]] TimedOperation time_operation(Backend& backend, const Program& program,
                                            RoutineId routine, std::size_t operation,
                                            const TimingOptions& options = {});

/// Each operation of a program's routines once per shape.
[[nodiscard]] std::vector<std::pair<RoutineId, std::size_t>> distinct_operations(
    const Program& program);

/// All that the first role does, once, as one command graph: median seconds. Of one rank without
/// peers. Errors: DeviceError, also for collectives, which the host computes here.
[[nodiscard]] double time_program(Backend& backend, const Program& program,
                                  const TimingOptions& options = {});

/// A program of one position's calls of one routine alone, whose operands are all there.
[[nodiscard]] Program only_routine(const Program& program, std::string_view routine);
/// The same program with every 16-bit number as `dtype`.
[[nodiscard]] Program in_precision(const Program& program, Dtype dtype);

}  // namespace lockstep
