#pragma once

#include <cstdint>

#include "sim/engine/matcher.hpp"

namespace lockstep {

/// Where an engine replays part of a workload and somebody else the rest: what the part has to do
/// with the rest. The engine hands over ends of transfers that are matched and carried beyond, and
/// hears by Engine::finish_at when they are done; or it matches and carries for a guest, a member
/// that is replayed beyond and whose ends it is given by Engine::post_at.
class Frontier {
 public:
  virtual ~Frontier() = default;

  /// Whether what goes over the channel is matched and carried beyond.
  [[nodiscard]] virtual bool beyond(std::uint32_t channel) const = 0;
  /// One end of a transfer over such a channel.
  virtual void take(std::uint32_t channel, const Post& post) = 0;
  /// A transfer is through that the guest posted as its `place`th.
  virtual void done(std::uint32_t place) = 0;

 protected:
  Frontier() = default;
  Frontier(const Frontier&) = default;
  Frontier& operator=(const Frontier&) = default;
};

}  // namespace lockstep
