#include "tools/app/campaign/replicate/fleet.hpp"

#include <algorithm>
#include <set>

namespace lockstep::app {

Replacement SparePool::take(std::size_t failure, std::int64_t nodes, LongTime repaired,
                            LongTime now) {
  if (const auto known = taken_.find(failure); known != taken_.end()) return known->second;
  for (; !repaired_.empty() && repaired_.top() <= now; repaired_.pop()) ++spares_;
  for (std::int64_t i = 0; i < nodes; ++i) repaired_.push(repaired);
  Replacement out{now};
  const std::int64_t spares = std::min(spares_, nodes);
  spares_ -= spares;
  out.from_spares = spares > 0;
  for (std::int64_t i = spares; i < nodes; ++i) {
    out.ready = std::max(out.ready, repaired_.top());
    out.waits = true;
    repaired_.pop();
  }
  if (shared_) taken_.emplace(failure, out);
  return out;
}

Replacement Fleet::replace(const JobCause& cause, const UnitEvent& event, std::size_t number,
                           LongTime now) {
  const LongTime repaired = now + cause.detection + cause.repair.value_or(LongTime{});
  if (cause.policy != FailurePolicy::hot_spare) return {repaired, false, true};
  return spares_.take(number, job_.nodes_of(event.process, event.unit), repaired, now);
}

std::vector<std::int64_t> Fleet::replicas_of(const JobCause& cause, std::int64_t unit) const {
  if (!job_.rank_of_gpu.empty()) return placed_replicas_of(cause, unit);
  const std::int64_t first = unit * cause.ranks_per_unit / job_.ranks_per_replica_block;
  const std::int64_t end_rank = std::min((unit + 1) * cause.ranks_per_unit, job_.ranks);
  const std::int64_t last = std::max(first, (end_rank - 1) / job_.ranks_per_replica_block);
  std::vector<std::int64_t> out;
  for (std::int64_t i = first; i <= last && i < first + job_.replicas; ++i)
    out.push_back(i % job_.replicas);
  return out;
}

std::vector<std::int64_t> Fleet::placed_replicas_of(const JobCause& cause,
                                                    std::int64_t unit) const {
  std::set<std::int64_t> out;
  const auto gpus = static_cast<std::int64_t>(job_.rank_of_gpu.size());
  const std::int64_t end = std::min((unit + 1) * cause.ranks_per_unit, gpus);
  for (std::int64_t gpu = unit * cause.ranks_per_unit; gpu < end; ++gpu)
    if (const std::int64_t rank = job_.rank_of_gpu[static_cast<std::size_t>(gpu)]; rank >= 0)
      out.insert(rank / job_.ranks_per_replica_block % job_.replicas);
  return {out.begin(), out.end()};
}

bool Fleet::is_gone(const JobCause& cause, std::int64_t unit, LongTime at) const {
  if (gone_.empty() || !cause.hardware) return false;
  return std::ranges::all_of(replicas_of(cause, unit), [&](std::int64_t replica) {
    const auto found = gone_.find(replica);
    return found != gone_.end() && found->second > at;
  });
}

bool Fleet::leave(const JobCause& cause, std::int64_t unit, LongTime until) {
  const std::vector<std::int64_t> hit = replicas_of(cause, unit);
  std::map<std::int64_t, LongTime> gone = gone_;
  for (const std::int64_t replica : hit) gone[replica] = std::max(gone[replica], until);
  if (static_cast<std::int64_t>(gone.size()) >= job_.replicas) return false;
  gone_ = std::move(gone);
  return true;
}

bool Fleet::take_back(LongTime now) {
  return std::erase_if(gone_, [&](const auto& each) { return each.second <= now; }) > 0;
}

LongTime Fleet::next_return() const {
  LongTime out = LongTime::never();
  for (const auto& [replica, until] : gone_) out = std::min(out, until);
  return out;
}

}  // namespace lockstep::app
