#include "sim/base/error.hpp"

#include <utility>

namespace lockstep {

Error::Error(ErrorCode code, const std::string& message, std::string place, std::string hint)
    : std::runtime_error{place.empty() ? message : place + ": " + message},
      code_{code},
      message_{message},
      place_{std::move(place)},
      hint_{std::move(hint)} {}

Error::Error(ErrorCode code, const Text& text, std::string message, std::string place)
    : std::runtime_error{text.text},
      code_{code},
      message_{std::move(message)},
      place_{std::move(place)} {}

}  // namespace lockstep
