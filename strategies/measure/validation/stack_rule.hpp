#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

/// The software of a training run and its defaults, recognized by the row's fields and source,
/// never by the resulting error.
struct StackRule {
  std::string_view when;    // condition, in words
  std::string_view stack;   // id in configs/stacks; empty: default_stack()
  double dropout;           // probability, if the row does not specify it
  std::string_view reason;  // evidence from the sources
  bool (*matches)(const MeasuredRun& run);
};

/// Tried in this order; the last one always matches.
[[nodiscard]] const std::vector<StackRule>& stack_rules();

/// The first rule that matches.
[[nodiscard]] const StackRule& stack_rule_of(const MeasuredRun& run);

/// The stack of a run: the one the row names, else the rule's. `configs` contains the devices.
[[nodiscard]] std::string stack_of(const MeasuredRun& run, const std::filesystem::path& configs);

}  // namespace lockstep
