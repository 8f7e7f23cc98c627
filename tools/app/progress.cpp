#include "tools/app/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace lockstep::app {

namespace {

constexpr double kBetweenEstimates = 0.1;  // s
// Of a part, before its rate is known.
constexpr double kLeastGained = 0.01;

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

ProgressCounter::ProgressCounter(OnProgress report, std::size_t total)
    : report_{std::move(report)}, estimate_{{}}, progress_{0, total, 0} {
  if (report_) report_(progress_);
}

ProgressCounter::ProgressCounter(OnProgress report, std::vector<WorkPart> parts)
    : report_{std::move(report)}, estimate_{std::move(parts)}, timed_{true} {
  progress_.total = estimate_.size();
  if (report_) report_(progress_);
}

void ProgressCounter::step() {
  if (!report_) return;
  const std::lock_guard lock(mutex_);
  ++progress_.done;
  progress_.share = static_cast<double>(progress_.done) / static_cast<double>(progress_.total);
  report_(progress_);
}

void ProgressCounter::run(std::size_t i, const std::function<void()>& work) {
  const double begun = seconds_now();
  if (report_) begin(i, begun);
  work();
  if (report_) finish(i, seconds_now() - begun);
}

void ProgressCounter::begin(std::size_t part, double now) {
  const std::lock_guard lock(mutex_);
  begun_[part].at = now;
}

void ProgressCounter::during(std::size_t i, double share, const std::string& name) {
  if (!report_) return;
  const std::lock_guard lock(mutex_);
  const double now = seconds_now();
  Begun& begun = begun_.at(i);
  if (!begun.counted_at) {
    begun.counted_at = now;
    begun.counted_share = share;
  }
  const double gained = share - begun.counted_share;
  if (gained >= kLeastGained)
    estimate_.during(i, now - begun.at, (now - *begun.counted_at) * (1 - share) / gained);
  if (now - estimated_at_ < kBetweenEstimates) return;
  progress_.part = fmt::format("{} {:.0f} %", name, 100 * share);
  estimate(now);
  report_(progress_);
}

void ProgressCounter::estimate(double now) {
  progress_.share = estimate_.share();
  estimated_at_ = now;
}

void ProgressCounter::finish(std::size_t part, double seconds) {
  const std::lock_guard lock(mutex_);
  estimate_.took(part, seconds);
  begun_.erase(part);
  progress_.part.clear();
  ++progress_.done;
  const double now = seconds_now();
  if (now - estimated_at_ >= kBetweenEstimates || progress_.done == progress_.total) estimate(now);
  report_(progress_);
}

void ProgressCounter::set_rest(std::size_t first, const std::vector<WorkPart>& parts) {
  if (!report_) return;
  const std::lock_guard lock(mutex_);
  estimate_.set_rest(first, parts);
  progress_.total = estimate_.size();
  progress_.share = estimate_.share();
  report_(progress_);
}

}  // namespace lockstep::app
