#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strategies/measure/validation/statistics.hpp"

/// Errors by group and over all groups.
namespace lockstep {

struct GroupFigures {
  std::string group;
  ComparedQuantity quantity = ComparedQuantity::step_time;
  ErrorFigures all{};
  ErrorFigures printed{};                     // rows without assumed fields
  ErrorFigures assumed{};                     // the others
  std::optional<FlatUtilisation> baseline{};  // of step times
  RankingFigures ranking{};                   // of step times
};

/// Means over groups, each weighted equally.
struct OverallFigures {
  ComparedQuantity quantity = ComparedQuantity::step_time;
  std::size_t groups = 0;
  std::size_t printed_groups = 0;  // with rows without assumed fields
  std::size_t assumed_groups = 0;
  ErrorFigures all{};
  ErrorFigures printed{};
  ErrorFigures assumed{};
  std::optional<ErrorFigures> baseline{};
};

struct ValidationSummary {
  std::vector<GroupFigures> groups{};  // by quantity, then by name
  std::vector<OverallFigures> overall{};
};

[[nodiscard]] ValidationSummary summarise_comparisons(std::span<const Comparison> rows);

}  // namespace lockstep
