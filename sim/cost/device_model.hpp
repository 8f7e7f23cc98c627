#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cost/basis.hpp"
#include "sim/program/operation.hpp"

/// Parameters of roofline.hpp for a device and the software on it, from configs/devices,
/// configs/kernels and configs/stacks. The defaults have no meaning.
namespace lockstep {

inline constexpr std::size_t kDtypes = static_cast<std::size_t>(Dtype::uint8) + 1;

/// A fraction of a peak, 0 < share <= 1.
using Share = double;

/// A tile of a GEMM's result, usable in both orientations.
struct TileShape {
  std::int64_t rows = 128;
  std::int64_t columns = 128;
  Share efficiency = 1;  // of a multiprocessor's peak, in the main loop
};

/// Dense GEMMs of one precision.
struct GemmParameters {
  Duration launch{};             // of an empty kernel
  Duration tile_start{};         // per tile: prologue and epilogue
  std::int64_t k_granularity{};  // k is processed in steps of this length
  /// Fast kernels need operand rows that start at multiples of this many elements; others reach
  /// only `unaligned` of the rate.
  std::int64_t alignment{};
  Share unaligned = 1;
  Share unaligned_batches = 1;  // batched GEMMs without alignment
  std::vector<TileShape> tiles{};
  std::int64_t max_split_k{};       // maximum number of splits of k, a power of two
  std::int64_t min_k_per_split{};   // minimum length of k per split
  double split_k_traffic{};         // bytes moved to reduce the splits, over reading and writing
                                    // each split once in fp32
  double throttling_loss{};         // fraction of the rate lost by long GEMMs to lower clocks
  Duration throttling_half_time{};  // time at peak after which half of it is lost
  Share backward_rate = 1;          // of GEMMs of backward passes, over that of others
  /// Share of the time of reading and writing results that the main loop does not hide.
  double exposed_results = 0;
};

/// Parameters of one implementation of fused attention.
struct AttentionFigures {
  Duration launch{};
  struct OfHeadSize {
    std::int64_t head_size = 64;
    Share forward = 1;       // of the peak, for very long sequences
    Share backward = 1;      // the same for backward
    std::int64_t block = 0;  // queries of a block; 0: `block` of all sizes
  };
  std::vector<OfHeadSize> head_sizes{};  // ascending; interpolated linearly
  std::int64_t head_grain{};             // other sizes are padded to multiples of this
  std::int64_t block{};                  // queries of a block, as far as head sizes say no other
  std::int64_t resident = 1;             // blocks that share a multiprocessor
  /// Constant cost of a block of queries, as an equivalent number of keys.
  struct Overhead {
    double full = 0;
    double causal = 0;
  };
  Overhead forward{};
  Overhead backward{};
  double throttling_loss = 0;  // fraction of the rate lost to lower clocks in a step
  double backward_loss = 0;    // the same of backward passes, if that is more
};

/// Kernels and traffic of one kind of operation.
struct KindFigures {
  double kernels = 1;  // launched; 0: fused into another kernel
  double traffic = 1;  // bytes moved, over reading and writing each tensor once
  /// Bytes that a multiprocessor moves with these kernels, if that is what limits them.
  std::optional<Rate> multiprocessor_rate{};
};

/// What blocks the host: nothing; sends and receives that are not overlapped; these and the end of
/// each forward and backward pass of a microbatch; or these and every kernel.
enum class HostWait : std::uint8_t { nothing, messages, passes, kernels };

/// What the parameters of a DeviceModel rest on.
struct DeviceBasis {
  std::array<Basis, kDtypes> peaks{};
  std::array<Basis, kDtypes> gemms{};  // efficiency of the main loop
  Basis attention{};                   // efficiency
  Basis convolution{};                 // efficiency, over that of GEMMs
  Basis launch{};
  std::array<Basis, kOperationClasses> memory{};  // usable bandwidth
  std::array<Basis, kOperationKinds> kinds{};     // kernels and traffic
  Basis host_time{};
};

struct DeviceModel {
  /// Dense GEMM peak by precision; none: that of the next wider precision.
  std::array<std::optional<FlopRate>, kDtypes> peaks{};
  Rate memory_bandwidth = Rate::bytes_per_second(1);
  std::int64_t multiprocessors = 1;
  std::array<std::optional<GemmParameters>, kDtypes> gemms{};  // as `peaks`
  AttentionFigures attention{};
  Duration launch{};                                         // of memory-bound kernels
  std::array<Share, kOperationClasses> memory_efficiency{};  // by class
  Share convolution_efficiency = 1;                          // of the equivalent GEMM
  double slowdown_while_communicating = 1;
  std::optional<Rate> peer_rate{};  // of all links to peers, per direction
  double slowest = 1;  // time of GEMMs and attention on the slowest device over the mean
  // Software.
  std::array<KindFigures, kOperationKinds> kinds{};
  KindFigures bias{0, 0};  // of a GEMM with bias; traffic: over reading and writing y
  /// The same where an activation function, dropout or addition reads y next; none: as `bias`.
  std::optional<KindFigures> joined_bias{};
  /// Dropout whose result an addition reads next; none: as other dropout.
  std::optional<KindFigures> joined_dropout{};
  /// Accumulation of a GEMM into a weight's gradient; traffic: over the bytes of the gradient.
  KindFigures gradient_sum{0, 0};
  HostWait host_waits_for = HostWait::nothing;
  Duration host_time{};                        // per kernel launch
  std::shared_ptr<const DeviceBasis> basis{};  // none: unknown, counts as assumed
};

}  // namespace lockstep
