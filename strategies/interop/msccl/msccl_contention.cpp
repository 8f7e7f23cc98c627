#include "strategies/interop/msccl/msccl_contention.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep {

MscclContention::MscclContention(const Schedule& schedule, int rank)
    : group_(static_cast<std::size_t>(schedule.lanes())),
      meets_(static_cast<std::size_t>(schedule.lanes())) {
  std::iota(group_.begin(), group_.end(), 0);
  if (schedule.lanes() == 1) return;
  for (int lane = 0; lane < schedule.lanes(); ++lane) add_lane(schedule, rank, lane);
  if (!several_lanes_add()) return;
  follow_time();
  find_groups();
}

void MscclContention::add_lane(const Schedule& schedule, int rank, int lane) {
  std::vector<Moment>& moments = moments_.emplace_back();
  ScheduleStep step;
  std::vector<Chunk> chunks;
  for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
    step.clear();
    schedule.step(rank, lane, i, step);
    moments.push_back({step.after, {}, 0});
    for (const Receive& receive : step.receives) {
      if (receive.combine != Combine::reduce) continue;
      add({&receive.chunk, 1}, lane, i);
      add(step.more(receive.more), lane, i);
    }
    for (const LocalOperation& local : step.locals)
      if (local.combine == Combine::reduce) add({&local.to, 1}, lane, i);
  }
}

void MscclContention::add(std::span<const Chunk> chunks, int lane, std::int64_t step) {
  for (const Chunk& chunk : chunks) {
    for (std::int64_t i = 0; i < chunk.count; ++i)
      additions_.push_back({chunk.buffer, chunk.first + i, lane, step});
  }
}

bool MscclContention::several_lanes_add() const {
  return std::any_of(additions_.begin(), additions_.end(), [this](const Addition& addition) {
    return addition.lane != additions_.front().lane;
  });
}

/// What every step knows when it begins, in an order in which they can. Steps that never can know
/// nothing.
void MscclContention::follow_time() {
  begun_.assign(moments_.size(), 0);
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t lane = 0; lane < moments_.size(); ++lane) {
      while (begun_[lane] < moments_[lane].size() &&
             begin(static_cast<int>(lane), static_cast<std::int64_t>(begun_[lane]))) {
        ++begun_[lane];
        moved = true;
      }
    }
  }
}

bool MscclContention::begin(int lane, std::int64_t step) {
  const auto own = static_cast<std::size_t>(lane);
  Moment& moment = moments_[own][static_cast<std::size_t>(step)];
  const auto earlier = [&](int other, std::int64_t which) -> const Moment& {
    return moments_[static_cast<std::size_t>(other)][static_cast<std::size_t>(which)];
  };
  for (const ScheduleStepRef& ref : moment.after) {
    if (begun_[static_cast<std::size_t>(ref.lane)] <= static_cast<std::size_t>(ref.step))
      return false;
  }
  moment.known.assign(moments_.size(), -1);
  const auto learn = [&](int other, std::int64_t which) {
    const Moment& from = earlier(other, which);
    for (std::size_t i = 0; i < from.known.size(); ++i)
      moment.known[i] = std::max(moment.known[i], from.known[i]);
    std::int64_t& last = moment.known[static_cast<std::size_t>(other)];
    last = std::max(last, which);
    moment.depth = std::max(moment.depth, from.depth + 1);
  };
  if (step > 0) learn(lane, step - 1);
  for (const ScheduleStepRef& ref : moment.after) learn(ref.lane, ref.step);
  return true;
}

void MscclContention::find_groups() {
  const auto key = [](const Addition& addition) {
    return std::tuple{addition.buffer, addition.block, addition.lane, addition.step};
  };
  std::sort(additions_.begin(), additions_.end(),
            [&](const Addition& a, const Addition& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < additions_.size();) {
    std::size_t end = i + 1;
    while (end < additions_.size() && additions_[end].buffer == additions_[i].buffer &&
           additions_[end].block == additions_[i].block)
      ++end;
    unite(std::span{additions_}.subspan(i, end - i));
    i = end;
  }
}

/// `same_block` are sorted by lane.
void MscclContention::unite(std::span<const Addition> same_block) {
  bool contended = false;
  for (const Addition& a : same_block) {
    for (const Addition& b : same_block)
      contended = contended || (a.lane < b.lane && unordered(a, b));
  }
  if (!contended) return;
  blocks_.emplace_back(same_block.front().buffer, same_block.front().block);
  for (const Addition& addition : same_block) {
    meets_[static_cast<std::size_t>(addition.lane)] = true;
    const int first = root_of(same_block.front().lane);
    const int other = root_of(addition.lane);
    group_[static_cast<std::size_t>(std::max(first, other))] = std::min(first, other);
  }
}

bool MscclContention::unordered(const Addition& a, const Addition& b) const {
  const auto knows = [this](const Addition& later, const Addition& earlier) {
    const Moment& moment =
        moments_[static_cast<std::size_t>(later.lane)][static_cast<std::size_t>(later.step)];
    const auto lane = static_cast<std::size_t>(earlier.lane);
    return lane < moment.known.size() && moment.known[lane] >= earlier.step;
  };
  return !knows(a, b) && !knows(b, a);
}

int MscclContention::root_of(int lane) const {
  while (group_[static_cast<std::size_t>(lane)] != lane)
    lane = group_[static_cast<std::size_t>(lane)];
  return lane;
}

std::optional<int> MscclContention::group_of(int lane) const {
  if (!meets_[static_cast<std::size_t>(lane)]) return std::nullopt;
  return root_of(lane);
}

bool MscclContention::contended(std::span<const Chunk> chunks) const {
  if (blocks_.empty()) return false;
  return std::any_of(chunks.begin(), chunks.end(), [this](const Chunk& chunk) {
    const auto found =
        std::lower_bound(blocks_.begin(), blocks_.end(), std::pair{chunk.buffer, chunk.first});
    return found != blocks_.end() && found->first == chunk.buffer &&
           found->second < chunk.first + chunk.count;
  });
}

std::int64_t MscclContention::depth_of(int lane, std::int64_t step) const {
  return moments_[static_cast<std::size_t>(lane)][static_cast<std::size_t>(step)].depth;
}

}  // namespace lockstep
