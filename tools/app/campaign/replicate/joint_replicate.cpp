#include "tools/app/campaign/replicate/joint_replicate.hpp"

#include <algorithm>
#include <list>
#include <map>

#include "tools/app/campaign/replicate/campaign_run.hpp"

namespace lockstep::app {

namespace {

/// Of training that others take part in; a microsecond of it has no whole one of work.
constexpr LongTime kShortest = LongTime::microseconds(1000);

/// The job that is least far acts next, so that what the others do then is known: their last act
/// reaches beyond, and each act is training or is not.
class JointRun {
 public:
  JointRun(const std::vector<CampaignJob>& jobs, const TrafficSlowdowns& traffic,
           std::uint64_t replicate)
      : traffic_{traffic},
        failures_{jobs.front().failures, replicate},
        spares_{jobs.front().spare_nodes, true} {
    for (const CampaignJob& job : jobs) runs_.emplace_back(job, replicate, failures_, spares_);
  }

  [[nodiscard]] JointReplicate run() {
    while (act()) {
    }
    JointReplicate out;
    std::map<std::size_t, int> stopped;
    for (CampaignRun& each : runs_) {
      for (const std::size_t stop : each.stops()) ++stopped[stop];
      out.jobs.push_back(each.result());
    }
    for (const auto& [stop, jobs] : stopped) out.shared_stops += jobs > 1 ? 1 : 0;
    return out;
  }

 private:
  /// False if all jobs are finished.
  bool act() {
    std::vector<CampaignRun*> first;  // the least far
    for (CampaignRun& each : runs_) {
      if (each.finished()) continue;
      if (!first.empty() && each.now() < first.front()->now()) first.clear();
      if (first.empty() || each.now() == first.front()->now()) first.push_back(&each);
    }
    if (first.empty()) return false;
    for (CampaignRun* each : first) {
      if (each->would_train()) continue;
      each->act();
      return true;
    }
    train(first);
    return true;
  }

  void train(const std::vector<CampaignRun*>& first) {
    const LongTime now = first.front()->now();
    LongTime limit = LongTime::never();
    std::size_t set = 0;
    std::size_t job = 0;
    for (CampaignRun& each : runs_) {
      const std::size_t bit = std::size_t{1} << job++;
      if (each.finished()) continue;
      const bool is_first = each.now() == now;
      limit = std::min(limit, is_first ? each.next_stop() : each.now());
      if (is_first || each.trained()) set |= bit;
    }
    // A job about to finish is slower than next_stop() assumes, ever closer to its end.
    limit = std::max(limit, now + kShortest);
    job = 0;
    for (CampaignRun& each : runs_) {
      const std::size_t index = job++;
      if (!each.finished() && each.now() == now) each.act(limit, traffic_.by_set[set][index]);
    }
  }

  const TrafficSlowdowns& traffic_;
  EventTrace failures_;
  SparePool spares_;
  std::list<CampaignRun> runs_{};
};

}  // namespace

JointReplicate simulate_joint_replicate(const std::vector<CampaignJob>& jobs,
                                        const TrafficSlowdowns& traffic, std::uint64_t replicate) {
  return JointRun{jobs, traffic, replicate}.run();
}

}  // namespace lockstep::app
