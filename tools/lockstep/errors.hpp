#pragma once

#include <stdexcept>

namespace lockstep::cli {

/// Exit codes: what became of a command.
inline constexpr int kDone = 0;
inline constexpr int kNo = 1;        // the simulation says no
inline constexpr int kUsage = 2;     // something is wrong with what was given
inline constexpr int kInternal = 3;  // a bug
inline constexpr int kIo = 4;        // writing failed

/// What was given on the command line cannot be used. The text says what is allowed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The simulation says no: it cannot end, or the result is wrong.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writing failed.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep::cli
