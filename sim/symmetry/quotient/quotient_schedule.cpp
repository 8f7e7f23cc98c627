#include "sim/symmetry/quotient/quotient_schedule.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::fold {
namespace {

bool operator==(const Phase& a, const Phase& b) {
  return a.first == b.first && a.count == b.count;
}

/// What all calls repeat alike; nothing where they differ.
std::vector<Phase> common_phases(const std::vector<FoldedRank>& ranks) {
  std::vector<Phase> phases = ranks.front().call->schedule->phases();
  const CollectiveCall* last = ranks.front().call;
  for (const FoldedRank& rank : ranks) {
    if (rank.call == last) continue;
    last = rank.call;
    const std::vector<Phase> others = last->schedule->phases();
    if (!std::equal(phases.begin(), phases.end(), others.begin(), others.end(),
                    [](const Phase& a, const Phase& b) { return a == b; }))
      return {};
  }
  return phases;
}

const FoldedPeer* find(const std::vector<FoldedPeer>& peers, int peer) {
  const auto found =
      std::lower_bound(peers.begin(), peers.end(), peer,
                       [](const FoldedPeer& p, int wanted) { return p.peer < wanted; });
  return found == peers.end() || found->peer != peer ? nullptr : &*found;
}

}  // namespace

QuotientSchedule::QuotientSchedule(std::vector<FoldedRank> ranks, int channels)
    : ranks_{std::move(ranks)}, channels_{channels}, phases_{common_phases(ranks_)} {
  slots_ = ranks_.front().call->schedule->slots();
  sizes_.reserve(ranks_.size());
  for (const FoldedRank& rank : ranks_) {
    lanes_ = std::max(lanes_, rank.call->schedule->lanes());
    sizes_.emplace_back(*rank.call->schedule);
  }
}

std::int64_t QuotientSchedule::steps(int rank, int lane) const {
  const FoldedRank& folded = ranks_[static_cast<std::size_t>(rank)];
  const Schedule& schedule = *folded.call->schedule;
  return lane < schedule.lanes() ? schedule.steps(folded.rank, lane) : 0;
}

std::int64_t QuotientSchedule::first_step(int rank, int lane) const {
  const FoldedRank& folded = ranks_[static_cast<std::size_t>(rank)];
  const Schedule& schedule = *folded.call->schedule;
  return lane < schedule.lanes() ? lockstep::first_step(schedule, folded.rank, lane) : 0;
}

void QuotientSchedule::step(int rank, int lane, std::int64_t index, ScheduleStep& step) const {
  thread_local ScheduleStep own;
  own.clear();
  const FoldedRank& folded = ranks_[static_cast<std::size_t>(rank)];
  sizes_[static_cast<std::size_t>(rank)].read(folded.rank, lane, index, own);
  const std::int64_t block = folded.call->block.count();
  const auto channel = [&](const FoldedPeer& peer, int given) {
    return static_cast<int>(peer.pairs) * channels_ + given;
  };
  for (const Send& send : own.sends)
    if (const FoldedPeer* peer = find(folded.to, send.peer))
      step.sends.push_back({static_cast<int>(peer->rank),
                            {send.chunk.buffer, 0, own.blocks_of(send) * block},
                            channel(*peer, send.channel)});
  for (const Receive& receive : own.receives)
    if (const FoldedPeer* peer = find(folded.from, receive.peer))
      step.receives.push_back({static_cast<int>(peer->rank),
                               {receive.chunk.buffer, 0, own.blocks_of(receive) * block},
                               receive.combine,
                               channel(*peer, receive.channel),
                               {},
                               peer->times,
                               receive.forwarded});
  for (LocalOperation local : own.locals) {
    local.from.count *= block;
    local.to.count *= block;
    step.locals.push_back(local);
  }
  step.after = own.after;
}

}  // namespace lockstep::fold
