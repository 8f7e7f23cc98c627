#include "tools/lockstep/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace lockstep::cli {

namespace {

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

Progress::Progress(std::string what, std::size_t total)
    : what_{std::move(what)},
      total_{total},
      begun_{seconds_now()},
      terminal_{isatty(STDERR_FILENO) == 1} {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::step() {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (!terminal_ || seconds_now() - begun_ < 1.0) return;
  shown_ = true;
  const std::size_t filled = 30 * done_ / total_;
  fmt::print(stderr, "\r{} [{:<30}] {} of {}", what_, std::string(filled, '#'), done_, total_);
  std::fflush(stderr);
}

}  // namespace lockstep::cli
