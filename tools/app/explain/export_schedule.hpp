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
  std::string text;                   // of the file
  std::vector<std::string> warnings;  // what the form cannot express
};

/// A schedule as a file of another program: the one that run_collective() replays. Throws
/// RequestError, ConfigError, Refusal if the form cannot hold it.
[[nodiscard]] ExportResult export_schedule(const ExportRequest& request);

}  // namespace lockstep::app
