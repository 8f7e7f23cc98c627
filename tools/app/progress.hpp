#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/work_estimate.hpp"

namespace lockstep::app {

/// How far a job of many parts is.
struct WorkProgress {
  std::size_t done = 0;
  std::size_t total = 0;  // may change on the way
  double share = 0;       // of the expected time; 0: not known yet
  std::string part{};     // in work, with its share: "ring at 64 MiB 42 %"; empty: not reported
};

/// Called from several threads, one at a time, first with done 0.
using OnProgress = std::function<void(const WorkProgress&)>;

/// What a use case is doing. Empty name: still the same.
struct Phase {
  std::string name{};    // "simulating the step"
  double share = 0;      // of it that is done; 0: not known
  std::string detail{};  // "5.1 s simulated"
  std::string part{};    // of the phase, with a share of its own: "expanding operations"
};

/// Calls come from several threads, one at a time.
using OnPhase = std::function<void(const Phase&)>;

/// Counts completed parts for an OnProgress, which may be empty, and estimates the share of the
/// time. Thread-safe.
class ProgressCounter {
 public:
  /// Parts that take equally long.
  ProgressCounter(OnProgress report, std::size_t total);
  ProgressCounter(OnProgress report, std::vector<WorkPart> parts);

  /// One more part is done.
  void step();
  /// Does part i and takes its time.
  void run(std::size_t i, const std::function<void()>& work);
  /// So much of part i, which has begun, is done; the part by name.
  void during(std::size_t i, double share, const std::string& name);
  /// The parts from `first` on are these, whatever they were.
  void set_rest(std::size_t first, const std::vector<WorkPart>& parts);

 private:
  void begin(std::size_t part, double now);
  void finish(std::size_t part, double seconds);
  void estimate(double now);

  OnProgress report_;
  WorkEstimate estimate_;
  bool timed_ = false;
  WorkProgress progress_{};
  double estimated_at_ = 0;
  /// A part in work. What it does before its first report, such as a choice among replays, says
  /// nothing of the rest.
  struct Begun {
    double at = 0;
    std::optional<double> counted_at{};  // its first report
    double counted_share = 0;            // then
  };
  std::map<std::size_t, Begun> begun_{};
  std::mutex mutex_;
};

}  // namespace lockstep::app
