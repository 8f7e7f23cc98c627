#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/memory/memory.hpp"

namespace lockstep {

/// Memory use of one memory of a rank, from an execution in simulated order.
struct AllocationUse {
  /// Bytes held from each instant until the next, starting at the initial state. Allocations freed
  /// at the same instant are omitted.
  std::vector<MemoryPoint> curve{};
  TimePoint peak_at{};  // first instant of the peak
  CategoryBytes peak{};
  std::vector<HeldInstance> at_peak{};  // largest first, then in order of the role
};

struct AllocationRecord {
  AllocationUse device;
  AllocationUse host;  // tensors `on_host`; all tensors of a host role
};

/// Log of a rank's allocations and frees.
class AllocationLog {
 public:
  /// Held throughout.
  void resident(std::uint32_t instance, Bytes bytes) { residents_.push_back({instance, bytes}); }
  /// Throws InternalError if time goes backwards.
  void allocate(TimePoint at, std::uint32_t instance, Bytes bytes);
  void release(TimePoint at, std::uint32_t instance, Bytes bytes);

  /// `on_host`: host memory instead of device memory.
  [[nodiscard]] AllocationUse use(const RoleProgram& role, bool on_host) const;

 private:
  struct Change {
    TimePoint at;
    bool allocates = false;
    HeldInstance what;
  };

  void add(const Change& change);

  std::vector<HeldInstance> residents_{};
  std::vector<Change> changes_{};
};

}  // namespace lockstep
