#include "strategies/collectives/all_reduce/inner.hpp"

#include <fmt/format.h>

#include "strategies/collectives/registry.hpp"

namespace lockstep {
namespace {

const CollectiveAlgorithm& inner_of(const AlgorithmInput& input) {
  return *find_algorithm(Collective::all_reduce, input.text("inner").value());
}

/// Its parameters have their fallbacks; what is known of the size and of a hop it is told.
AlgorithmInput input_of(const AlgorithmInput& input, int nodes, int parts) {
  AlgorithmInput inner{.n = nodes, .hop = input.hop};
  if (input.size) inner.size = Bytes{input.size->count() / parts};
  return inner;
}

}  // namespace

SchedulePtr make_inner(const AlgorithmInput& input, int nodes, int parts) {
  return make_schedule(inner_of(input), input_of(input, nodes, parts));
}

std::optional<CollectiveCost> inner_cost(const AlgorithmInput& input, int nodes, int parts) {
  return cost_of(inner_of(input), input_of(input, nodes, parts));
}

std::optional<std::string> inner_problem(const AlgorithmInput& input, int nodes, int parts) {
  const CollectiveAlgorithm& inner = inner_of(input);
  if (inner.helpers != Helpers::none)
    return fmt::format("inner is an algorithm without helpers, {} has some", inner.name);
  const std::vector<std::string> problems = validate(inner, input_of(input, nodes, parts));
  if (problems.empty()) return std::nullopt;
  return fmt::format("inner {}", problems.front());
}

}  // namespace lockstep
