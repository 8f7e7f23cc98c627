#pragma once

#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

/// While one is there, SIGINT (ctrl-C) asks the command to end with what it has; a second one ends
/// it at once.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();
};

[[nodiscard]] bool was_interrupted();

inline constexpr int kInterrupted = 130;

/// What a command throws when it has printed what it had.
class Interrupted : public Error {
 public:
  Interrupted() : Error{ErrorCode::negative_result, "interrupted"} {}
};

}  // namespace lockstep::cli
