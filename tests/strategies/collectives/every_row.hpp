#pragma once

#include <string>
#include <vector>

#include "strategies/collectives/registry.hpp"

namespace lockstep {

/// Every row of the table, with its fallbacks and, where it has parameters, with others.
struct RowCase {
  const CollectiveAlgorithm* row = nullptr;
  int n = 0;
  AlgorithmArguments arguments;

  [[nodiscard]] SchedulePtr make() const { return make_schedule(*row, n, arguments); }
  [[nodiscard]] CollectiveCost cost() const { return cost_of(*row, n, arguments); }
  [[nodiscard]] std::string name() const {
    std::string text{row->name};
    for (const auto& [key, value] : arguments) text += " " + key + "=" + std::to_string(value);
    return text + " n=" + std::to_string(n);
  }
};

inline std::vector<RowCase> every_row(const std::vector<int>& ranks) {
  std::vector<RowCase> cases;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    for (const int n : ranks) {
      cases.push_back({&row, n, {}});
      for (const AlgorithmParameter& parameter : row.parameters) {
        for (const std::int64_t value : {2, 3, n}) {
          const AlgorithmArguments arguments{{std::string{parameter.name}, value}};
          if (validate(row, n, arguments).empty()) cases.push_back({&row, n, arguments});
        }
      }
    }
  }
  return cases;
}

/// The shapes that matter: powers of two, one more, one less, odd; pairs and one rank alone.
inline const std::vector<int> kRankCounts{1, 2, 3, 4, 5, 7, 8, 16, 33, 64};

}  // namespace lockstep
