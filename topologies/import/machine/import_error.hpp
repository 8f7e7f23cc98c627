#pragma once

#include <string>

#include "sim/base/error.hpp"

namespace lockstep {

/// The request does not fit the file.
class ImportError : public Error {
 public:
  explicit ImportError(const std::string& message) : Error{ErrorCode::invalid_input, message} {}
};

}  // namespace lockstep
