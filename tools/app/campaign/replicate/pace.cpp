#include "tools/app/campaign/replicate/pace.hpp"

#include <algorithm>

namespace lockstep::app {

namespace {

constexpr UInt128 kOne = UInt128{1} << static_cast<unsigned>(kSlowdownBits);

[[nodiscard]] LongTime part(LongTime work, SlowdownSteps of) {
  const UInt128 product = static_cast<UInt128>(work.us()) * of;
  return LongTime::microseconds(
      static_cast<std::int64_t>(product >> static_cast<unsigned>(kSlowdownBits)));
}

}  // namespace

Pace::Pace(const CampaignJob& job, std::uint64_t replicate)
    : job_{job}, events_{job.slowdowns, replicate} {
  if (job.slow_classes.empty()) return;
  const double largest = largest_uniform(job.straggler_key, replicate, job.ranks);
  for (const JobSlowClass& each : job.slow_classes)
    if (largest >= each.from) permanent_ = std::max(permanent_, each.slower);
  slower_ = permanent_;
}

void Pace::update(LongTime now, std::int64_t missing_replicas, SlowdownSteps traffic) {
  for (; events_.next().at <= now && events_.next().at < LongTime::never(); events_.pop()) {
    const JobSlowdown& slowdown = job_.transients[events_.next().process];
    active_.push_back({events_.next().at + slowdown.duration, slowdown.slower});
  }
  std::erase_if(active_, [&](const Active& each) { return each.end <= now; });
  slower_ = permanent_;
  for (const Active& each : active_) slower_ = std::max(slower_, each.slower);
  UInt128 factor = kOne + slower_;
  if (traffic > 0) factor = factor * (kOne + traffic) >> static_cast<unsigned>(kSlowdownBits);
  if (missing_replicas > 0) {
    const auto replicas = static_cast<UInt128>(job_.replicas);
    factor = factor * replicas / (replicas - static_cast<UInt128>(missing_replicas));
  }
  slower_ = static_cast<SlowdownSteps>(factor - kOne);
}

LongTime Pace::next_change() const {
  LongTime out = events_.next().at;
  for (const Active& each : active_) out = std::min(out, each.end);
  return out;
}

LongTime Pace::time_of(LongTime work) const {
  return work + part(work, slower_) + part(work, job_.data_stall);
}

LongTime Pace::work_in(LongTime time) const {
  const UInt128 steps = static_cast<UInt128>(time.us()) << static_cast<unsigned>(kSlowdownBits);
  auto us = static_cast<std::int64_t>(steps / (kOne + slower_ + job_.data_stall));
  const auto takes = [&](std::int64_t each) { return time_of(LongTime::microseconds(each)); };
  while (takes(us) > time) --us;
  while (takes(us + 1) <= time) ++us;
  return LongTime::microseconds(us);
}

PaceShares Pace::shares(LongTime work, LongTime time) const {
  const LongTime data = part(work, job_.data_stall);
  return {data, time - work - data};
}

}  // namespace lockstep::app
