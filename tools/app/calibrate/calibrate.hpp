#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "strategies/measure/calibration/calibration.hpp"
#include "strategies/measure/validation/summary.hpp"

namespace lockstep::app {

/// Input of `lockstep calibrate --from`.
struct CalibrateRequest {
  std::vector<std::filesystem::path> from{};   // to fit
  std::vector<std::filesystem::path> check{};  // hold-out
  bool split = false;                          // hold out half of `from` instead
  std::size_t runs = 12;                       // runs per stack that are simulated repeatedly
  std::string name = "calibration";
};

/// One set of parameters fitted to some rows.
struct FittedFigures {
  std::string what{};  // "collective", "GEMMs", "attention", "stack"
  std::string of{};    // "nccl 2.30 ampere all_reduce ring ll, one node"
  std::string figures{};
  ErrorFigures before{};  // errors with shipped parameters; collectives: none
  ErrorFigures after{};
};

/// Remaining error of the rows with the fitted parameters.
struct CalibrateResidual {
  std::string part{};      // "fit" or "check"
  std::string quantity{};  // "collective_time"
  std::string group{};     // a table or group of runs; "all": mean over groups
  ErrorFigures errors{};
};

struct CalibrateResult {
  Calibration calibration{};
  std::vector<FittedFigures> fitted{};
  std::vector<CalibrateResidual> residuals{};
  std::vector<NotModeled> left_out{};
};

/// Throws ConfigError for invalid files, RequestError if they contain nothing to fit.
[[nodiscard]] CalibrateResult calibrate(const CalibrateRequest& request);

}  // namespace lockstep::app
