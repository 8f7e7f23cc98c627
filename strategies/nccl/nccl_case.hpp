#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "sim/schedule/contract.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning_data.hpp"

/// Inputs common to all formulas of NCCL's model. As in NCCL, units are GB/s and microseconds, as
/// doubles.
namespace lockstep {

namespace nccl {

[[nodiscard]] inline double gigabytes_per_second(Rate rate) {
  return rate.bytes_per_second() / 1e9;
}

[[nodiscard]] inline double microseconds(Duration duration) {
  return static_cast<double>(duration.ps()) / 1e6;
}

/// Requires count > 0.
[[nodiscard]] inline int floor_log2(std::int64_t count) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))) - 1;
}

}  // namespace nccl

struct NcclCase {
  const NcclTuning& tuning;
  const NcclFacts& facts;
  Collective collective;

  [[nodiscard]] bool all_reduce() const { return collective == Collective::all_reduce; }
  /// All-gather and reduce-scatter, where a rank holds one part.
  [[nodiscard]] bool by_parts() const {
    return collective == Collective::all_gather || collective == Collective::reduce_scatter;
  }
  [[nodiscard]] double ranks() const { return facts.ranks; }
  [[nodiscard]] double per_node() const { return ranks() / facts.nodes; }
  [[nodiscard]] double steps() const {
    if (all_reduce()) return 2 * (ranks() - 1);
    return by_parts() ? ranks() - 1 : ranks();
  }
  [[nodiscard]] const NcclCaps& caps() const { return tuning.caps[facts.architecture]; }
  /// Per channel; none: not limited by this table.
  [[nodiscard]] std::optional<double> cap(const NcclCapRow& row) const {
    const auto limit = row[facts.span()];
    return limit ? std::optional{nccl::gigabytes_per_second(*limit)} : std::nullopt;
  }
};

}  // namespace lockstep
