#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/program/program.hpp"

/// Steps of many microbatches repeat themselves: between its start and its end, every role makes
/// the same calls again for later microbatches. A program of fewer such periods says how long each
/// of them takes, if it settles (sim/engine/periodic_replay.hpp).
namespace lockstep {

/// Calls of a role that repeat: call i + `length` is call i for later microbatches, for all i from
/// `first` to before `last` - `length`.
struct RepeatingCalls {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t length = 0;
};

struct ProgramPeriods {
  std::vector<RepeatingCalls> roles{};  // as Program::roles
  int microbatches = 0;                 // of a period, the same for all roles
  std::size_t periods = 0;              // in the role that has the fewest
};

/// None if some role does not repeat itself: a single microbatch, hosts, or passes in an order
/// without period.
[[nodiscard]] std::optional<ProgramPeriods> find_periods(const Program& program);

/// A program without some of its periods.
struct ShortenedProgram {
  Program program;
  ProgramPeriods periods;    // of it
  std::size_t left_out = 0;  // periods
};
/// Of each role, the last periods are left out until one has `kept` of them, and the microbatches
/// after them are renumbered. None where there is nothing to leave out, or where a later call needs
/// what such a period or one before it leaves behind.
[[nodiscard]] std::optional<ShortenedProgram> shortened(const Program& program,
                                                        const ProgramPeriods& periods,
                                                        std::size_t kept);
/// With as many periods as most pipelines need to settle.
[[nodiscard]] std::optional<ShortenedProgram> shortened(const Program& program);

}  // namespace lockstep
