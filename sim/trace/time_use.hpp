#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "sim/program/operation.hpp"

namespace lockstep {

/// Use of a time interval.
struct TimeUse {
  enum class Kind : std::uint8_t {
    computation,    // of class `of`
    communication,  // a transfer of `group` in flight
    bubble,         // another pipeline stage was not ready
    issue,          // the host had not launched the next operation yet
    waiting,        // for a rank of the same stage, a server, or an unknown cause
  };
  Kind kind = Kind::waiting;
  OperationClass of = OperationClass::communication;  // of computation
  std::string group{};                                // of communication

  [[nodiscard]] static TimeUse computation(OperationClass of) {
    return {Kind::computation, of, {}};
  }
  [[nodiscard]] static TimeUse communication(std::string group) {
    return {Kind::communication, OperationClass::communication, std::move(group)};
  }
  [[nodiscard]] static TimeUse bubble() {
    return {Kind::bubble, OperationClass::communication, {}};
  }
  [[nodiscard]] static TimeUse issue() { return {Kind::issue, OperationClass::communication, {}}; }
  [[nodiscard]] static TimeUse waiting() { return {}; }

  friend auto operator<=>(const TimeUse&, const TimeUse&) = default;
};

/// "matmul", "tp communication", "bubble", "kernel launch overhead", "waiting".
[[nodiscard]] std::string to_string(const TimeUse& use);

}  // namespace lockstep
