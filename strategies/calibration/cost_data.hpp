#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/schedule/contract.hpp"
#include "strategies/calibration/nccl_names.hpp"

/// Measured costs of a library's collectives beyond the time of their bytes on the links.
namespace lockstep {

/// How ranks forward the message, as far as costs depend on it.
enum class NcclCostKind : std::uint8_t { ring, tree, nvls, grouped };
template <>
struct NcclNames<NcclCostKind> {
  static constexpr std::array<std::string_view, 4> all{"ring", "tree", "nvls", "grouped"};
};

/// The collectives to which a cost applies.
struct NcclCostKey {
  std::string version{};  // id in configs/nccl
  NcclArchitecture architecture = NcclArchitecture::hopper;
  Collective collective = Collective::all_reduce;
  NcclCostKind kind = NcclCostKind::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  bool several_nodes = false;

  friend bool operator==(const NcclCostKey&, const NcclCostKey&) = default;
};

/// launch + hops * hop + network_hops * network_hop + loops * loop + wire / `wire` + own / `own`,
/// with the terms of NcclCostTerms.
struct NcclCost {
  NcclCostKey key{};
  Duration launch{};  // of the kernel, before the first byte
  Duration hop{};     // per hop inside a node, beyond link latency
  /// A rank's own part whose transfer hides the hops; smaller parts hide a proportional share of
  /// each. None: nothing is hidden.
  std::optional<Bytes> hop_hidden_by{};
  Duration network_hop{};      // per hop between nodes, beyond link latency
  Duration loop{};             // per loop of NVLS over the buffers of its channels
  std::optional<Rate> wire{};  // additional time per sent byte of a rank; none: no time
  std::optional<Rate>
      own{};  // additional time per byte of a rank's own part (copies, reductions); none: no time
  std::string source{};
  Provenance provenance = Provenance::fitted;
};

}  // namespace lockstep
