#pragma once

#include <string>

#include "sim/engine/replay.hpp"
#include "topologies/files/protocol.hpp"

namespace lockstep::app {

/// Network model and protocol.
struct NetworkRequest {
  std::string model = "fluid";  // fluid, alpha-beta, queue
  std::string protocol;         // id or file; empty: none

  /// Throws RequestError for an unknown model.
  [[nodiscard]] NetworkModel parsed() const;
};

/// A protocol by its id (`lockstep list protocols`) or file. Throws RequestError, ConfigError.
[[nodiscard]] Protocol load_named_protocol(const std::string& name);

}  // namespace lockstep::app
