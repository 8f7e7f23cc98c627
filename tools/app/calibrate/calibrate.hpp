#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "strategies/measure/calibration/calibration.hpp"
#include "strategies/measure/validation/summary.hpp"

namespace lockstep::app {

/// What `lockstep calibrate --from` is asked.
struct CalibrateRequest {
  std::vector<std::filesystem::path> from{};   // to fit
  std::vector<std::filesystem::path> check{};  // to check with
  bool split = false;                          // half of `from` is checked with instead
  std::size_t runs = 12;                       // of a stack, that are simulated again and again
  std::string name = "calibration";
};

/// One set of figures that was fitted to some rows.
struct FittedFigures {
  std::string what{};  // "collective", "GEMMs", "attention", "stack"
  std::string of{};    // "nccl 2.30 ampere all_reduce ring ll, one node"
  std::string figures{};
  ErrorFigures before{};  // errors with what is shipped; of collectives: none
  ErrorFigures after{};
};

/// What is left in the rows, with what was fitted.
struct CalibrateResidual {
  std::string part{};      // "fit" or "check"
  std::string quantity{};  // "collective_time"
  std::string group{};     // a table or a group of runs; "all": mean over them
  ErrorFigures errors{};
};

struct CalibrateResult {
  Calibration calibration{};
  std::vector<FittedFigures> fitted{};
  std::vector<CalibrateResidual> residuals{};
  std::vector<LeftOut> left_out{};
};

/// Throws ConfigError for what the files have wrong, RequestError where they hold nothing to fit.
[[nodiscard]] CalibrateResult calibrate(const CalibrateRequest& request);

}  // namespace lockstep::app
