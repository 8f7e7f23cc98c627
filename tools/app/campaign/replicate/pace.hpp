#pragma once

#include <cstdint>
#include <vector>

#include "tools/app/campaign/replicate/campaign_job.hpp"
#include "tools/app/campaign/replicate/unit_events.hpp"

namespace lockstep::app {

/// Parts of a time of training in addition to the ideal one.
struct PaceShares {
  LongTime data{};   // stalls of data loading
  LongTime other{};  // the slowest GPU, missing replicas
};

/// How long training takes at an instant: the slowest GPU decides, and with d of r replicas
/// missing the others do their work, in r / (r - d) of the time.
class Pace {
 public:
  Pace(const CampaignJob& job, std::uint64_t replicate);

  /// Begins and ends transient slowdowns up to `now`; `traffic`: by which other jobs slow it down.
  void update(LongTime now, std::int64_t missing_replicas, SlowdownSteps traffic = 0);
  [[nodiscard]] LongTime next_change() const;

  [[nodiscard]] LongTime time_of(LongTime work) const;
  /// The most work whose time is at most `time`.
  [[nodiscard]] LongTime work_in(LongTime time) const;
  [[nodiscard]] PaceShares shares(LongTime work, LongTime time) const;

 private:
  struct Active {
    LongTime end{};
    SlowdownSteps slower = 0;
  };

  const CampaignJob& job_;
  UnitEvents events_;
  SlowdownSteps permanent_ = 0;
  SlowdownSteps slower_ = 0;  // now
  std::vector<Active> active_{};
};

}  // namespace lockstep::app
