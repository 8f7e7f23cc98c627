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

/// ", about 12 s left"; nothing below a second.
std::string estimate_of(double left) {
  if (left < 1) return {};
  return left < 120 ? fmt::format(", about {:.0f} s left", left)
                    : fmt::format(", about {:.0f} minutes left", left / 60);
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
  fmt::print(stderr, "\r{} [{:<30}] {} of {}, {:.0f} s{}\033[K", what_, std::string(filled, '#'),
             done_, total_, elapsed, estimate_of(left));
  std::fflush(stderr);
}

PhaseLine::PhaseLine(std::string command)
    : command_{std::move(command)}, begun_{seconds_now()}, terminal_{isatty(STDERR_FILENO) == 1} {
  if (terminal_) ticker_ = std::thread([this] { tick(); });
}

PhaseLine::~PhaseLine() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void PhaseLine::show(const app::Phase& phase) {
  const std::lock_guard lock(mutex_);
  const bool first = phase_.share <= 0 || (!phase.name.empty() && phase.name != phase_.name);
  if (first) share_begun_ = seconds_now();
  if (first) first_share_ = phase.share;
  std::string name = phase.name.empty() ? phase_.name : phase.name;
  phase_ = phase;
  phase_.name = std::move(name);
}

void PhaseLine::tick() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, std::chrono::seconds{1}, [this] { return over_; })) draw();
}

void PhaseLine::draw() {
  const double now = seconds_now();
  shown_ = true;
  const double taken = now - share_begun_;
  const double rate = taken > 0 ? (phase_.share - first_share_) / taken : 0;
  fmt::print(stderr, "\r{}\033[K", phase_text(command_, phase_, now - begun_, rate));
  std::fflush(stderr);
}

std::string phase_text(const std::string& command, const app::Phase& phase, double elapsed,
                       double rate) {
  std::string out = fmt::format("{}: {}", command, phase.name);
  if (phase.share > 0) out += fmt::format(", {:.0f} % done", 100 * phase.share);
  if (!phase.detail.empty()) out += ", " + phase.detail;
  out += fmt::format(", {:.0f} s", elapsed);
  return rate > 0 ? out + estimate_of((1 - phase.share) / rate) : out;
}

app::OnPhase phase_line(std::string command) {
  return [line = std::make_shared<PhaseLine>(std::move(command))](const app::Phase& phase) {
    line->show(phase);
  };
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
