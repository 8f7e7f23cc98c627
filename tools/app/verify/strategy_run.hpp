#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "strategies/scenario/scenario.hpp"
#include "strategies/verification/shrink/shrink.hpp"
#include "strategies/verification/verification_report.hpp"
#include "tools/app/progress.hpp"

/// Verifies strategies: trains a scenario and its variants on real numbers.
namespace lockstep {
class Backend;
}

namespace lockstep::app {

struct VerifyStrategyRequest {
  std::string file;
  std::vector<std::string> overrides{};  // keys that are not shrunk: "parallel.tp=4"
  int steps = 3;
  std::optional<std::uint64_t> seed{};  // none: the scenario's
  int ranks = 32;                       // maximum
  bool shrinks = true;
  bool float32 = false;
  std::filesystem::path nccl_tuning{};  // file; empty: NCCL 2.30 of the configs
  /// Executes the strategy; null: the host executor. Must outlive the run.
  Backend* device = nullptr;
  int devices = 1;
  OnProgress on_progress{};
};

/// The scenario itself, or one of its variants.
struct VerifiedLayout {
  std::string name;  // empty: the scenario itself
  std::vector<std::string> overrides{};
  Scenario scenario;
  ShrunkLayout layout;
  VerificationReport report;
};

/// A variant that is impossible with the overrides.
struct ImpossibleVariant {
  std::string name;
  std::string problem;
};

struct VerifyStrategyResult {
  std::vector<VerifiedLayout> layouts{};  // the scenario first, then its variants
  std::vector<ImpossibleVariant> impossible{};
  std::uint64_t seed = 1;
  /// The first layout with a problem; null if there is none.
  [[nodiscard]] const VerifiedLayout* first_wrong() const;
};

/// Throws ConfigError for an invalid scenario, RequestError if it cannot be shrunk or is too large
/// to execute unshrunk.
[[nodiscard]] VerifyStrategyResult verify_scenario(const VerifyStrategyRequest& request);

}  // namespace lockstep::app
