#include "topologies/analysis/slowest_links.hpp"

#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

std::array<std::optional<LinkFigures>, kLinkKindNames.size()> slowest_links(
    const Cluster& cluster) {
  std::array<std::optional<LinkFigures>, kLinkKindNames.size()> out{};
  const auto add = [](auto& to, LinkKind kind, const LinkFigures& figures) {
    auto& slowest = to[static_cast<std::size_t>(kind)];
    if (!slowest || figures.carried() < slowest->carried()) slowest = figures;
  };
  const ClusterData& data = cluster.data();
  for (const LinkTable* table : {&data.links, &data.switch_links})
    for (std::size_t i = 0; i < table->size(); ++i) add(out, (*table)[i].kind, (*table)[i].figures);
  if (data.planes > 0) add(out, LinkKind::network, data.fabric.host_link);
  decltype(out) changed{};
  for (const LinkState& state : cluster.overlay().all())
    if (!state.failed) add(changed, cluster.built_link(state.id).kind, state.figures);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (changed[i]) out[i] = changed[i];
  return out;
}

}  // namespace lockstep
