#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "tools/app/progress.hpp"

namespace lockstep::cli {

/// A line on stderr that says how far a command is and since when: only on a terminal, only after a
/// second, and again every second.
/// Thread-safe.
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void step();

 private:
  void tick();
  void draw();

  std::mutex mutex_;
  std::condition_variable ends_;
  std::string what_;
  std::size_t total_;
  std::size_t done_ = 0;
  double begun_ = 0;
  bool terminal_ = false;
  bool shown_ = false;
  bool over_ = false;
  std::thread ticker_;
};

/// Shows a use case's progress on such a line, gone when all is done.
[[nodiscard]] app::OnProgress progress_line(std::string what);

}  // namespace lockstep::cli
