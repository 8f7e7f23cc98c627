#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/program/timeline.hpp"

/// The memory account of one rank: bytes over time, from the tensors' lifetimes.
namespace lockstep {

inline constexpr std::size_t kCategories = static_cast<std::size_t>(Category::buffer) + 1;

/// Bytes by what they are for.
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

/// What is held from an instant on, until the next.
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

/// All instances of one tensor that are held at the same instant.
struct HeldTensor {
  TensorId tensor = 0;
  std::int64_t instances = 0;
  std::int64_t positions = 1;     // different ones
  std::int64_t microbatches = 1;  // likewise
  Bytes bytes;                    // all together
};

/// "24 positions, 3 microbatches: mlp.up.output"; the number of instances where it is not the
/// product; "loss" of a single one.
[[nodiscard]] std::string to_string(const HeldTensor& held, const Program& program);

struct MemoryPeak {
  CategoryBytes held;
  TimePoint at;  // the first instant at which that much is held
  /// The operation whose start takes the last room: index into RoleProgram::operations. None where
  /// only resident tensors remain.
  std::optional<std::uint32_t> operation{};
  std::vector<HeldInstance> instances{};  // largest first, then in the role's order
  std::vector<HeldTensor> tensors{};      // largest first, then in the program's order
};

/// The memory of a device, or of its host.
struct MemoryUse {
  std::vector<MemoryPoint> curve{};  // times rise; the first stands at the start
  MemoryPeak peak;
};

struct MemoryAccount {
  MemoryUse device;
  MemoryUse host;  // tensors `on_host`; all tensors of a role that a host plays
};

/// Bytes live on a rank over the step. A resident tensor is held all the time; any other from the
/// start of the first operation that writes it to the end of the last that reads or writes it, each
/// instance (position, microbatch) for itself. What ends at an instant is freed before what begins
/// there is allocated: of two operations that follow each other in a stream, the first's operands
/// are gone when the second's results come. What lives for no time takes no room.
/// Takes O(n log n) for n operations. Errors: InternalError where role and rank differ in length.
[[nodiscard]] MemoryAccount memory_account(const RoleProgram& role, const RankTimeline& rank);

/// What PyTorch's caching allocator reserves at most of the device for the same tensors, taken and
/// given back in the same order (caching_allocator.hpp). `capacity`: of the device; none: endless.
[[nodiscard]] Bytes reserved_bytes(const RoleProgram& role, const RankTimeline& rank,
                                   std::optional<Bytes> capacity = std::nullopt);

/// Bytes of resident tensors, by category: weights, gradients and optimizer states among them.
/// Needs no timeline. `on_host`: those in the memory of the host, else those on the device.
[[nodiscard]] CategoryBytes resident_bytes(const RoleProgram& role, bool on_host = false);
/// Weights, gradients and optimizer states together.
[[nodiscard]] Bytes model_state_bytes(const CategoryBytes& resident);

/// Which calls of a role to look between.
struct LiveQuery {
  std::vector<RoutineId> forward{};
  std::vector<RoutineId> backward{};
  int position = 0;
  int microbatch = 0;
};

/// The activations that forward leaves for backward at one position of one microbatch: instances
/// on the device that are not resident, exist when the last operation of `forward` has ended,
/// and that `backward` reads before it writes them itself (recomputed ones do not count). The
/// input of a block counts where its backward reads it. Largest first. Empty where the role has no
/// such calls.
[[nodiscard]] std::vector<HeldInstance> live_between(const RoleProgram& role,
                                                     const LiveQuery& query);
[[nodiscard]] Bytes total_bytes(std::span<const HeldInstance> instances);

}  // namespace lockstep
