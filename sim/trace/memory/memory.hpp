#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/program/timeline.hpp"

/// The memory account of one rank: bytes over time, from tensor lifetimes.
namespace lockstep {

inline constexpr std::size_t kCategories = static_cast<std::size_t>(Category::buffer) + 1;

/// Bytes by category.
struct CategoryBytes {
  std::array<Bytes, kCategories> bytes{};

  [[nodiscard]] Bytes operator[](Category category) const {
    return bytes[static_cast<std::size_t>(category)];
  }
  [[nodiscard]] Bytes& operator[](Category category) {
    return bytes[static_cast<std::size_t>(category)];
  }
  [[nodiscard]] Bytes total() const;

  friend bool operator==(const CategoryBytes&, const CategoryBytes&) = default;
};

/// Bytes held from an instant until the next point.
struct MemoryPoint {
  TimePoint at;
  CategoryBytes held;

  friend bool operator==(const MemoryPoint&, const MemoryPoint&) = default;
};

/// A tensor instance (index into RoleProgram::instances) and its bytes on the rank.
struct HeldInstance {
  std::uint32_t instance = 0;
  Bytes bytes;
};

/// All instances of one tensor held at the same instant.
struct HeldTensor {
  TensorId tensor = 0;
  std::int64_t instances = 0;
  std::int64_t positions = 1;     // number of distinct ones
  std::int64_t microbatches = 1;  // the same
  Bytes bytes;                    // in total
};

/// "mlp.up.output (24 layers, 3 microbatches)"; with the number of instances if it is not the
/// product; "loss" for a single one.
[[nodiscard]] std::string to_string(const HeldTensor& held, const std::string& name);

struct MemoryPeak {
  CategoryBytes held;
  TimePoint at;  // the first instant of the peak
  /// The operation whose start causes the peak: index into RoleProgram::operations. None if only
  /// resident tensors are held.
  std::optional<std::uint32_t> operation{};
  std::vector<HeldInstance> instances{};  // largest first, then in order of the role
  std::vector<HeldTensor> tensors{};      // largest first, then in order of the program
};

/// The memory of a device, or of its host.
struct MemoryUse {
  std::vector<MemoryPoint> curve{};  // ascending; starts at the initial state
  MemoryPeak peak;
};

struct MemoryAccount {
  MemoryUse device;
  MemoryUse host;  // tensors `on_host`; all tensors of a host role
};

/// Live bytes on a rank over the step. Resident tensors are always held; other instances (position,
/// microbatch) from the start of the first operation that writes them to the end of the last that
/// uses them. At one instant, frees precede allocations: an operation's operands are freed before
/// the results of its successor in the stream are allocated. Instances without duration take no
/// memory.
/// O(n log n) for n operations. Throws InternalError if role and rank differ in length.
[[nodiscard]] MemoryAccount memory_account(const RoleProgram& role, const RankTimeline& rank);

/// Maximum memory reserved by PyTorch's caching allocator for the same allocations and frees
/// (caching_allocator.hpp). `capacity`: of the device; none: unlimited.
[[nodiscard]] Bytes reserved_bytes(const RoleProgram& role, const RankTimeline& rank,
                                   std::optional<Bytes> capacity = std::nullopt);

/// Bytes of resident tensors by category, including weights, gradients and optimizer states. Needs
/// no timeline. `on_host`: those in host memory instead of device memory.
[[nodiscard]] CategoryBytes resident_bytes(const RoleProgram& role, bool on_host = false);
/// Weights, gradients and optimizer states together.
[[nodiscard]] Bytes model_state_bytes(const CategoryBytes& resident);

/// Calls of a role between which to look.
struct LiveQuery {
  std::vector<RoutineId> forward{};
  std::vector<RoutineId> backward{};
  int position = 0;
  int microbatch = 0;
};

/// Activations kept from forward for backward at one position and microbatch: instances on the
/// device that are not resident, are live at the end of `forward`'s last operation, and are read by
/// `backward` before being rewritten (recomputed ones do not count). Includes a block's input if
/// its backward reads it. Largest first. Empty if the role has no such calls.
[[nodiscard]] std::vector<HeldInstance> live_between(const RoleProgram& role,
                                                     const LiveQuery& query);
[[nodiscard]] Bytes total_bytes(std::span<const HeldInstance> instances);

}  // namespace lockstep
