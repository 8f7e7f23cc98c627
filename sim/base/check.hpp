#pragma once

#include <string>

#include "sim/base/error.hpp"

/// Invariants that stay on in release builds. A failure is a bug in Lockstep, never the user's
/// mistake: it throws InternalError with file and line, which `main` turns into exit code 3.
namespace lockstep {

class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error{ErrorCode::internal, message} {}
};

namespace detail {
[[noreturn]] void fail_check(const char* condition, const char* file, int line);
}

}  // namespace lockstep

#define LOCKSTEP_CHECK(condition)                                     \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::lockstep::detail::fail_check(#condition, __FILE__, __LINE__); \
  } while (false)
