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
};

}  // namespace lockstep
