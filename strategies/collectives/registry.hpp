#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/algorithms.hpp"
#include "strategies/collectives/cost.hpp"

/// The table of algorithms: `list`, `explain`, the documentation and the tests all read it. A new
/// algorithm is one file, its two functions in algorithms.hpp, and one row here.
namespace lockstep {

/// A whole-number parameter, as in `parameter_server:shards=4`.
struct AlgorithmParameter {
  std::string_view name;
  std::string_view meaning;
  std::int64_t fallback = 1;  // when it is not given
  std::int64_t least = 1;
  std::optional<std::int64_t> most;  // none: the number of ranks n
};

/// Values by name. Functions that take n and these fill in fallbacks for what is missing.
using AlgorithmArguments = std::map<std::string, std::int64_t, std::less<>>;

/// One row. In the formulas n is the number of ranks that hold data, S the bytes on each, alpha,
/// beta and gamma the seconds per message, per byte sent and per byte reduced, N' = 2^floor(lg n).
struct CollectiveAlgorithm {
  std::string_view collective;
  std::string_view name;
  std::string_view summary;
  std::vector<AlgorithmParameter> parameters;
  std::string_view limits;
  std::string_view rounds;
  std::string_view sent_per_rank;
  std::string_view time;
  std::string_view example;
  std::string_view source;
  std::string_view file;  // in this folder
  SchedulePtr (*make)(int n, const AlgorithmArguments& complete);
  CollectiveCost (*cost)(int n, const AlgorithmArguments& complete);
};

[[nodiscard]] std::span<const CollectiveAlgorithm> collective_algorithms();
/// Every collective that has algorithms, in the table's order.
[[nodiscard]] std::vector<std::string_view> collective_names();
/// The names of one collective's algorithms, in the table's order.
[[nodiscard]] std::vector<std::string_view> algorithm_names(std::string_view collective);
/// Null where the table has no such row.
[[nodiscard]] const CollectiveAlgorithm* find_algorithm(std::string_view collective,
                                                        std::string_view name);

/// What is wrong with one argument; with n not yet known, bounds that depend on it are not tried.
[[nodiscard]] std::optional<std::string> argument_problem(const CollectiveAlgorithm& algorithm,
                                                          std::string_view name, std::int64_t given,
                                                          std::optional<int> n);
/// What is wrong with these arguments for n ranks, one sentence each; empty where all is well.
[[nodiscard]] std::vector<std::string> validate(const CollectiveAlgorithm& algorithm, int n,
                                                const AlgorithmArguments& arguments);

/// The four below want arguments that passed validate(); others throw InternalError.
[[nodiscard]] SchedulePtr make_schedule(const CollectiveAlgorithm& algorithm, int n,
                                        const AlgorithmArguments& arguments);
[[nodiscard]] CollectiveCost cost_of(const CollectiveAlgorithm& algorithm, int n,
                                     const AlgorithmArguments& arguments);
/// Ranks beyond the n that hold data, such as parameter servers.
[[nodiscard]] int helpers_of(const CollectiveAlgorithm& algorithm, int n,
                             const AlgorithmArguments& arguments);
[[nodiscard]] AlgorithmArguments complete_arguments(const CollectiveAlgorithm& algorithm, int n,
                                                    const AlgorithmArguments& arguments);

}  // namespace lockstep
