#include "topologies/devices/kernel_fields.hpp"

namespace lockstep {

namespace {

constexpr KernelRange kShare{0.001, 1};
constexpr KernelRange kSmallShare{0.0001, 1};  // hosts reach less of their peak in attention
constexpr KernelRange kLength{1, 1 << 20};     // of a tile, a block or an alignment
constexpr KernelRange kRatio{0, 1'000'000};
constexpr KernelRange kNone{};  // durations, lists and groups

/// A key whose value is the parameter.
template <class Of, class Type>
KernelField<Of> key(std::string_view name, Type Of::*member, KernelRange range,
                    std::string_view help) {
  return {name, {}, member, range, help};
}

/// One of several parameters in the value of a key.
template <class Of, class Type>
KernelField<Of> part(std::string_view name, std::string_view part_name, Type Of::*member,
                     KernelRange range, std::string_view help) {
  return {name, part_name, member, range, help};
}

}  // namespace

template <>
const std::vector<KernelField<TileShape>>& kernel_fields() {
  using Of = TileShape;
  static const std::vector<KernelField<Of>> rows{
      key("rows", &Of::rows, kLength, ""),
      key("columns", &Of::columns, kLength, ""),
      key("efficiency", &Of::efficiency, kShare,
          "Fraction of a multiprocessor's peak in the main loop"),
  };
  return rows;
}

template <>
const std::vector<KernelField<GemmParameters>>& kernel_fields() {
  using Of = GemmParameters;
  static const std::vector<KernelField<Of>> rows{
      key("launch", &Of::launch, kNone, "Duration of an empty kernel").fitted(0, 1e-7, 1e-3),
      key("tile_start", &Of::tile_start, kNone, "Prologue and epilogue of every tile")
          .fitted(1, 1e-8, 1e-4),
      key("depth_grain", &Of::k_granularity, kLength, "k is processed in steps of this length"),
      part("alignment", "elements", &Of::alignment, kLength,
           "Fast kernels need operand rows that begin at multiples of this many elements"),
      part("alignment", "unaligned", &Of::unaligned, kShare,
           "Fraction of the rate reached otherwise"),
      part("alignment", "unaligned_batches", &Of::unaligned_batches, kShare,
           "The same for batched GEMMs"),
      key("tiles", &Of::tiles, kNone, "Tile shapes of the result, usable in both orientations"),
      part("parts", "most", &Of::max_split_k, {1, 1024},
           "Maximum number of splits of k (split-K), a power of two"),
      part("parts", "shortest", &Of::min_k_per_split, kLength, "Minimum length of k per split"),
      part("parts", "traffic", &Of::split_k_traffic, kRatio,
           "Bytes moved to reduce the splits, relative to reading and writing each once in fp32")
          .fitted(4, 0.1, 10),
      part("load", "loss", &Of::throttling_loss, {0, 0.99},
           "Fraction of the rate that long GEMMs lose to lower clocks")
          .fitted(3, 0, 0.5),
      part("load", "half_after", &Of::throttling_half_time, kNone,
           "Duration at the peak after which half of it is lost")
          .fitted(2, 1e-5, 1),
      key("backward", &Of::backward_rate, kShare,
          "Rate of GEMMs of backward passes over that of others (default: 1)")
          .optional(),
      key("exposed_results", &Of::exposed_results, {0, 1},
          "Share of the time of moving results that the main loop does not hide: what a GEMM adds "
          "to is read and written in addition (default: 0)")
          .optional(),
  };
  return rows;
}

template <>
const std::vector<KernelField<AttentionFigures::OfHeadSize>>& kernel_fields() {
  using Of = AttentionFigures::OfHeadSize;
  static const std::vector<KernelField<Of>> rows{
      key("head_size", &Of::head_size, kLength, ""),
      key("forward", &Of::forward, kSmallShare, "Fraction of the peak for very long sequences"),
      key("backward", &Of::backward, kSmallShare, "The same in backward"),
      key("block", &Of::block, {0, kLength.high},
          "Queries of a block at this head size (default: those of all sizes)")
          .optional(),
  };
  return rows;
}

template <>
const std::vector<KernelField<AttentionFigures::Overhead>>& kernel_fields() {
  using Of = AttentionFigures::Overhead;
  static const std::vector<KernelField<Of>> rows{
      key("full", &Of::full, kRatio, ""),
      key("causal", &Of::causal, kRatio, ""),
  };
  return rows;
}

template <>
const std::vector<KernelField<AttentionFigures>>& kernel_fields() {
  using Of = AttentionFigures;
  static const std::vector<KernelField<Of>> rows{
      key("launch", &Of::launch, kNone, "Duration of an empty kernel"),
      key("block", &Of::block, kLength, "Queries that a multiprocessor processes at a time"),
      key("resident", &Of::resident, {1, 64},
          "Blocks of queries that share a multiprocessor; fewer in all leave it idle in part "
          "(default: 1)")
          .optional(),
      key("head_grain", &Of::head_grain, kLength, "Head sizes are padded to multiples of this"),
      key("head_sizes", &Of::head_sizes, kNone,
          "Efficiency by head size, ascending; interpolated linearly"),
      part("overhead_keys", "forward", &Of::forward, kNone,
           "Constant cost of a block of queries, as an equivalent number of keys"),
      part("overhead_keys", "backward", &Of::backward, kNone, "The same in backward"),
      part("load", "loss", &Of::throttling_loss, {0, 0.99},
           "Fraction of the rate that attention loses to lower clocks in a step (default: 0)")
          .optional(),
      part("load", "backward_loss", &Of::backward_loss, {0, 0.99},
           "The same of backward passes, if it is more (default: 0)")
          .optional(),
  };
  return rows;
}

template <>
const std::vector<KernelField<KernelFigures>>& kernel_fields() {
  using Of = KernelFigures;
  static const std::vector<KernelField<Of>> rows{
      key("launch", &Of::launch, kNone, "Duration of an empty memory-bound kernel"),
      key("convolution_efficiency", &Of::convolution_efficiency, kShare,
          "Rate of a convolution relative to the equivalent GEMM"),
      key("slowdown_while_communicating", &Of::slowdown_while_communicating, {1, 100},
          "Duration of computation during communication, relative to computation alone"),
      key("multiprocessor_speed", &Of::multiprocessor_speed, {0.01, 100},
          "Speed of a multiprocessor over that of an H100 SXM5, on which multiprocessor_rate of "
          "stacks is measured (default: 1)")
          .optional(),
      key("spread", &Of::spread, {0, 1},
          "Relative standard deviation of the speed of equal devices under load (default: 0)")
          .optional(),
  };
  return rows;
}

}  // namespace lockstep
