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

const BlockRouter* block_router_of(const Network& network) {
  return dynamic_cast<const BlockRouter*>(network.router.get());
}

/// As far as the schedule and the router say.
std::optional<BlockMoves> common_moves(const Network& network, const CollectiveCall& call) {
  const BlockRouter* router = block_router_of(network);
  if (router == nullptr || router->block() == 0 || !sits_in_order(call)) return std::nullopt;
  const auto moves = moves_of(*call.schedule);
  return moves ? coarser(*moves, static_cast<int>(router->block())) : std::nullopt;
}

/// The same by the smallest blocks.
std::optional<BlockMoves> nested_moves(const Network& network, const CollectiveCall& call) {
  const BlockRouter* router = block_router_of(network);
  if (router == nullptr || !sits_in_order(call)) return std::nullopt;
  const auto moves = moves_of(*call.schedule);
  if (!moves || moves->kind != BlockMoves::Kind::exclusive_or || router->smallest_block() == 0)
    return std::nullopt;
  const auto common = coarser(*moves, static_cast<int>(router->smallest_block()));
  if (!common || !router->may_exchange(static_cast<std::uint32_t>(common->block),
                                       static_cast<std::uint32_t>(common->blocks)))
    return std::nullopt;
  return common;
}

}  // namespace

BlockSymmetry::BlockSymmetry(const BlockMoves& moves, const BlockRouter& router, bool nested)
    : moves_{moves},
      router_{&router},
      nested_{nested},
      router_blocks_{nested ? 1 : static_cast<std::uint32_t>(moves.block) / router.block()} {}

std::optional<BlockSymmetry> BlockSymmetry::find(const Network& network, const Workload& workload) {
  if (workload.calls.size() != 1) return std::nullopt;
  const CollectiveCall& call = workload.calls.front();
  const auto moves = common_moves(network, call);
  if (!moves || !ranks_are_alike(network, call, static_cast<std::size_t>(moves->block)))
    return std::nullopt;
  const BlockSymmetry found{*moves, *block_router_of(network), false};
  return found.links_are_alike(network, true) ? std::optional{found} : std::nullopt;
}

std::optional<BlockSymmetry> BlockSymmetry::find_of_routes(const Network& network,
                                                           const Workload& workload) {
  if (workload.calls.size() != 1) return std::nullopt;
  const CollectiveCall& call = workload.calls.front();
  if (auto nested = find_nested(network, call)) return nested;
  const auto moves = common_moves(network, call);
  if (!moves) return std::nullopt;
  const BlockSymmetry found{*moves, *block_router_of(network), false};
  return found.links_are_alike(network, false) ? std::optional{found} : std::nullopt;
}

std::optional<BlockSymmetry> BlockSymmetry::find_nested(const Network& network,
                                                        const CollectiveCall& call) {
  const auto moves = nested_moves(network, call);
  if (!moves) return std::nullopt;
  const BlockSymmetry found{*moves, *block_router_of(network), true};
  return found.links_are_alike(network, false) ? std::optional{found} : std::nullopt;
}

BlockLink BlockSymmetry::place_of(LinkId link) const {
  if (nested_) return router_->exchanged_link(link, length());
  const auto place = router_->block_link(link);
  if (!place) return {0, link};
  return {place->block / router_blocks_,
          router_->link_at({place->block % router_blocks_, place->first})};
}

LinkId BlockSymmetry::link_in(std::uint32_t block, LinkId first) const {
  if (nested_) return router_->exchanged_link_at({block, first}, length());
  const auto place = router_->block_link(first);
  if (!place) return first;
  return router_->link_at({place->block + block * router_blocks_, place->first});
}

std::size_t BlockSymmetry::neighbors(LinkId link) const {
  return nested_ ? router_->exchanged_neighbors(link, length()) : router_->neighbors(link);
}

bool BlockSymmetry::links_are_alike(const Network& network, bool bandwidths) const {
  const auto alike = [bandwidths](const Link& link, const Link& first) {
    return (!bandwidths || link.bandwidth == first.bandwidth) && link.latency == first.latency &&
           link.port == first.port;
  };
  const std::vector<Link>& links = network.links;
  for (std::size_t id = 0; id < links.size();) {
    const std::size_t count = std::min(neighbors(static_cast<LinkId>(id)), links.size() - id);
    const LinkId first = place_of(static_cast<LinkId>(id)).first;
    if (first != id && !std::equal(&links[id], &links[id] + count, &links[first], alike))
      return false;
    id += count;
  }
  return true;
}

void BlockSymmetry::spread(std::vector<Bytes>& bytes) const {
  const auto blocks = static_cast<std::uint32_t>(moves_.blocks);
  for (std::size_t id = 0; id < bytes.size();) {
    const std::size_t count = std::min(neighbors(static_cast<LinkId>(id)), bytes.size() - id);
    if (const BlockLink place = place_of(static_cast<LinkId>(id));
        0 < place.block && place.block < blocks)
      std::copy_n(&bytes[place.first], count, &bytes[id]);
    id += count;
  }
}

}  // namespace lockstep::fold
