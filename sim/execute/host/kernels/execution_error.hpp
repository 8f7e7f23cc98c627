#pragma once

#include <stdexcept>

namespace lockstep {

/// A program that cannot be executed: parts that do not fit, values that nobody has written, ranks
/// that wait for each other. Says which ranks and operations.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep
