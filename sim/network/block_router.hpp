#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/network/network.hpp"

namespace lockstep {

/// A link relative to its block.
struct BlockLink {
  std::uint32_t block = 0;
  LinkId first = 0;  // the corresponding link of block 0
  /// So many blocks, of which `block` is the first, have the link together.
  std::uint32_t shared_by = 1;
};

/// A router for which blocks of endpoints are interchangeable: block b consists of endpoints b *
/// block() .. (b + 1) * block() - 1. A permutation of blocks maps the route between two endpoints
/// to the route between their images, each link to the corresponding link of the image block, with
/// the same weights, paths and latency. Link bandwidths may still differ.
class BlockRouter {
 public:
  virtual ~BlockRouter() = default;
  /// Endpoints per block; 0: there are no such blocks.
  [[nodiscard]] virtual std::uint32_t block() const = 0;
  /// None for a link that no route between endpoints of blocks uses.
  [[nodiscard]] virtual std::optional<BlockLink> block_link(LinkId link) const = 0;
  [[nodiscard]] virtual LinkId link_at(const BlockLink& place) const = 0;
  /// So many links from this one on, itself included, are of its block, and correspond to the same
  /// number of consecutive links of every other block.
  [[nodiscard]] virtual std::size_t neighbors(LinkId) const { return 1; }

  /// Endpoints of smaller blocks, for which the same holds under an exclusive or of their numbers
  /// alone (nodes in blocks of nodes); 0: there are none. Such blocks may have links together.
  [[nodiscard]] virtual std::uint32_t smallest_block() const { return 0; }
  /// Whether it holds for `blocks` blocks of `length` endpoints, a multiple of smallest_block().
  [[nodiscard]] virtual bool may_exchange(std::uint32_t length, std::uint32_t blocks) const {
    (void)length, (void)blocks;
    return false;
  }
  /// As above, by blocks of that length.
  [[nodiscard]] virtual BlockLink exchanged_link(LinkId link, std::uint32_t length) const {
    (void)length;
    return {0, link};
  }
  [[nodiscard]] virtual LinkId exchanged_link_at(const BlockLink& place,
                                                 std::uint32_t length) const {
    (void)length;
    return place.first;
  }
  [[nodiscard]] virtual std::size_t exchanged_neighbors(LinkId link, std::uint32_t length) const {
    (void)link, (void)length;
    return 1;
  }
};

}  // namespace lockstep
