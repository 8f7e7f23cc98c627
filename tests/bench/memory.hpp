#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace lockstep {

/// The most memory this process holds beyond what it held when this was made. Linux only; empty
/// where the kernel does not let a process forget its high-water mark.
class PeakMemory {
 public:
  PeakMemory();
  [[nodiscard]] std::optional<Bytes> grown() const;

 private:
  std::optional<Bytes> before_;
};

}  // namespace lockstep
