#include <string>

#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

/// So many ranks alone on their nodes, or in all ways on nodes of several, which are a torus too.
[[nodiscard]] std::vector<RankLayout> layouts_of(int ranks) {
  std::vector<RankLayout> out(1);
  for (int side = 2; side * 2 <= ranks; ++side) {
    if (ranks % side != 0) continue;
    out.emplace_back();
    out.back().per_node = side;
    out.back().dimensions = {side, ranks / side};
  }
  return out;
}

[[nodiscard]] bool allows(const AlgorithmSpec& spec, int ranks) {
  for (RankLayout& layout : layouts_of(ranks)) {
    AlgorithmInput input;
    input.n = ranks;
    input.arguments = spec.arguments;
    input.layout = std::move(layout);
    if (validate(*spec.algorithm, input).empty()) return true;
  }
  return false;
}

/// Whether every collective with the algorithm supports this number of ranks.
[[nodiscard]] bool is_allowed(const std::string& text, int ranks) {
  for (const Collective collective : collectives()) {
    const ParsedSpecs parsed = parse_specs(text, collective);
    if (!parsed.errors.empty() || parsed.specs.size() != 1) continue;
    if (!allows(parsed.specs.front(), ranks)) return false;
  }
  return true;
}

[[nodiscard]] int ranks_of(const std::string& group, const ParallelConfig& layout) {
  if (group == "tp") return layout.tp;
  if (group == "cp") return layout.cp;
  if (group == "ep") return layout.ep;
  const int replicas = layout.dp * layout.cp * layout.stage_copies() / layout.outer_degree();
  if (group == "dp") return replicas;
  if (group == "outer") return layout.outer_degree();
  if (group == "hsdp") return layout.shard_ranks > 0 ? replicas / layout.shard_ranks : 1;
  return std::min(layout.pp, 2);  // embedding
}

/// Whether ranks can be two nodes or more of several, or a torus.
[[nodiscard]] bool has_levels(int ranks) {
  return layouts_of(ranks).size() > 1;
}

[[nodiscard]] bool is_power_of_two(int ranks) {
  return (ranks & (ranks - 1)) == 0;
}

}  // namespace

LayoutTraits algorithm_traits(const ParallelConfig& layout) {
  LayoutTraits out;
  for (const auto& [group, text] : layout.algorithms) {
    const int ranks = ranks_of(group, layout);
    out.must.push_back(ranks == 1 || is_allowed(text, ranks));
    out.must.push_back(has_levels(ranks));
    out.should.push_back(is_power_of_two(ranks));
  }
  return out;
}

}  // namespace lockstep::shrinking
