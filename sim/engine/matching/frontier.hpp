#pragma once

#include <cstdint>

#include "sim/engine/matching/matcher.hpp"

/// Interfaces between engines that replay parts of one workload.
namespace lockstep {

/// Matches and carries the transfers of some channels: it receives their ends and reports
/// completion by Engine::finish_at().
class ExternalTransport {
 public:
  virtual ~ExternalTransport() = default;
  /// Whether it carries this channel.
  [[nodiscard]] virtual bool carries(std::uint32_t channel) const = 0;
  /// One end of a transfer over such a channel.
  virtual void take(std::uint32_t channel, const Post& post) = 0;

 protected:
  ExternalTransport() = default;
  ExternalTransport(const ExternalTransport&) = default;
  ExternalTransport& operator=(const ExternalTransport&) = default;
};

/// Replays one member of the engine's call: it posts that member's ends of transfers by
/// Engine::post_at() and is notified of their start and end.
class ExternalMember {
 public:
  virtual ~ExternalMember() = default;
  /// The transfer posted with this place is matched and starts now.
  virtual void begun(std::uint32_t place) = 0;
  /// The transfer posted with this place has ended.
  virtual void done(std::uint32_t place) = 0;

 protected:
  ExternalMember() = default;
  ExternalMember(const ExternalMember&) = default;
  ExternalMember& operator=(const ExternalMember&) = default;
};

}  // namespace lockstep
