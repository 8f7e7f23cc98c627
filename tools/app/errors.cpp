#include "tools/app/errors.hpp"

#include <utility>

#include "sim/base/check.hpp"

namespace lockstep::app {

namespace {

std::string text_of(const std::vector<RequestProblem>& problems) {
  LOCKSTEP_CHECK(!problems.empty());
  std::string text;
  for (const RequestProblem& problem : problems)
    text += (text.empty() ? "" : "\n  ") + (problem.place.empty() ? "" : problem.place + ": ") +
            problem.message;
  return text;
}

}  // namespace

RequestError::RequestError(const std::string& message) : RequestError{{{{}, message}}} {}

RequestError::RequestError(const std::string& place, const std::string& message)
    : RequestError{{{place, message}}} {}

RequestError::RequestError(std::vector<RequestProblem> problems)
    : Error{ErrorCode::invalid_input, Text{text_of(problems)}, problems.front().message,
            problems.front().place},
      problems_{std::move(problems)} {}

}  // namespace lockstep::app
