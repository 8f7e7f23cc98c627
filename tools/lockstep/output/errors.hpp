#pragma once

#include <string>

#include "sim/base/error.hpp"
#include "tools/app/errors.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Exit codes.
inline constexpr int kDone = 0;
inline constexpr int kNo = 1;        // negative result: does not fit, verification failed
inline constexpr int kUsage = 2;     // invalid usage or config
inline constexpr int kInternal = 3;  // a bug
inline constexpr int kIo = 4;        // writing failed

[[nodiscard]] int exit_code(const Error& error);

/// The error text as printed: request fields named by the options that set them.
[[nodiscard]] std::string text_of(const Error& error);

/// Invalid command line; the message states what is allowed.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error{ErrorCode::invalid_input, message} {}
};

}  // namespace lockstep::cli
