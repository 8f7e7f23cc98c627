#pragma once

#include <string>
#include <vector>

#include "sim/base/error.hpp"

/// Errors of use cases, in addition to those of files (ConfigError) and of the simulator.
namespace lockstep::app {

/// One problem of a request.
struct RequestProblem {
  /// The field at fault, with the value if it holds several: "cluster", "algorithm ring". Empty if
  /// it is no single field.
  std::string place;
  std::string message;  // the problem and what is allowed
};

/// A request that cannot be executed. place() and message() are those of the first problem.
class RequestError : public Error {
 public:
  explicit RequestError(const std::string& message);
  RequestError(const std::string& place, const std::string& message);
  /// Requires at least one problem.
  explicit RequestError(std::vector<RequestProblem> problems);
  [[nodiscard]] const std::vector<RequestProblem>& problems() const { return problems_; }

 private:
  std::vector<RequestProblem> problems_;
};

/// A negative result: a deadlock, a wrong result, a layout that does not fit.
class Refusal : public Error {
 public:
  explicit Refusal(const std::string& message) : Error{ErrorCode::negative_result, message} {}
  Refusal(const std::string& place, const std::string& message)
      : Error{ErrorCode::negative_result, message, place} {}
};

/// Writing failed.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message) : Error{ErrorCode::io, message} {}
};

}  // namespace lockstep::app
