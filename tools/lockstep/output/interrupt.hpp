#pragma once

#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

/// During its lifetime SIGINT (ctrl-C) requests a command to stop with its results so far; a second
/// one terminates at once.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();
};

[[nodiscard]] bool was_interrupted();

inline constexpr int kInterrupted = 130;

/// Thrown by a command after printing its results so far.
class Interrupted : public Error {
 public:
  Interrupted() : Error{ErrorCode::negative_result, "interrupted"} {}
};

}  // namespace lockstep::cli
