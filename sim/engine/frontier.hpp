#pragma once

#include <cstdint>

#include "sim/engine/matcher.hpp"

/// Where an engine replays part of a workload and others replay the rest.
namespace lockstep {

/// Matches and carries what goes over some channels: it is handed the ends of these
/// transfers and says by Engine::finish_at when they are through.
class ExternalTransport {
 public:
  virtual ~ExternalTransport() = default;
  /// Whether what goes over the channel is matched and carried there.
  [[nodiscard]] virtual bool carries(std::uint32_t channel) const = 0;
  /// One end of a transfer over such a channel.
  virtual void take(std::uint32_t channel, const Post& post) = 0;

 protected:
  ExternalTransport() = default;
  ExternalTransport(const ExternalTransport&) = default;
  ExternalTransport& operator=(const ExternalTransport&) = default;
};

/// Replays one member of the engine's call, its guest: it reports the guest's ends of
/// transfers by Engine::post_at and hears when these are through.
class ExternalMember {
 public:
  virtual ~ExternalMember() = default;
  /// What was posted as its `place`th has met its other end: the transfer begins now.
  virtual void begun(std::uint32_t place) = 0;
  /// What was posted as its `place`th is through.
  virtual void done(std::uint32_t place) = 0;

 protected:
  ExternalMember() = default;
  ExternalMember(const ExternalMember&) = default;
  ExternalMember& operator=(const ExternalMember&) = default;
};

}  // namespace lockstep
