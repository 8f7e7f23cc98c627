#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/trace/memory.hpp"

namespace lockstep::app {

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
  [[nodiscard]] bool fits() const { return !capacity || needed() <= *capacity; }
};

/// The rank that needs the most among those that were simulated (of a role that many play, the
/// first); of equal ones the first.
[[nodiscard]] RankMemory worst_memory(const StepTimeline& timeline, std::optional<Bytes> capacity);

/// What PyTorch's caching allocator reserves on the rank where that is most (reserved_bytes()).
[[nodiscard]] Bytes most_reserved(const StepTimeline& timeline, std::optional<Bytes> capacity);

/// The peak of the rank that needs the most, with the operations one after the other in the order
/// in which they are issued: what the memory account comes to without a simulation.
[[nodiscard]] Bytes peak_in_order(const Program& program);

}  // namespace lockstep::app
