#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/memory/memory.hpp"

namespace lockstep {

/// What an execution in simulated order had allocated in one memory of a rank.
struct AllocationUse {
  /// What is held from an instant on, until the next; the first stands at the start. What is
  /// allocated and freed at one instant leaves no trace.
  std::vector<MemoryPoint> curve{};
  TimePoint peak_at{};  // the first instant at which most is held
  CategoryBytes peak{};
  std::vector<HeldInstance> at_peak{};  // largest first, then in the role's order
};

struct AllocationRecord {
  AllocationUse device;
  AllocationUse host;  // tensors `on_host`; all tensors of a role that a host plays
};

/// What a rank allocates and frees, as it happens.
class AllocationLog {
 public:
  /// Held all the time.
  void resident(std::uint32_t instance, Bytes bytes) { residents_.push_back({instance, bytes}); }
  /// Errors: InternalError for time that goes back.
  void allocate(TimePoint at, std::uint32_t instance, Bytes bytes);
  void release(TimePoint at, std::uint32_t instance, Bytes bytes);

  /// `on_host`: what lies in the memory of the host.
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
