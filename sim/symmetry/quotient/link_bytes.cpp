#include "sim/symmetry/quotient/link_bytes.hpp"

namespace lockstep::fold {

std::vector<Bytes> link_bytes_of(const Relations& relations, const Partition& partition,
                                 const Quotient& quotient, const Network& network,
                                 const ReplayResult& result) {
  std::vector<UInt128> carried(relations.links.size(), 0);
  const auto shared = static_cast<LinkId>(partition.first_link.size());
  for (std::uint32_t p = 0; p < relations.pairs.size(); ++p) {
    const Route& route = quotient.class_routes[partition.pair_class[p]].route;
    // Links that the class shares with nobody stand behind the others in the quotient.
    if (route.hops.empty() || route.hops.back().link < shared) continue;
    const Bytes bytes = result.link_bytes[route.hops.back().link];
    for (const Crossing& each : relations.crossings_of(p))
      if (partition.link_class[each.link] == Partition::kNoClass)
        carried[each.link] += static_cast<UInt128>(bytes.count()) * each.weight;
  }
  std::vector<Bytes> out(network.links.size());
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const std::uint32_t of = partition.link_class[i];
    out[relations.links[i]] =
        of != Partition::kNoClass
            ? result.link_bytes[of]
            : Bytes{static_cast<std::int64_t>((carried[i] + kWeightUnit / 2) / kWeightUnit)};
  }
  if (!relations.bundled) return out;
  for (std::size_t link = 0; link < out.size(); ++link)
    out[link] = out[network.router->stands_for(static_cast<LinkId>(link))];
  return out;
}

}  // namespace lockstep::fold
