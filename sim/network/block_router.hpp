#pragma once

#include <cstdint>
#include <optional>

#include "sim/network/network.hpp"

namespace lockstep {

/// A link as one of its block's.
struct BlockLink {
  std::uint32_t block = 0;
  LinkId first = 0;  // the link of block 0 that stands where this one does
};

/// A router that does not tell blocks of end points apart: those with numbers from b * block() up
/// to (b + 1) * block() - 1 are block b. Whatever permutation of blocks moves two end points (which
/// keep their places in their blocks) also moves the links of the route between them, each to the
/// same place in the block that its own is moved to, with the same weights, paths and latency. What
/// links carry is not the router's to say: they may have been made to differ.
class BlockRouter {
 public:
  virtual ~BlockRouter() = default;
  /// 0: there are no such blocks.
  [[nodiscard]] virtual std::uint32_t block() const = 0;
  /// None for a link that no route between blocks' end points crosses.
  [[nodiscard]] virtual std::optional<BlockLink> block_link(LinkId link) const = 0;
  [[nodiscard]] virtual LinkId link_at(const BlockLink& place) const = 0;
};

}  // namespace lockstep
