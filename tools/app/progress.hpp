#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace lockstep::app {

/// Progress callback: `done` of `total` parts, first with done 0. Called from several threads, one
/// at a time.
using OnProgress = std::function<void(std::size_t done, std::size_t total)>;

/// What a use case is doing. Empty name: still the same.
struct Phase {
  std::string name{};    // "simulating the step"
  double share = 0;      // of it that is done; 0: not known
  std::string detail{};  // "5.1 s simulated"
};

/// Calls come from several threads, one at a time.
using OnPhase = std::function<void(const Phase&)>;

/// Counts completed parts for an OnProgress, which may be empty. Thread-safe.
class ProgressCounter {
 public:
  ProgressCounter(OnProgress report, std::size_t total)
      : report_{std::move(report)}, total_{total} {
    if (report_) report_(0, total_);
  }
  void step() {
    if (!report_) return;
    const std::lock_guard lock(mutex_);
    report_(++done_, total_);
  }

 private:
  OnProgress report_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

}  // namespace lockstep::app
