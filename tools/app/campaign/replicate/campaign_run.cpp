#include "tools/app/campaign/replicate/campaign_run.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep::app {

CampaignRun::CampaignRun(const CampaignJob& job, std::uint64_t replicate, EventTrace& failures,
                         SparePool& spares)
    : job_{job}, failures_{failures}, pace_{job, replicate}, fleet_{job, spares} {
  out_.failures.resize(job.causes.size());
  for (const PlannedMaintenance& each : job.maintenance) due_.push_back(each.every);
  restart_ = Restart{.full = true};
}

Replicate CampaignRun::result() {
  out_.gave_up = !done_ && now_ >= job_.give_up && now_ < job_.horizon;
  LOCKSTEP_CHECK(out_.times.total() == now_);
  return std::move(out_);
}

bool CampaignRun::would_train() {
  return !restart_ && hard_limit() > now_ && fleet_.next_return() > now_ &&
         std::ranges::all_of(due_, [&](LongTime due) { return due > now_; });
}

LongTime CampaignRun::next_stop() {
  LongTime out = std::min(hard_limit(), fleet_.next_return());
  for (const LongTime due : due_) out = std::min(out, due);
  const LongTime left = job_.work - progress_;
  return left < LongTime::never() - now_ ? std::min(out, now_ + left) : out;
}

void CampaignRun::act(LongTime limit, SlowdownSteps traffic) {
  trained_ = false;
  if (hard_limit() <= now_) {
    fail();
  } else if (restart_) {
    if (restart_once()) restart_.reset();
  } else if (!maintain()) {
    advance(limit, traffic);
  }
}

/// The next failure, or the end of the campaign. Failures of others' hardware and of replicas that
/// have left are dropped.
LongTime CampaignRun::hard_limit() {
  const LongTime end = std::min(job_.horizon, job_.give_up);
  for (;; ++next_) {
    const UnitEvent& next = failures_.at(next_);
    if (next.at >= end) return end;
    const bool gone = !job_.concerns(next.process, next.unit) ||
                      fleet_.is_gone(job_.causes[next.process], next.unit, next.at);
    if (!gone) return next.at;
  }
}

void CampaignRun::book(TimeBucket bucket, LongTime time) {
  out_.times[bucket] += time;
  now_ += time;
}

/// False if a failure or the end of the campaign cuts it short.
bool CampaignRun::spend(TimeBucket bucket, LongTime time) {
  const LongTime left = hard_limit() - now_;
  book(bucket, std::min(time, left));
  return time <= left;
}

bool CampaignRun::spend_until(TimeBucket bucket, LongTime at) {
  return at <= now_ || spend(bucket, at - now_);
}

// Failures and restarts.

void CampaignRun::fail() {
  stops_.push_back(next_);
  const UnitEvent event = failures_.at(next_++);
  const JobCause& cause = job_.causes[event.process];
  const bool ragged = cause.policy == FailurePolicy::ragged_continue && cause.hardware;
  ++out_.failures[cause.counts_as.value_or(event.process)];
  if (!restart_) restart_ = Restart{};
  if (ragged && fleet_.leave(cause, event.unit, return_time(cause))) {
    ++out_.replicas_left;
    restart_->detected = now_ + cause.detection;
    restart_->restart = cause.restart;
    return;
  }
  roll_back(cause, event);
}

LongTime CampaignRun::return_time(const JobCause& cause) const {
  return now_ + cause.detection + cause.repair.value_or(LongTime{}) + cause.restart +
         job_.startup.total();
}

void CampaignRun::roll_back(const JobCause& cause, const UnitEvent& event) {
  settle_saves();
  pending_.reset();
  const LongTime lost = progress_ - durable_;
  out_.times[TimeBucket::productive] -= lost;
  out_.times[TimeBucket::wasted_progress] += lost;
  progress_ = durable_;
  since_save_ = {};
  restart_->full = true;
  restart_->detected = now_ + cause.detection;
  restart_->restart = cause.restart;
  if (!cause.hardware || !cause.repair) return;
  const Replacement replacement = fleet_.replace(cause, event, stops_.back(), now_);
  restart_->ready = std::max(restart_->ready, replacement.ready);
  restart_->swap = restart_->swap || replacement.from_spares;
  if (replacement.waits && cause.policy == FailurePolicy::hot_spare) ++out_.waits_for_repair;
}

/// False if it is cut short.
bool CampaignRun::restart_once() {
  if (!spend_until(TimeBucket::infrastructure_recovery, restart_->detected)) return false;
  if (!spend_until(TimeBucket::infrastructure_recovery, restart_->ready)) return false;
  if (restart_->swap && !spend(TimeBucket::infrastructure_recovery, job_.spare_swap)) return false;
  if (!spend(TimeBucket::infrastructure_recovery, restart_->restart)) return false;
  return !restart_->full || (start_up() && restore());
}

bool CampaignRun::start_up() {
  const StartupTimes& times = job_.startup;
  return spend(TimeBucket::accelerator_initialization, times.accelerator_initialization) &&
         spend(TimeBucket::training_preparation, times.training_preparation) &&
         spend(TimeBucket::program_startup, times.program_startup) &&
         spend(TimeBucket::data_loading_sync, times.data_loading);
}

bool CampaignRun::restore() {
  if (durable_ == LongTime{}) return true;
  ++out_.restores;
  return spend(TimeBucket::checkpoint_restore, job_.load);
}

// Planned maintenance.

/// False if none is due.
bool CampaignRun::maintain() {
  for (std::size_t i = 0; i < due_.size(); ++i) {
    if (due_[i] > now_) continue;
    const PlannedMaintenance& planned = job_.maintenance[i];
    if (!save_now()) return true;  // by a failure; it is due after it
    while (due_[i] <= now_) due_[i] += planned.every;
    ++out_.maintenances;
    const LongTime left = std::min(job_.horizon, job_.give_up) - now_;
    book(TimeBucket::custom, std::min(planned.duration, left));
    restart_ = Restart{.full = true};  // failures of the pause are found at its end
    return true;
  }
  return false;
}

/// A durable save of all progress. False if it is cut short.
bool CampaignRun::save_now() {
  if (since_save_ > LongTime{} && !save()) return false;
  if (pending_) {
    if (!spend_until(TimeBucket::checkpoint_save, pending_->durable_at)) return false;
    settle_saves();
  }
  return true;
}

// Training and saves.

void CampaignRun::settle_saves() {
  if (!pending_ || pending_->durable_at > now_) return;
  durable_ = pending_->progress;
  pending_.reset();
}

/// False if it is cut short; then it is repeated, unless progress is lost.
bool CampaignRun::save() {
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

void CampaignRun::train(LongTime work, LongTime time) {
  const PaceShares shares = pace_.shares(work, time);
  book(TimeBucket::productive, work);
  book(TimeBucket::data_loading_async, shares.data);
  book(TimeBucket::other, shares.other);
  out_.executed += work;
  progress_ += work;
  since_save_ += work;
}

/// Trains until the next event.
void CampaignRun::advance(LongTime until, SlowdownSteps traffic) {
  if (fleet_.take_back(now_)) {  // they get the state from the others
    (void)spend(TimeBucket::checkpoint_restore, job_.load);
    return;
  }
  trained_ = true;
  pace_.update(now_, fleet_.missing(), traffic);
  LongTime limit = std::min({until, hard_limit(), pace_.next_change(), fleet_.next_return()});
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
void CampaignRun::skip_intervals(LongTime limit) {
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

}  // namespace lockstep::app
