#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/memory/memory.hpp"

namespace lockstep::app {

enum class MemoryFit : std::uint8_t { fits, tight, does_not_fit };
/// "fits", "tight", "does not fit".
[[nodiscard]] std::string to_string(MemoryFit fit);

/// "rank 0 (stage 0)", or "rank 0" if all ranks have the same role.
[[nodiscard]] std::string rank_text(int rank, const std::string& role);

/// What one rank needs of its GPU's memory.
struct RankMemory {
  int rank = 0;
  std::string role;  // "stage 0"
  MemoryAccount account;
  Bytes model_states;                  // weights, gradients, optimizer states held throughout
  std::optional<Bytes> capacity{};     // of the GPU; none: it does not say
  std::vector<std::string> largest{};  // tensors at the peak in words, largest first
  std::vector<Bytes> largest_bytes{};  // of each
  std::string during{};                // the operation at the peak in words; empty: none

  [[nodiscard]] Bytes needed() const { return account.device.peak.held.total(); }
  /// By what share of itself the need may be larger on hardware: the error of validated peaks.
  double margin = 0;

  [[nodiscard]] bool fits() const { return !capacity || needed() <= *capacity; }
  /// Tight: fits, but by less than `margin`.
  [[nodiscard]] MemoryFit fit() const;
};

/// The rank that needs the most among those that were simulated (of a role that many play, the
/// first); of equal ones the first.
[[nodiscard]] RankMemory worst_memory(const TrainingStepTimeline& timeline,
                                      std::optional<Bytes> capacity);

/// The same before anything is simulated, with the operations of each role one after the other in
/// the order of their launch.
[[nodiscard]] RankMemory worst_memory_in_order(const Program& program,
                                               std::optional<Bytes> capacity);

/// What PyTorch's caching allocator reserves on the rank where that is most (reserved_bytes()).
[[nodiscard]] Bytes most_reserved(const TrainingStepTimeline& timeline,
                                  std::optional<Bytes> capacity);

/// The peak of the rank that needs the most, with the operations one after the other in the order
/// in which they are issued: what the memory account comes to without a simulation.
[[nodiscard]] Bytes peak_in_order(const Program& program);

}  // namespace lockstep::app
