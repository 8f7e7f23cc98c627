#include "strategies/collectives/all_reduce/inner.hpp"

#include <fmt/format.h>

#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/registry/spec.hpp"

namespace lockstep {
namespace {

AlgorithmSpec inner_of(const AlgorithmInput& input) {
  return parse_inner_spec(input.text("inner").value(), Collective::all_reduce).specs.at(0);
}

/// Receives what is known of the size and of a hop.
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

namespace {

/// Inner all-reduces work side by side, each on one rank of every node; auxiliary ranks are there
/// once.
std::string_view why_not_inner(AuxiliaryRanks auxiliary_ranks) {
  switch (auxiliary_ranks) {
    case AuxiliaryRanks::node_switches:
      return "which reduces in a node's switches: inner works across nodes; nvls:inner=ring "
             "reduces "
             "in the nodes' switches and across nodes with a ring";
    case AuxiliaryRanks::fabric_switches:
      return "which needs switches for every group of ranks across nodes; sharp by itself reduces "
             "inside nodes first and across them in the switches";
    default:
      return "which needs servers of its own for every group of ranks across nodes";
  }
}

}  // namespace

std::optional<std::string> inner_problem(const AlgorithmInput& input, int nodes, int parts) {
  const AlgorithmSpec inner = inner_of(input);
  if (inner.algorithm->auxiliary_ranks != AuxiliaryRanks::none)
    return fmt::format("inner cannot be {}, {}", inner.algorithm->name,
                       why_not_inner(inner.algorithm->auxiliary_ranks));
  const std::vector<std::string> problems =
      validate(*inner.algorithm, input_of(inner, input, nodes, parts));
  if (problems.empty()) return std::nullopt;
  return fmt::format("inner {}", problems.front());
}

}  // namespace lockstep
