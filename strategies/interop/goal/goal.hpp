#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json/config_error.hpp"

/// GOAL, LogGOPSim's schedule format: per rank sends, receives and calculations with dependencies.
/// It specifies the order of messages, not their contents. Source: Hoefler, Siebert and Lumsdaine,
/// "Group operation assembly language", ICPP 2009; the text form is that of LogGOPSim's txt2bin.
namespace lockstep {

struct GoalOperation {
  enum class Kind : std::uint8_t { send, receive, calc };
  Kind kind = Kind::calc;
  Bytes size;                              // send, receive
  Duration duration;                       // calc
  int peer = 0;                            // send, receive
  std::uint32_t tag = 0;                   // send, receive
  std::uint32_t cpu = 0;                   // processor of the rank that is busy
  std::uint32_t nic = 0;                   // network interface of the rank
  std::string label;                       // empty: none
  std::vector<std::uint32_t> after;        // `requires`: operations that must have ended, by index
  std::vector<std::uint32_t> after_start;  // `irequires`: operations that must have started
  Position at;
};

struct GoalRank {
  int rank = 0;
  std::vector<GoalOperation> operations;
};

struct GoalSchedule {
  int ranks = 0;
  std::vector<GoalRank> programs;  // in rank order; ranks without one do nothing
};

inline constexpr std::size_t kLargestGoal = std::size_t{1} << 30U;  // bytes

/// Parses a schedule; errors name `file`. Labels are optional, dependencies may precede the
/// operation they name, and a semicolon may end a statement. Throws ConfigError with every problem:
/// syntax, ranks and numbers out of range, missing or duplicate labels, cyclic dependencies, sends
/// and receives of different size. Unmatched messages are left to the replay.
[[nodiscard]] GoalSchedule parse_goal(std::string_view text, std::string file);

/// The same from a file; ConfigError also if it is missing, a directory or unreadable.
[[nodiscard]] GoalSchedule read_goal(const std::filesystem::path& path);

}  // namespace lockstep
