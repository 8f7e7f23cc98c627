#pragma once

#include <string>

#include "sim/base/error.hpp"
#include "tools/app/errors.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Exit codes: what became of a command.
inline constexpr int kDone = 0;
inline constexpr int kNo = 1;        // the simulation says no
inline constexpr int kUsage = 2;     // something is wrong with what was given
inline constexpr int kInternal = 3;  // a bug
inline constexpr int kIo = 4;        // writing failed

[[nodiscard]] int exit_code(const Error& error);

/// The error as a command prints it: fields of a request as the options that set them.
[[nodiscard]] std::string text_of(const Error& error);

/// What was given on the command line cannot be used. The text says what is allowed.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error{ErrorCode::invalid_input, message} {}
};

}  // namespace lockstep::cli
