#pragma once

#include "sim/base/error.hpp"

namespace lockstep {

/// More transfers share a link than it has steps of rate for: what a user gave, not a bug.
class ShareError : public Error {
 public:
  ShareError()
      : Error{ErrorCode::invalid_input,
              "a link has so little bandwidth for the transfers that share it that each would get "
              "less than the smallest rate, 2^-16 B/s"} {}
};

}  // namespace lockstep
