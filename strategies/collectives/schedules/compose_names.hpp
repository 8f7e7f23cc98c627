#pragma once

#include "sim/base/check.hpp"
#include "sim/schedule/schedule.hpp"

/// Renaming of a part's blocks, channels and steps inside a composed schedule.
namespace lockstep {

/// Maps a part's blocks, channels and steps to those of the whole. Channels of part k of m become
/// k, m + k, 2m + k, ..., so no two parts share one.
struct Renaming {
  std::int64_t offset = 0;   // of the part's first block of data
  std::int64_t scratch = 0;  // of its first block of scratch
  std::int64_t scale = 1;
  int part = 0;
  int parts = 1;
  int lane = 0;  // the part's first
  std::int64_t step = 0;

  [[nodiscard]] Chunk operator()(Chunk chunk) const {
    const std::int64_t first = chunk.buffer == Buffer::scratch ? scratch : offset;
    return {chunk.buffer, first + chunk.first * scale, chunk.count * scale};
  }
};

/// Peers are mapped by `peer_of`.
template <typename Peer>
void rename(ScheduleStep& whole, const Renaming& names, const Peer& peer_of) {
  const auto message = [&](auto& each) {
    each.peer = peer_of(each.peer);
    each.chunk = names(each.chunk);
    each.channel = each.channel * names.parts + names.part;
  };
  for (Send& send : whole.sends) message(send);
  for (Receive& receive : whole.receives) message(receive);
  for (Chunk& chunk : whole.pieces) chunk = names(chunk);
  for (LocalOperation& local : whole.locals) {
    local.from = names(local.from);
    local.to = names(local.to);
  }
  for (ScheduleStepRef& ref : whole.after) ref = {names.lane + ref.lane, names.step + ref.step};
}

/// Checks the requirements of composition.
inline void check_part(const Schedule& part) {
  LOCKSTEP_CHECK(part.slots() == 0);
  LOCKSTEP_CHECK(part.result() == Buffer::data);
}

}  // namespace lockstep
