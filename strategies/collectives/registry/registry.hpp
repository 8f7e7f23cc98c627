#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/algorithm.hpp"

/// The registry of algorithms, read by `list`, `explain`, completion, documentation and tests. A
/// new algorithm is one file in its collective's folder, which ends with its row, and a line in the
/// folder's rows.cpp.
namespace lockstep {

[[nodiscard]] std::span<const CollectiveAlgorithm> collective_algorithms();
/// Collectives with algorithms, in registry order.
[[nodiscard]] std::vector<Collective> collectives();
/// Names of a collective's algorithms, in registry order.
[[nodiscard]] std::vector<std::string_view> algorithm_names(Collective collective);
/// Null if there is no such row.
[[nodiscard]] const CollectiveAlgorithm* find_algorithm(Collective collective,
                                                        std::string_view name);

/// Null if the algorithm has no such parameter, which argument_problem() reports.
[[nodiscard]] const AlgorithmParameter* find_parameter(const CollectiveAlgorithm& algorithm,
                                                       std::string_view name);
/// Why one argument is invalid. With n unknown, bounds that depend on it are not checked.
[[nodiscard]] std::optional<std::string> argument_problem(const CollectiveAlgorithm& algorithm,
                                                          std::string_view name,
                                                          const ArgumentValue& given,
                                                          std::optional<int> n);
/// Why an input is invalid, one sentence each; empty if it is valid.
[[nodiscard]] std::vector<std::string> validate(const CollectiveAlgorithm& algorithm,
                                                const AlgorithmInput& input);

/// The input with defaults for absent arguments. This and the four functions below require a valid
/// input; InternalError otherwise.
[[nodiscard]] AlgorithmInput complete(const CollectiveAlgorithm& algorithm,
                                      const AlgorithmInput& input);
[[nodiscard]] SchedulePtr make_schedule(const CollectiveAlgorithm& algorithm,
                                        const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> cost_of(const CollectiveAlgorithm& algorithm,
                                                    const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> estimate_of(const CollectiveAlgorithm& algorithm,
                                                        const AlgorithmInput& input);
/// Number of ranks without data, such as parameter servers.
[[nodiscard]] int auxiliary_ranks_of(const CollectiveAlgorithm& algorithm,
                                     const AlgorithmInput& input);

}  // namespace lockstep
