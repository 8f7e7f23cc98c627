#pragma once

#include <functional>

#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

/// During its lifetime SIGINT (ctrl-C) requests a command to stop with its results so far; a second
/// one terminates at once. With a host, the host requests it.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();
  /// Whether to stop, from any thread.
  [[nodiscard]] static std::function<bool()> asked_to_stop();
};

/// On the command's own thread.
[[nodiscard]] bool was_interrupted();

inline constexpr int kInterrupted = 130;

/// Thrown by a command after printing its results so far.
class Interrupted : public Error {
 public:
  Interrupted() : Error{ErrorCode::negative_result, "interrupted"} {}
};

}  // namespace lockstep::cli
