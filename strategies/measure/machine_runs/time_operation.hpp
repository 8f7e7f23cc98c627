#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "sim/program/kernel/kernel.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

struct TimingOptions {
  int warmups = 2;
  int repeats = 5;
  bool cuda_graph = true;
};

/// Measured time of an operation, or of a whole one-rank program.
struct TimedOperation {
  std::string name{};
  Kernel kernel{};
  int kernels = 1;     // launched for the operation
  double seconds = 0;  // the median
};

/// The number type of a program's dtype on devices: integers are floats.
[[nodiscard]] NumberType number_type(Dtype dtype);

/// Times one operation of a routine on the lowest rank's shards, on nonzero data. Throws
/// DeviceError.
[[nodiscard]] TimedOperation time_operation(Backend& backend, const Program& program,
                                            RoutineId routine, std::size_t operation,
                                            const TimingOptions& options = {});

/// The operations of a program's routines, one per shape.
[[nodiscard]] std::vector<std::pair<RoutineId, std::size_t>> distinct_operations(
    const Program& program);

/// Median seconds of the first role as one command graph. Requires one rank without peers. Throws
/// DeviceError, also for collectives, which the host computes here.
[[nodiscard]] double time_program(Backend& backend, const Program& program,
                                  const TimingOptions& options = {});

/// A program that only calls one routine at one position, with all operands present.
[[nodiscard]] Program only_routine(const Program& program, std::string_view routine);
/// The program with every 16-bit tensor as `dtype`.
[[nodiscard]] Program in_precision(const Program& program, Dtype dtype);

}  // namespace lockstep
