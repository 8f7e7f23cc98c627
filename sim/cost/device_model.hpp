#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/operation.hpp"

/// What roofline.hpp knows about a device and about the software that runs on it: plain figures,
/// none of them with a default that means anything. They come from configs/devices, configs/kernels
/// and configs/stacks.
namespace lockstep {

inline constexpr std::size_t kDtypes = static_cast<std::size_t>(Dtype::uint8) + 1;
inline constexpr std::size_t kOperationKinds =
    static_cast<std::size_t>(OperationKind::host_copy) + 1;

/// A share of a peak, 0 < share <= 1.
using Share = double;

/// One shape of the blocks in which a library cuts the result of a GEMM, used either way round.
struct TileShape {
  std::int64_t rows = 128;
  std::int64_t columns = 128;
  Share efficiency = 1;  // of a multiprocessor's peak, in the middle of a long GEMM
};

/// Dense GEMMs of one precision.
struct GemmParameters {
  Duration launch{};             // of a kernel that has nothing to do
  Duration tile_start{};         // of each block, until its units are busy, and to write it out
  std::int64_t k_granularity{};  // the depth is done in steps of this length
  /// Rows of the operands begin at multiples of this many elements in fast kernels; others reach
  /// only `unaligned` of the rate.
  std::int64_t alignment{};
  Share unaligned = 1;
  Share unaligned_batches = 1;  // of several GEMMs in one kernel
  std::vector<TileShape> tiles{};
  std::int64_t max_split_k{};      // into which a library cuts the depth, a power of two
  std::int64_t min_k_per_split{};  // of the depth
  double split_k_traffic{};        // bytes moved to add parts up, over those of reading and writing
                                   // every part in fp32
  double throttling_loss{};        // share of the rate that long GEMMs lose (clocks go down)
  Duration throttling_half_time{};  // half of it is lost by one that takes this long at the peak
};

/// Fused attention by one implementation.
struct AttentionFigures {
  Duration launch{};
  struct OfHeadSize {
    std::int64_t head_size = 64;
    Share forward = 1;   // of the peak, for endless sequences
    Share backward = 1;  // likewise
  };
  std::vector<OfHeadSize> head_sizes{};  // ascending; between them linearly
  std::int64_t head_grain{};             // others are padded to multiples of this
  std::int64_t block{};                  // queries that one multiprocessor takes at a time
  /// Length of keys that would take as long as what every block of queries costs besides them.
  struct Overhead {
    double full = 0;
    double causal = 0;
  };
  Overhead forward{};
  Overhead backward{};
};

/// How software does one kind of operation.
struct KindFigures {
  double kernels = 1;  // launched; 0: it is done within another's
  double traffic = 1;  // bytes moved, over those of reading and writing each tensor once
};

/// What a host waits for before it issues more: sends and receives that nothing hides; or those and
/// every kernel.
enum class HostWait : std::uint8_t { nothing, messages, kernels };

struct DeviceModel {
  /// Dense peak of GEMMs by precision; none: as the next wider precision that has one.
  std::array<std::optional<FlopRate>, kDtypes> peaks{};
  Rate memory_bandwidth = Rate::bytes_per_second(1);
  std::int64_t multiprocessors = 1;
  std::array<std::optional<GemmParameters>, kDtypes> gemms{};  // as `peaks`
  AttentionFigures attention{};
  Duration launch{};                                         // of kernels that memory bounds
  std::array<Share, kOperationClasses> memory_efficiency{};  // by class
  Share convolution_efficiency = 1;                          // of the GEMM it amounts to
  double slowdown_while_communicating = 1;
  std::optional<Rate> peer_rate{};  // of all links to peers, one direction
  double slowest = 1;  // time of GEMMs and attention on the slowest device, over the mean
  // The software.
  std::array<KindFigures, kOperationKinds> kinds{};
  /// Of a GEMM in 8 bits, to bring both its operands there; traffic: bytes per number of an
  /// operand. Where an operand is at hand (Operation::at_hand) half the kernels are left.
  KindFigures fp8_casts{0, 0};
  KindFigures bias{0, 0};  // of a GEMM that adds one; traffic: over reading and writing y
  /// To add a GEMM to a weight's gradient; traffic: over the bytes of the gradient.
  KindFigures gradient_sum{0, 0};
  HostWait host_waits_for = HostWait::nothing;
  Duration host_time{};  // of the host, per kernel that it issues
};

}  // namespace lockstep
