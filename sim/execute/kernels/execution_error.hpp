#pragma once

#include <string>

#include "sim/base/error.hpp"

namespace lockstep {

/// A program that cannot be executed: inconsistent shards, uninitialized values, deadlock. Names
/// the ranks and operations.
class ExecutionError : public Error {
 public:
  explicit ExecutionError(const std::string& message)
      : Error{ErrorCode::negative_result, message} {}
};

}  // namespace lockstep
