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
  for (LinkId id = 0; id < network.links.size(); ++id) {
    const Link& link = network.links[id];
    const Link& first = network.links[place_of(id).first];
    if ((bandwidths && link.bandwidth != first.bandwidth) || link.latency != first.latency ||
        link.port != first.port)
      return false;
  }
  return true;
}

void spread_over_blocks(const Network& network, const BlockMoves& moves,
                        std::vector<Bytes>& bytes) {
  const auto& router = dynamic_cast<const BlockRouter&>(*network.router);
  const std::uint32_t blocks = static_cast<std::uint32_t>(moves.block) / router.block();
  const std::uint32_t end = blocks * static_cast<std::uint32_t>(moves.blocks);
  for (LinkId id = 0; id < bytes.size(); ++id)
    if (const auto place = router.block_link(id); place && place->block < end)
      bytes[id] = bytes[router.link_at({place->block % blocks, place->first})];
}

}  // namespace lockstep::fold
