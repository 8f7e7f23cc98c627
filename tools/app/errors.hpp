#pragma once

#include <string>
#include <vector>

#include "sim/base/error.hpp"

/// What the use cases throw, next to the errors of files (ConfigError) and of the simulator.
namespace lockstep::app {

/// One fault of a request.
struct RequestProblem {
  /// The field at fault and, if it holds several values, which one: "cluster", "algorithm ring".
  /// Empty if no single field is.
  std::string place;
  std::string message;  // the fault and what is allowed
};

/// A request that cannot be carried out. place() and message() are those of the first problem.
class RequestError : public Error {
 public:
  explicit RequestError(const std::string& message);
  RequestError(const std::string& place, const std::string& message);
  /// At least one problem.
  explicit RequestError(std::vector<RequestProblem> problems);
  [[nodiscard]] const std::vector<RequestProblem>& problems() const { return problems_; }

 private:
  std::vector<RequestProblem> problems_;
};

/// The answer is no: a deadlock, a wrong result, a layout that does not fit.
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
