#include "sim/symmetry/partition/block_symmetry.hpp"

#include <algorithm>

namespace lockstep::fold {
namespace {

bool sits_in_order(const CollectiveCall& call) {
  for (std::size_t rank = 0; rank < call.members.size(); ++rank)
    if (call.members[rank] != rank) return false;
  return true;
}

bool ranks_are_alike(const Network& network, const CollectiveCall& call, std::size_t block) {
  for (std::size_t rank = block; rank < call.members.size(); ++rank) {
    if (!are_equivalent(network.endpoints[rank], network.endpoints[rank % block])) return false;
    if (!call.starts.empty() && call.starts[rank] != call.starts[rank % block]) return false;
  }
  return true;
}

/// As far as the schedule and the router say.
std::optional<BlockMoves> common_moves(const Network& network, const CollectiveCall& call) {
  const auto* router = dynamic_cast<const BlockRouter*>(network.router.get());
  if (router == nullptr || router->block() == 0 || !sits_in_order(call)) return std::nullopt;
  const auto moves = moves_of(*call.schedule);
  return moves ? coarser(*moves, static_cast<int>(router->block())) : std::nullopt;
}

/// How many links from this one on are seen at once.
std::size_t neighbors_at(const BlockRouter& router, std::size_t id, std::size_t links) {
  return std::min(router.neighbors(static_cast<LinkId>(id)), links - id);
}

}  // namespace

BlockSymmetry::BlockSymmetry(const BlockMoves& moves, const BlockRouter& router)
    : moves_{moves},
      router_{&router},
      router_blocks_{static_cast<std::uint32_t>(moves.block) / router.block()} {}

std::optional<BlockSymmetry> BlockSymmetry::find(const Network& network, const Workload& workload) {
  if (workload.calls.size() != 1) return std::nullopt;
  const CollectiveCall& call = workload.calls.front();
  const auto moves = common_moves(network, call);
  if (!moves || !ranks_are_alike(network, call, static_cast<std::size_t>(moves->block)))
    return std::nullopt;
  const BlockSymmetry found{*moves, dynamic_cast<const BlockRouter&>(*network.router)};
  return found.links_are_alike(network, true) ? std::optional{found} : std::nullopt;
}

std::optional<BlockSymmetry> BlockSymmetry::find_of_routes(const Network& network,
                                                           const Workload& workload) {
  if (workload.calls.size() != 1) return std::nullopt;
  const auto moves = common_moves(network, workload.calls.front());
  if (!moves) return std::nullopt;
  const BlockSymmetry found{*moves, dynamic_cast<const BlockRouter&>(*network.router)};
  return found.links_are_alike(network, false) ? std::optional{found} : std::nullopt;
}

BlockLink BlockSymmetry::place_of(LinkId link) const {
  const auto place = router_->block_link(link);
  if (!place) return {0, link};
  return {place->block / router_blocks_,
          router_->link_at({place->block % router_blocks_, place->first})};
}

LinkId BlockSymmetry::link_in(std::uint32_t block, LinkId first) const {
  const auto place = router_->block_link(first);
  if (!place) return first;
  return router_->link_at({place->block + block * router_blocks_, place->first});
}

bool BlockSymmetry::links_are_alike(const Network& network, bool bandwidths) const {
  const auto alike = [bandwidths](const Link& link, const Link& first) {
    return (!bandwidths || link.bandwidth == first.bandwidth) && link.latency == first.latency &&
           link.port == first.port;
  };
  const std::vector<Link>& links = network.links;
  for (std::size_t id = 0; id < links.size();) {
    const std::size_t count = neighbors_at(*router_, id, links.size());
    const LinkId first = place_of(static_cast<LinkId>(id)).first;
    if (first != id && !std::equal(&links[id], &links[id] + count, &links[first], alike))
      return false;
    id += count;
  }
  return true;
}

void spread_over_blocks(const Network& network, const BlockMoves& moves,
                        std::vector<Bytes>& bytes) {
  const auto& router = dynamic_cast<const BlockRouter&>(*network.router);
  const std::uint32_t blocks = static_cast<std::uint32_t>(moves.block) / router.block();
  const std::uint32_t end = blocks * static_cast<std::uint32_t>(moves.blocks);
  for (std::size_t id = 0; id < bytes.size();) {
    const std::size_t count = neighbors_at(router, id, bytes.size());
    if (const auto place = router.block_link(static_cast<LinkId>(id));
        place && blocks <= place->block && place->block < end)
      std::copy_n(&bytes[router.link_at({place->block % blocks, place->first})], count, &bytes[id]);
    id += count;
  }
}

}  // namespace lockstep::fold
