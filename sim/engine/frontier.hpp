#pragma once

#include <cstdint>

#include "sim/engine/matcher.hpp"

/// Where an engine replays part of a workload and others replay the rest.
namespace lockstep {

/// Whoever matches and carries what goes over some channels: it is handed the ends of these
/// transfers and says by Engine::finish_at when they are through.
class Beyond {
 public:
  virtual ~Beyond() = default;
  /// Whether what goes over the channel is matched and carried there.
  [[nodiscard]] virtual bool carries(std::uint32_t channel) const = 0;
  /// One end of a transfer over such a channel.
  virtual void take(std::uint32_t channel, const Post& post) = 0;

 protected:
  Beyond() = default;
  Beyond(const Beyond&) = default;
  Beyond& operator=(const Beyond&) = default;
};

/// Whoever replays one member of the engine's call, its guest: it tells of the guest's ends of
/// transfers by Engine::post_at and hears when these are through.
class Guest {
 public:
  virtual ~Guest() = default;
  /// What was posted as its `place`th is through.
  virtual void done(std::uint32_t place) = 0;

 protected:
  Guest() = default;
  Guest(const Guest&) = default;
  Guest& operator=(const Guest&) = default;
};

}  // namespace lockstep
