#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace lockstep::cli {

/// A line on stderr that says how far a command is: only on a terminal, only after a second.
/// Thread-safe.
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void step();

 private:
  std::mutex mutex_;
  std::string what_;
  std::size_t total_;
  std::size_t done_ = 0;
  double begun_ = 0;
  bool terminal_ = false;
  bool shown_ = false;
};

}  // namespace lockstep::cli
