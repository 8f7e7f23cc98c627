#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

/// Which software a training run was made with, and what that does by default; recognized by
/// what the row says and by whose it is; never by the error that comes out.
struct StackRule {
  std::string_view when;    // in words
  std::string_view stack;   // of configs/stacks; empty: default_stack()
  double dropout;           // probability, of a model of which the row does not say it
  std::string_view reason;  // what the sources say of the software
  bool (*matches)(const MeasuredRun& run);
};

/// In the order in which they are tried; the last one matches everything.
[[nodiscard]] const std::vector<StackRule>& stack_rules();

/// The first rule that matches.
[[nodiscard]] const StackRule& stack_rule_of(const MeasuredRun& run);

/// The stack of a run: the one that the row names, else the rule's. `configs` has the devices.
[[nodiscard]] std::string stack_of(const MeasuredRun& run, const std::filesystem::path& configs);

}  // namespace lockstep
