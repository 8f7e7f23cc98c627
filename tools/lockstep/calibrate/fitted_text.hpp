#pragma once

#include <string>

#include "tools/app/calibrate/calibrate.hpp"

/// Fitted parameters in words, for the columns of `lockstep calibrate --from`.
namespace lockstep::cli {

struct FittedText {
  std::string what{};     // "collective", "products", "attention", "stack"
  std::string of{};       // "nccl 2.30 ampere all_reduce ring ll, one node"
  std::string figures{};  // "launch 6.6 us, hop 0.9 us"
};

[[nodiscard]] FittedText fitted_text(const app::FittedFigures& fitted);

}  // namespace lockstep::cli
