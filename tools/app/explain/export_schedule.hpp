#pragma once

#include <string>
#include <vector>

#include "tools/app/explain/explain_stage.hpp"

namespace lockstep::app {

struct ExportRequest {
  StageRequest stage;
  std::string form = "msccl";       // or "goal"
  std::string protocol = "Simple";  // of MSCCL: Simple, LL, LL128
};

struct ExportResult {
  Stage stage;
  std::string text;                   // contents of the file
  std::vector<std::string> warnings;  // what the format cannot express
};

/// The schedule that run_collective() replays, in the file format of another program. Throws
/// RequestError, ConfigError, and Refusal if the format cannot express it.
[[nodiscard]] ExportResult export_schedule(const ExportRequest& request);

}  // namespace lockstep::app
