#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/config_error.hpp"

/// GOAL, the text in which LogGOPSim takes schedules: per rank sends, receives and calculations,
/// and which of them wait for which. It says when things happen and not what is in the messages.
/// Source: Hoefler, Siebert and Lumsdaine, "Group operation assembly language", ICPP 2009; the text
/// form is that of LogGOPSim's txt2bin.
namespace lockstep {

struct GoalOperation {
  enum class Kind : std::uint8_t { send, receive, calc };
  Kind kind = Kind::calc;
  Bytes size;                              // send, receive
  Duration duration;                       // calc
  int peer = 0;                            // send, receive
  std::uint32_t tag = 0;                   // send, receive
  std::uint32_t cpu = 0;                   // which processor of the rank is busy
  std::uint32_t nic = 0;                   // which of its network interfaces
  std::string label;                       // empty: it has none
  std::vector<std::uint32_t> after;        // `requires`: what must have ended, by index
  std::vector<std::uint32_t> after_start;  // `irequires`: what must have started
  Position at;
};

struct GoalRank {
  int rank = 0;
  std::vector<GoalOperation> operations;
};

struct GoalSchedule {
  int ranks = 0;
  std::vector<GoalRank> programs;  // in order of rank; a rank without one does nothing
};

inline constexpr std::size_t kLargestGoal = std::size_t{1} << 30U;  // bytes

/// Reads the text; `file` is the name that errors carry. Operations may go without a label, a
/// dependency may come before what it names, and a semicolon may end a statement. Throws
/// ConfigError with every problem: what is no GOAL, ranks and numbers out of range, labels that
/// there are not or twice, dependencies in a cycle, sends that meet a receive of another size. A
/// message that only one end knows is left to the replay.
[[nodiscard]] GoalSchedule parse_goal(std::string_view text, std::string file);

/// The same from a file; ConfigError also where it is missing, a directory or not readable.
[[nodiscard]] GoalSchedule read_goal(const std::filesystem::path& path);

}  // namespace lockstep
