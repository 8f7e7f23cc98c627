#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/network/transport.hpp"
#include "sim/symmetry/reuse/call_classes.hpp"

namespace lockstep {

/// What an engine remembers of calls that it need not replay again. Copyable.
struct KnownCalls {
  /// How a call of some shape went on its own, all members beginning and ending together.
  struct Outcome {
    bool together = false;  // otherwise nothing is known
    Duration takes{};
    std::vector<UInt128> carried{};  // per link of the shape, bytes times weight
    std::uint64_t transfers = 0;
  };
  /// A stream of an end point in which calls make it reduce or copy.
  struct Worker {
    std::uint32_t stream = 0;
    std::vector<std::uint32_t> operations{};  // those calls
    std::size_t next = 0;                     // the first of them that has not ended
    TimePoint earliest{};                     // it cannot begin before
  };
  /// A member that began in this instant.
  struct Offer {
    std::uint32_t call = 0;
    std::uint32_t member = 0;
  };

  CallClasses kinds;
  std::map<fold::Key, Outcome> outcomes;
  std::vector<std::uint64_t> uses;                         // per kind
  std::map<EndpointId, std::vector<Worker>> workers_at{};  // where there are two or more
  std::vector<Offer> offers{};
};

}  // namespace lockstep
