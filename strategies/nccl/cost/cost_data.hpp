#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/schedule/contract.hpp"
#include "strategies/nccl/cost/names.hpp"

/// What a library's collectives take beyond what their bytes take on the links, as measured.
namespace lockstep {

/// How the ranks hand the message on, as far as costs go.
enum class NcclCostKind : std::uint8_t { ring, tree, nvls, grouped };
template <>
struct NcclNames<NcclCostKind> {
  static constexpr std::array<std::string_view, 4> all{"ring", "tree", "nvls", "grouped"};
};

/// Whom a cost is of.
struct NcclCostKey {
  std::string version{};  // of configs/nccl: its id
  NcclArchitecture architecture = NcclArchitecture::hopper;
  Collective collective = Collective::all_reduce;
  NcclCostKind kind = NcclCostKind::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  bool several_nodes = false;

  friend bool operator==(const NcclCostKey&, const NcclCostKey&) = default;
};

/// launch + hops * hop + network_hops * network_hop + wire / `wire` + own / `own`, with the terms
/// of NcclCostTerms.
struct NcclCost {
  NcclCostKey key{};
  Duration launch{};           // of the kernel, until the first byte moves
  Duration hop{};              // per hop inside a node, beyond the links' latency
  Duration network_hop{};      // likewise between nodes
  std::optional<Rate> wire{};  // what a rank sends goes at this rate besides; none: at once
  std::optional<Rate> own{};   // likewise a rank's own part, which every rank copies or adds up
  std::string source{};
};

}  // namespace lockstep
