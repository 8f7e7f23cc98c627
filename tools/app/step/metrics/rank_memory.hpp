#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/program/periods.hpp"
#include "sim/trace/memory/memory.hpp"

namespace lockstep::app {

enum class MemoryFit : std::uint8_t { fits, tight, does_not_fit };
/// "fits", "tight", "does not fit".
[[nodiscard]] std::string to_string(MemoryFit fit);

/// "rank 0 (stage 0)", or "rank 0" if all ranks have the same role.
[[nodiscard]] std::string rank_text(int rank, const std::string& role);

/// A tensor at the peak, in all instances that are held then.
struct PeakTensor {
  std::string name;  // in the program
  HeldTensor held;
};

/// The operation whose start causes the peak.
struct PeakOperation {
  std::string name;  // in the program
  int block = 0;
  int microbatch = 0;
};

/// Memory need of one rank.
struct RankMemory {
  int rank = 0;
  std::string role;  // "stage 0"
  MemoryAccount account;
  Bytes model_states;                     // weights, gradients, optimizer states held throughout
  std::optional<Bytes> capacity{};        // of the GPU; none: unknown
  std::vector<PeakTensor> largest{};      // some tensors at the peak, the largest first
  std::optional<PeakOperation> during{};  // none: only resident tensors are held

  [[nodiscard]] Bytes needed() const { return account.device.peak.held.total(); }
  /// Margin for hardware, as a fraction of the need: error of validated peaks.
  double margin = 0;

  [[nodiscard]] bool fits() const { return !capacity || needed() <= *capacity; }
  /// Tight: fits, but by less than `margin`.
  [[nodiscard]] MemoryFit fit() const;
};

/// The simulated rank with the highest need, the first on ties; a representative stands for its
/// role.
[[nodiscard]] RankMemory worst_memory(const TrainingStepTimeline& timeline,
                                      std::optional<Bytes> capacity);

/// The same without simulation: each role's operations run in launch order.
[[nodiscard]] RankMemory worst_memory_in_order(const RolePrograms& roles,
                                               std::optional<Bytes> capacity);

/// Maximum over ranks of the memory reserved by PyTorch's caching allocator (reserved_bytes()).
[[nodiscard]] Bytes most_reserved(const TrainingStepTimeline& timeline,
                                  std::optional<Bytes> capacity);

/// Peak memory of the rank with the highest need when operations run in launch order, without
/// simulation.
[[nodiscard]] Bytes peak_in_order(const RolePrograms& roles);
[[nodiscard]] Bytes peak_in_order(const Program& program);
/// Of the program that `shorter` is made from; `roles`: unroll() of the shorter one.
[[nodiscard]] Bytes peak_in_order(const ShortenedProgram& shorter, const RolePrograms& roles);

}  // namespace lockstep::app
