#pragma once

#include <optional>
#include <string>

/// Entries of `lockstep help` for the names of algorithms, from the registry.
namespace lockstep::cli {

struct AlgorithmHelp {
  std::string name;
  std::string text;      // summary, with the collectives that it serves
  std::string formula;   // time of the first of them
  std::string see_also;  // the command that shows its rounds
};

/// None if no collective has an algorithm of that name.
[[nodiscard]] std::optional<AlgorithmHelp> find_algorithm_help(const std::string& name);

}  // namespace lockstep::cli
