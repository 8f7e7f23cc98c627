#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/algorithm.hpp"

/// The table of algorithms: `list`, `explain`, the documentation and the tests all read it. A new
/// algorithm is one file in its collective's folder, which ends with its row, and a line for that
/// row in the folder's rows.cpp.
namespace lockstep {

[[nodiscard]] std::span<const CollectiveAlgorithm> collective_algorithms();
/// Every collective that has algorithms, in the table's order.
[[nodiscard]] std::vector<Collective> collectives();
/// The names of one collective's algorithms, in the table's order.
[[nodiscard]] std::vector<std::string_view> algorithm_names(Collective collective);
/// Null where the table has no such row.
[[nodiscard]] const CollectiveAlgorithm* find_algorithm(Collective collective,
                                                        std::string_view name);

/// Null where the algorithm has no such parameter; `problem` of argument_problem then says so.
[[nodiscard]] const AlgorithmParameter* find_parameter(const CollectiveAlgorithm& algorithm,
                                                       std::string_view name);
/// What is wrong with one argument; with n not yet known, bounds that depend on it are not tried.
[[nodiscard]] std::optional<std::string> argument_problem(const CollectiveAlgorithm& algorithm,
                                                          std::string_view name,
                                                          const ArgumentValue& given,
                                                          std::optional<int> n);
/// What is wrong with this input, one sentence each; empty where all is well.
[[nodiscard]] std::vector<std::string> validate(const CollectiveAlgorithm& algorithm,
                                                const AlgorithmInput& input);

/// The input with fallbacks for what is missing. This and the four below want an input that passed
/// validate(); others throw InternalError.
[[nodiscard]] AlgorithmInput complete(const CollectiveAlgorithm& algorithm,
                                      const AlgorithmInput& input);
[[nodiscard]] SchedulePtr make_schedule(const CollectiveAlgorithm& algorithm,
                                        const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> cost_of(const CollectiveAlgorithm& algorithm,
                                                    const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> estimate_of(const CollectiveAlgorithm& algorithm,
                                                        const AlgorithmInput& input);
/// Ranks beyond the n that hold data, such as parameter servers.
[[nodiscard]] int auxiliary_ranks_of(const CollectiveAlgorithm& algorithm,
                                     const AlgorithmInput& input);

}  // namespace lockstep
