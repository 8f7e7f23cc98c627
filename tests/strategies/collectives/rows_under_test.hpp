#pragma once

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "sim/execute/schedule_checks/verify.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// What the tests of one collective share.
namespace lockstep::test {

inline const CollectiveAlgorithm& row_of(Collective collective, std::string_view name) {
  const CollectiveAlgorithm* row = find_algorithm(collective, name);
  REQUIRE(row != nullptr);
  return *row;
}

/// Whether this input gives what the collective promises.
inline void check_result(const CollectiveAlgorithm& row, const AlgorithmInput& input) {
  const RowCase each{&row, input};
  CAPTURE(each.name());
  const SchedulePtr schedule = each.make();
  const CollectiveVerdict verdict = verify(*schedule, each.contract(*schedule));
  CHECK_MESSAGE(verdict.right(), verdict.problem());
}

/// A few roots of n ranks, all of them where n is small.
inline std::vector<int> roots_of(int n) {
  if (n <= 6) {
    std::vector<int> all;
    for (int root = 0; root < n; ++root) all.push_back(root);
    return all;
  }
  return {0, 1, n / 2, n - 1};
}

/// Every row of a collective with its fallbacks, 1 to 33 ranks, and roots where it has one.
inline void check_every_row(Collective collective) {
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (row.collective != collective) continue;
    for (int n = 1; n <= 33; ++n) {
      for (const int root : has_root(collective) ? roots_of(n) : std::vector<int>{0}) {
        const AlgorithmInput input{.n = n, .root = root};
        if (validate(row, input).empty()) check_result(row, input);
      }
    }
  }
}

/// Random numbers of ranks, roots and values of one whole parameter.
inline void check_random_arguments(Collective collective, std::string_view name,
                                   std::string_view parameter, std::int64_t most, int draws) {
  const CollectiveAlgorithm& row = row_of(collective, name);
  std::mt19937_64 random{1};
  const auto draw = [&](std::int64_t least, std::int64_t to) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - least + 1));
  };
  for (int i = 0; i < draws; ++i) {
    AlgorithmInput input{.n = static_cast<int>(draw(1, 40))};
    if (has_root(collective)) input.root = static_cast<int>(draw(0, input.n - 1));
    input.arguments.emplace(parameter, draw(1, most));
    if (validate(row, input).empty()) check_result(row, input);
  }
}

}  // namespace lockstep::test
