#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/lockstep/collective/collective_question.hpp"

namespace lockstep::cli {

/// The collectives, algorithms and imported schedules that a command is asked about.
struct ContestantOptions {
  std::string collectives;
  std::string algorithms;
  std::vector<std::string> schedules;
  std::optional<int> slots;

  void add_to(CLI::App& command);
  /// Whether any of them is given.
  [[nodiscard]] bool any() const {
    return !collectives.empty() || !algorithms.empty() || !schedules.empty() || slots;
  }
  /// Adds the contestants to the question; a cluster of free size gets as many ranks as imported
  /// schedules are for. Throws UsageError, ConfigError.
  void ask(CollectiveQuestion& question) const;
};

/// Throws UsageError where there is no such collective.
[[nodiscard]] Collective collective_of(const std::string& name);

}  // namespace lockstep::cli
