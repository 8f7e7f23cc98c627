#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "strategies/calibration/calibration.hpp"
#include "strategies/measure/validation/summary.hpp"
#include "tools/app/validate/unmodeled_row.hpp"

namespace lockstep::app {

/// Input of `lockstep calibrate --from`.
struct CalibrateRequest {
  std::vector<std::filesystem::path> from{};   // to fit
  std::vector<std::filesystem::path> check{};  // hold-out
  bool split = false;                          // hold out half of `from` instead
  std::size_t runs = 12;                       // runs per stack that are simulated repeatedly
  std::string name = "calibration";
};

/// Parameters of GEMMs of one precision on a device.
struct FittedGemms {
  std::string device{};
  std::string precision{};
  GemmParameters parameters{};
};
/// Parameters of one implementation of attention on a device.
struct FittedAttention {
  std::string device{};
  std::string implementation{};
  AttentionFigures parameters{};
};
/// Parameters of one software stack; both are set.
struct FittedStack {
  std::string stack{};
  StackFit parameters{};
};

/// One set of parameters fitted to some rows.
struct FittedFigures {
  std::variant<NcclCost, FittedGemms, FittedAttention, FittedStack> of{};
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
  std::vector<UnmodeledRow> left_out{};
};

/// Throws ConfigError for invalid files, RequestError if they contain nothing to fit.
[[nodiscard]] CalibrateResult calibrate(const CalibrateRequest& request);

}  // namespace lockstep::app
