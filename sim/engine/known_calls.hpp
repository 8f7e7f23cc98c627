#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/network/transport.hpp"
#include "sim/reuse/call_classes.hpp"

namespace lockstep {

/// Calls that an engine need not replay, because an isolated call of equal shape has been replayed.
/// Copyable.
struct KnownCalls {
  /// Replay of an isolated call of one shape whose members all start together.
  struct Outcome {
    bool together = false;  // all members end together; otherwise the shape is not reused
    Duration takes{};
    std::vector<UInt128> carried{};  // per link of the shape, bytes times weight
    std::uint64_t transfers = 0;
  };
  /// A stream whose calls make its endpoint reduce or copy.
  struct Worker {
    std::uint32_t stream = 0;
    std::vector<std::uint32_t> operations{};  // those calls
    std::size_t next = 0;                     // first of them that has not ended
    TimePoint earliest{};                     // lower bound on its start
  };
  /// A member that began in this instant.
  struct Offer {
    std::uint32_t call = 0;
    std::uint32_t member = 0;
  };

  CallClasses kinds;
  std::map<fold::Key, Outcome> outcomes;
  std::vector<std::uint64_t> uses;                         // per class
  std::map<EndpointId, std::vector<Worker>> workers_at{};  // endpoints with two or more
  std::vector<Offer> offers{};
};

}  // namespace lockstep
