#include "tools/app/campaign/replicate/replicate.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "tools/app/campaign/replicate/fleet.hpp"
#include "tools/app/campaign/replicate/pace.hpp"

namespace lockstep::app {

namespace {

class Run {
 public:
  Run(const CampaignJob& job, std::uint64_t replicate, EventTrace& failures)
      : job_{job}, failures_{failures}, pace_{job, replicate}, fleet_{job} {
    out_.failures.resize(job.causes.size());
    for (const PlannedMaintenance& each : job.maintenance) due_.push_back(each.every);
  }

  [[nodiscard]] Replicate run() {
    restart_ = {.full = true};
    recover();
    while (!finished()) {
      if (hard_limit() <= now_) {
        fail();
        recover();
      } else if (!maintain()) {
        advance();
      }
    }
    out_.gave_up = !done_ && now_ >= job_.give_up && now_ < job_.horizon;
    LOCKSTEP_CHECK(out_.times.total() == now_);
    return std::move(out_);
  }

 private:
  /// A restart in progress.
  struct Restart {
    bool full = false;  // with startup and restore; else the others go on after a pause
    LongTime detected{};
    LongTime ready{};  // the hardware
    bool swap = false;
    LongTime restart{};
  };
  struct PendingSave {
    LongTime progress{};
    LongTime durable_at{};
  };

  [[nodiscard]] bool finished() const {
    return done_ || now_ >= job_.horizon || now_ >= job_.give_up;
  }
  /// The next failure, or the end of the campaign. Failures of replicas that have left are dropped.
  [[nodiscard]] LongTime hard_limit() {
    for (;; ++next_) {
      const UnitEvent& next = failures_.at(next_);
      const bool gone = next.at < LongTime::never() &&
                        fleet_.is_gone(job_.causes[next.process], next.unit, next.at);
      if (!gone) return std::min({next.at, job_.horizon, job_.give_up});
    }
  }

  void book(TimeBucket bucket, LongTime time) {
    out_.times[bucket] += time;
    now_ += time;
  }

  /// False if a failure or the end of the campaign cuts it short.
  bool spend(TimeBucket bucket, LongTime time) {
    const LongTime left = hard_limit() - now_;
    book(bucket, std::min(time, left));
    return time <= left;
  }
  bool spend_until(TimeBucket bucket, LongTime at) {
    return at <= now_ || spend(bucket, at - now_);
  }

  // Failures and restarts.

  void fail() {
    const UnitEvent event = failures_.at(next_++);
    const JobCause& cause = job_.causes[event.process];
    const bool ragged = cause.policy == FailurePolicy::ragged_continue && cause.hardware;
    ++out_.failures[event.process];
    if (ragged && fleet_.leave(cause, event.unit, return_time(cause))) {
      ++out_.replicas_left;
      restart_.detected = now_ + cause.detection;
      restart_.restart = cause.restart;
      return;
    }
    roll_back(cause);
  }

  [[nodiscard]] LongTime return_time(const JobCause& cause) const {
    return now_ + cause.detection + cause.repair.value_or(LongTime{}) + cause.restart +
           job_.startup.total();
  }

  void roll_back(const JobCause& cause) {
    settle_saves();
    pending_.reset();
    const LongTime lost = progress_ - durable_;
    out_.times[TimeBucket::productive] -= lost;
    out_.times[TimeBucket::wasted_progress] += lost;
    progress_ = durable_;
    since_save_ = {};
    restart_.full = true;
    restart_.detected = now_ + cause.detection;
    restart_.restart = cause.restart;
    if (!cause.hardware || !cause.repair) return;
    const Replacement replacement = fleet_.replace(cause, now_);
    restart_.ready = std::max(restart_.ready, replacement.ready);
    restart_.swap = restart_.swap || replacement.from_spares;
    if (replacement.waits && cause.policy == FailurePolicy::hot_spare) ++out_.waits_for_repair;
  }

  void recover() {
    while (!finished() && !restart_once()) {
      if (finished()) return;
      fail();
    }
    if (!finished()) restart_ = {};
  }

  /// False if it is cut short.
  bool restart_once() {
    if (!spend_until(TimeBucket::infrastructure_recovery, restart_.detected)) return false;
    if (!spend_until(TimeBucket::infrastructure_recovery, restart_.ready)) return false;
    if (restart_.swap && !spend(TimeBucket::infrastructure_recovery, job_.spare_swap)) return false;
    if (!spend(TimeBucket::infrastructure_recovery, restart_.restart)) return false;
    return !restart_.full || (start_up() && restore());
  }

  bool start_up() {
    const StartupTimes& times = job_.startup;
    return spend(TimeBucket::accelerator_initialization, times.accelerator_initialization) &&
           spend(TimeBucket::training_preparation, times.training_preparation) &&
           spend(TimeBucket::program_startup, times.program_startup) &&
           spend(TimeBucket::data_loading_sync, times.data_loading);
  }

  bool restore() {
    if (durable_ == LongTime{}) return true;
    ++out_.restores;
    return spend(TimeBucket::checkpoint_restore, job_.load);
  }

  // Planned maintenance.

