#include "strategies/collectives/all_reduce/inner.hpp"

#include <fmt/format.h>

#include "strategies/collectives/registry.hpp"
#include "strategies/collectives/spec.hpp"

namespace lockstep {
namespace {

AlgorithmSpec inner_of(const AlgorithmInput& input) {
  return parse_inner_spec(input.text("inner").value(), Collective::all_reduce).specs.at(0);
}

/// What is known of the size and of a hop it is told.
AlgorithmInput input_of(const AlgorithmSpec& spec, const AlgorithmInput& input, int nodes,
                        int parts) {
  AlgorithmInput inner{.n = nodes, .arguments = spec.arguments, .hop = input.hop};
  if (input.size) inner.size = Bytes{input.size->count() / parts};
  return inner;
}

}  // namespace

SchedulePtr make_inner(const AlgorithmInput& input, int nodes, int parts) {
  const AlgorithmSpec inner = inner_of(input);
  return make_schedule(*inner.algorithm, input_of(inner, input, nodes, parts));
}

std::optional<CollectiveCost> inner_cost(const AlgorithmInput& input, int nodes, int parts) {
  const AlgorithmSpec inner = inner_of(input);
  return cost_of(*inner.algorithm, input_of(inner, input, nodes, parts));
}

std::optional<std::string> inner_problem(const AlgorithmInput& input, int nodes, int parts) {
  const AlgorithmSpec inner = inner_of(input);
  if (inner.algorithm->helpers != Helpers::none)
    return fmt::format("inner is an algorithm without helpers, {} has some", inner.algorithm->name);
  const std::vector<std::string> problems =
      validate(*inner.algorithm, input_of(inner, input, nodes, parts));
  if (problems.empty()) return std::nullopt;
  return fmt::format("inner {}", problems.front());
}

}  // namespace lockstep
