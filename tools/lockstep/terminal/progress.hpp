#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tools/app/progress.hpp"
#include "tools/lockstep/terminal/time_left.hpp"

namespace lockstep::cli {

/// One line on stderr, on a terminal or not, as soon as a job is estimated to take a minute or more
/// in all: how long, and what takes less.
class LongJobNote {
 public:
  explicit LongJobNote(std::string advice) : advice_{std::move(advice)} {}
  /// `clear`: what erases a line that is shown.
  void maybe(double elapsed, double all, const char* clear);

 private:
  std::string advice_;
  bool said_ = false;
};

/// "about 5 minutes; --group compares less"; empty below a minute.
[[nodiscard]] std::string long_job_text(double seconds, const std::string& advice);

/// A progress line on stderr: only on a terminal, after one second, updated every second.
/// Thread-safe.
class Progress {
 public:
  Progress(std::string what, std::string advice);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void show(const app::WorkProgress& now);

 private:
  void tick();
  void draw();

  std::mutex mutex_;
  std::condition_variable ends_;
  std::string what_;
  LongJobNote note_;
  app::WorkProgress now_{};
  double begun_ = 0;
  double shown_at_ = 0;  // when now_ was reported
  double drawn_at_ = 0;
  bool terminal_ = false;
  bool shown_ = false;
  bool over_ = false;
  std::thread ticker_;
};

/// The same for a sequence of phases: the current one, its share done, and the time left.
class PhaseLine {
 public:
  PhaseLine(std::string command, std::string advice);
  PhaseLine(const PhaseLine&) = delete;
  PhaseLine& operator=(const PhaseLine&) = delete;
  ~PhaseLine();
  void show(const app::Phase& phase);

 private:
  void tick();
  void draw();

  std::mutex mutex_;
  std::condition_variable ends_;
  std::string command_;
  LongJobNote note_;
  app::Phase phase_{};
  double begun_ = 0;
  TimeLeft left_{};  // of the phase
  bool terminal_ = false;
  bool shown_ = false;
  bool over_ = false;
  std::thread ticker_;
};

/// "run: simulating the step, 62 % done, 5.1 s simulated, 8 s, about 5 s left".
/// `left`: in seconds; none: not known yet.
[[nodiscard]] std::string phase_text(const std::string& command, const app::Phase& phase,
                                     double elapsed, std::optional<double> left);

/// Shows a use case's phases on such a line, removed with the last copy of the result.
/// `advice`: what makes a job of minutes shorter.
[[nodiscard]] app::OnPhase phase_line(std::string_view command, std::string_view advice);

/// Shows a use case's progress on such a line, removed at the end.
[[nodiscard]] app::OnProgress progress_line(std::string_view what, std::string_view advice);

}  // namespace lockstep::cli
