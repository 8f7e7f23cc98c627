#pragma once

#include "sim/base/error.hpp"

namespace lockstep {

/// Too many transfers share a link for the resolution of rates: an error of the input.
class ShareError : public Error {
 public:
  ShareError()
      : Error{ErrorCode::invalid_input,
              "a link has so little bandwidth for the transfers that share it that each would get "
              "less than the smallest rate, 2^-16 B/s"} {}
};

}  // namespace lockstep
