#include "tools/lockstep/topology/link_text.hpp"

namespace lockstep::cli {

std::vector<std::string> lines_of(const LinkEffects& effects, const Cluster& cluster) {
  std::vector<std::string> out;
  for (const LinkEffect& effect : effects.links) out.push_back(describe(effect));
  if (effects.rerouted) out.push_back(describe(*effects.rerouted, cluster));
  return out;
}

std::vector<std::string> lines_of(const LoadedCluster& loaded) {
  return lines_of(loaded.link_changes, loaded.cluster);
}

}  // namespace lockstep::cli
