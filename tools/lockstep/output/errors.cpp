#include "tools/lockstep/output/errors.hpp"

#include <algorithm>

#include "tools/lockstep/output/interrupt.hpp"
#include "tools/lockstep/output/memory_text.hpp"

namespace lockstep::cli {

namespace {

/// "set_link \"a -> b\"": "--set-link \"a -> b\"".
std::string option_of(const std::string& place) {
  const std::size_t end = std::min(place.find(' '), place.size());
  std::string field = place.substr(0, end);
  std::replace(field.begin(), field.end(), '_', '-');
  std::string rest = place.substr(end);
  // The one place of two fields: the size of a cluster.
  if (const std::size_t ranks = rest.find(" ranks "); field == "nodes" && ranks < rest.size())
    rest.insert(ranks + 1, "--");
  return "--" + field + rest;
}

std::string line_of(const std::string& place, const std::string& message) {
  return place.empty() ? message : option_of(place) + ": " + message;
}

}  // namespace

int exit_code(const Error& error) {
  if (dynamic_cast<const Interrupted*>(&error) != nullptr) return kInterrupted;
  switch (error.code()) {
    case ErrorCode::invalid_input:
      return kUsage;
    case ErrorCode::negative_result:
      return kNo;
    case ErrorCode::io:
      return kIo;
    case ErrorCode::internal:
      break;
  }
  return kInternal;
}

std::string text_of(const Error& error) {
  if (const auto* request = dynamic_cast<const RequestError*>(&error)) {
    std::string text;
    for (const app::RequestProblem& problem : request->problems())
      text += (text.empty() ? "" : "\n  ") + line_of(problem.place, problem.message);
    return text;
  }
  if (dynamic_cast<const Refusal*>(&error) != nullptr)
    return line_of(error.place(), error.message());
  if (const auto* memory = dynamic_cast<const DoesNotFit*>(&error))
    return text_of(memory->shortfall());
  return error.what();
}

}  // namespace lockstep::cli
