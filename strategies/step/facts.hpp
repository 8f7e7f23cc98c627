#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strategies/layout/passes.hpp"

namespace lockstep {

/// A fact's name, and its check: where it does not hold of a step, in words; empty where it holds
/// everywhere.
struct FactCheck {
  Fact fact;
  std::string_view name;
  std::string (*violation)(const TrainingStepAssembly& step);
};

/// Of every fact, in the order of Fact.
[[nodiscard]] std::span<const FactCheck> fact_checks();

}  // namespace lockstep
