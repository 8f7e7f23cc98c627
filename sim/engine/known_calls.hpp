#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  /// A stream with calls that others must not meet.
  struct Caller {
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
  std::vector<std::uint64_t> uses;  // per class
  /// Endpoints with two or more streams whose calls make them reduce or copy.
  std::map<EndpointId, std::vector<Caller>> workers_at{};
  // Per group: who calls its rivals or sends messages over its links.
  std::vector<std::vector<Caller>> rivals_of{};
  std::vector<std::uint32_t> replayed{};  // per group: calls in flight that are replayed
  std::vector<std::uint32_t> messages{};  // per group: those in flight on its links
  bool counts_messages = false;           // some are on links of known groups
  /// Per stream: of its calls, the last that was looked at for rivals.
  std::vector<std::uint32_t> own_calls{};
  /// Per stream: time of the computations before each operation; the same for streams of a pattern.
  std::vector<std::shared_ptr<const std::vector<Duration>>> computed_before{};
  std::vector<Offer> offers{};
};

}  // namespace lockstep
