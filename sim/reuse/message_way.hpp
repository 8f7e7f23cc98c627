#pragma once

#include <compare>
#include <cstdint>

#include "sim/base/hash.hpp"
#include "sim/network/network.hpp"

namespace lockstep {

/// Messages from one endpoint to another over one channel, or of one tag.
struct MessageWay {
  EndpointId from = 0;
  EndpointId to = 0;
  std::uint32_t tag = 0;
  /// For all tags.
  [[nodiscard]] MessageWay any_tag() const { return {from, to, 0}; }
  auto operator<=>(const MessageWay&) const = default;
};

struct MessageWayHash {
  std::size_t operator()(const MessageWay& way) const {
    const std::uint64_t ends = (std::uint64_t{way.from} << 32U) | way.to;
    return static_cast<std::size_t>(mix64(ends + way.tag * kGoldenGamma));
  }
};

}  // namespace lockstep
