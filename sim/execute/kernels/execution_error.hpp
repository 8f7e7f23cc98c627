#pragma once

#include <string>

#include "sim/base/error.hpp"

namespace lockstep {

/// A program that cannot be executed: parts that do not fit, values that nobody has written, ranks
/// that wait for each other. Says which ranks and operations.
class ExecutionError : public Error {
 public:
  explicit ExecutionError(const std::string& message)
      : Error{ErrorCode::negative_result, message} {}
};

}  // namespace lockstep
