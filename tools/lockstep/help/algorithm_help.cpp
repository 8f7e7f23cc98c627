#include "tools/lockstep/help/algorithm_help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "strategies/collectives/registry/registry.hpp"

namespace lockstep::cli {

std::optional<AlgorithmHelp> find_algorithm_help(const std::string& name) {
  const CollectiveAlgorithm* first = nullptr;
  std::vector<std::string_view> collectives_of_it;
  for (const Collective collective : collectives()) {
    const CollectiveAlgorithm* row = find_algorithm(collective, name);
    if (row == nullptr) continue;
    if (first == nullptr) first = row;
    collectives_of_it.push_back(to_string(collective));
  }
  if (first == nullptr) return std::nullopt;
  const std::string_view collective = collectives_of_it.front();
  return AlgorithmHelp{name,
                       fmt::format("Algorithm of {}. {}: {}.", fmt::join(collectives_of_it, ", "),
                                   collective, first->summary),
                       fmt::format("{}; rounds {}, sent per rank {}", first->time, first->rounds,
                                   first->sent_per_rank),
                       fmt::format("lockstep explain {} --algorithm {}", collective, name)};
}

}  // namespace lockstep::cli
