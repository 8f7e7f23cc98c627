#include "tools/lockstep/output/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
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
      terminal_{isatty(STDERR_FILENO) == 1} {
  if (terminal_ && total_ > 0) ticker_ = std::thread([this] { tick(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::step() {
  const std::lock_guard lock(mutex_);
  ++done_;
  draw();
}

/// One long simulation among few shows that it goes on.
void Progress::tick() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, std::chrono::seconds{1}, [this] { return over_; })) draw();
}

void Progress::draw() {
  const double elapsed = seconds_now() - begun_;
  if (!terminal_ || elapsed < 1.0) return;
  shown_ = true;
  const std::size_t filled = 30 * done_ / total_;
  // Parts are assumed to take equally long.
  const double left =
      done_ == 0 ? 0 : elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  const std::string estimate =
      left < 1 ? std::string{}
               : (left < 120 ? fmt::format(", about {:.0f} s left", left)
                             : fmt::format(", about {:.0f} minutes left", left / 60));
  fmt::print(stderr, "\r{} [{:<30}] {} of {}, {:.0f} s{}\033[K", what_, std::string(filled, '#'),
             done_, total_, elapsed, estimate);
  std::fflush(stderr);
}

app::OnProgress progress_line(std::string what) {
  return [what = std::move(what), line = std::make_shared<std::optional<Progress>>()](
             std::size_t done, std::size_t total) {
    if (done == 0) line->emplace(what, total);
    if (done > 0 && line->has_value()) line->value().step();
    if (done == total) line->reset();
  };
}

}  // namespace lockstep::cli