  /// False if none is due.
  bool maintain() {
    for (std::size_t i = 0; i < due_.size(); ++i) {
      if (due_[i] > now_) continue;
      const PlannedMaintenance& planned = job_.maintenance[i];
      if (!save_now()) return true;  // by a failure; it is due after it
      while (due_[i] <= now_) due_[i] += planned.every;
      ++out_.maintenances;
      restart_ = {.full = true};
      const LongTime left = std::min(job_.horizon, job_.give_up) - now_;
      book(TimeBucket::custom, std::min(planned.duration, left));
      while (!finished() && hard_limit() <= now_) fail();  // of the pause, found at its end
      recover();
      return true;
    }
    return false;
  }

  /// A durable save of all progress. False if it is cut short.
  bool save_now() {
    if (since_save_ > LongTime{} && !save()) return false;
    if (pending_) {
      if (!spend_until(TimeBucket::checkpoint_save, pending_->durable_at)) return false;
      settle_saves();
    }
    return true;
  }

  // Training and saves.

  void settle_saves() {
    if (!pending_ || pending_->durable_at > now_) return;
    durable_ = pending_->progress;
    pending_.reset();
  }

  /// False if it is cut short; then it is repeated, unless progress is lost.
  bool save() {
    if (pending_ && !spend_until(TimeBucket::checkpoint_save, pending_->durable_at)) return false;
    settle_saves();
    ++out_.saves;
    if (!spend(TimeBucket::checkpoint_save, job_.stall)) return false;
    since_save_ = {};
    if (job_.asynchronous) {
      pending_ = PendingSave{progress_, now_ + job_.write};
    } else {
      durable_ = progress_;
    }
    if (progress_ == job_.work) done_ = save_now();
    return true;
  }

  void train(LongTime work, LongTime time) {
    const PaceShares shares = pace_.shares(work, time);
    book(TimeBucket::productive, work);
    book(TimeBucket::data_loading_async, shares.data);
    book(TimeBucket::other, shares.other);
    out_.executed += work;
    progress_ += work;
    since_save_ += work;
  }

  /// Trains until the next event.
  void advance() {
    if (fleet_.take_back(now_)) {  // they get the state from the others
      (void)spend(TimeBucket::checkpoint_restore, job_.load);
      return;
    }
    pace_.update(now_, fleet_.missing());
    LongTime limit = std::min({hard_limit(), pace_.next_change(), fleet_.next_return()});
    for (const LongTime due : due_) limit = std::min(limit, due);
    while (now_ < limit && !done_) {
      const LongTime work = std::min(job_.interval - since_save_, job_.work - progress_);
      const LongTime time = pace_.time_of(work);
      if (time > limit - now_) {
        const LongTime left = limit - now_;
        train(pace_.work_in(left), left);
        return;
      }
      train(work, time);
      if (!save()) return;
      skip_intervals(limit);
    }
  }

  /// Whole intervals with their saves, while nothing changes.
  void skip_intervals(LongTime limit) {
    const bool steady = !job_.asynchronous || job_.write == LongTime{} ||
                        (pending_ && pending_->durable_at == now_ + job_.write);
    if (done_ || !steady || now_ >= limit) return;
    const LongTime time = pace_.time_of(job_.interval);
    const LongTime wait = job_.asynchronous ? std::max(LongTime{}, job_.write - time) : LongTime{};
    const LongTime save = wait + job_.stall;
    const std::int64_t last = ((job_.work - progress_).us() - 1) / job_.interval.us();
    const std::int64_t count = std::min((limit - now_).us() / (time + save).us(), last);
    if (count < 1) return;
    const PaceShares shares = pace_.shares(job_.interval, time);
    const LongTime work = job_.interval * count;
    book(TimeBucket::productive, work);
    book(TimeBucket::data_loading_async, shares.data * count);
    book(TimeBucket::other, shares.other * count);
    book(TimeBucket::checkpoint_save, save * count);
    out_.executed += work;
    progress_ += work;
    out_.saves += count;
    if (job_.asynchronous) {
      durable_ = progress_ - job_.interval;
      pending_ = PendingSave{progress_, now_ + job_.write};
    } else {
      durable_ = progress_;
    }
  }

  const CampaignJob& job_;
  EventTrace& failures_;
  std::size_t next_ = 0;  // failure
  Pace pace_;
  Fleet fleet_;
  Replicate out_;
  LongTime now_;
  LongTime progress_;    // ideal time of the steps done
  LongTime durable_;     // those in the last durable checkpoint
  LongTime since_save_;  // those after the last save
  std::optional<PendingSave> pending_{};
  Restart restart_{};
  std::vector<LongTime> due_{};  // of planned maintenance
  bool done_ = false;
};

}  // namespace

Replicate simulate_replicate(const CampaignJob& job, std::uint64_t replicate) {
  EventTrace failures{job.failures, replicate};
  return Run{job, replicate, failures}.run();
}

Replicate simulate_replicate(const CampaignJob& job, std::uint64_t replicate,
                             EventTrace& failures) {
  return Run{job, replicate, failures}.run();
}

}  // namespace lockstep::app
