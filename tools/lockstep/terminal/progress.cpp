#include "tools/lockstep/terminal/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "tools/lockstep/host/host.hpp"

namespace lockstep::cli {

namespace {

constexpr double kLongJob = 60;        // s
constexpr double kHour = 3600;         // s
constexpr double kBeforeNote = 2;      // s: what is faster by then tells little
constexpr double kBetweenDraws = 0.1;  // s
constexpr const char* kClear = "\r\033[K";

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

std::string long_job_text(double seconds, const std::string& advice) {
  if (seconds < kLongJob) return {};
  const std::string time = seconds < 90          ? "a minute"
                           : seconds < 2 * kHour ? fmt::format("{:.0f} minutes", seconds / 60)
                                                 : fmt::format("{:.0f} hours", seconds / kHour);
  return advice.empty() ? "about " + time : fmt::format("about {}; {}", time, advice);
}

void LongJobNote::maybe(double elapsed, double all, const char* clear) {
  if (said_ || elapsed < kBeforeNote || all < kLongJob) return;
  said_ = true;
  fmt::print(stderr, "{}note: {}\n", clear, long_job_text(all, advice_));
}

Progress::Progress(std::string what, std::string advice)
    : what_{std::move(what)},
      note_{std::move(advice)},
      begun_{seconds_now()},
      terminal_{isatty(STDERR_FILENO) == 1} {
  if (terminal_) ticker_ = std::thread([this] { tick(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  if (shown_) fmt::print(stderr, "{}", kClear);
}

void Progress::show(const app::WorkProgress& now) {
  const std::lock_guard lock(mutex_);
  now_ = now;
  shown_at_ = seconds_now();
  const double elapsed = shown_at_ - begun_;
  if (now.share > 0) note_.maybe(elapsed, elapsed / now.share, shown_ ? kClear : "");
  if (shown_at_ - drawn_at_ >= kBetweenDraws) draw();
}

/// One long simulation among few shows that it goes on.
void Progress::tick() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, std::chrono::seconds{1}, [this] { return over_; })) draw();
}

void Progress::draw() {
  const double elapsed = seconds_now() - begun_;
  if (!terminal_ || elapsed < 1.0 || now_.total == 0) return;
  shown_ = true;
  drawn_at_ = begun_ + elapsed;
  const auto filled = static_cast<std::size_t>(30 * now_.share);
  const double all = now_.share > 0 ? (shown_at_ - begun_) / now_.share : 0;
  fmt::print(stderr, "\r{} [{:<30}] {} of {}{}, {:.0f} s{}\033[K", what_, std::string(filled, '#'),
             now_.done, now_.total, now_.part.empty() ? "" : ", " + now_.part, elapsed,
             estimate_of(all - elapsed));
  std::fflush(stderr);
}

PhaseLine::PhaseLine(std::string command, std::string advice)
    : command_{std::move(command)},
      note_{std::move(advice)},
      begun_{seconds_now()},
      terminal_{isatty(STDERR_FILENO) == 1} {
  if (terminal_) ticker_ = std::thread([this] { tick(); });
}

PhaseLine::~PhaseLine() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  if (shown_) fmt::print(stderr, "{}", kClear);
}

void PhaseLine::show(const app::Phase& phase) {
  const std::lock_guard lock(mutex_);
  const bool first = phase_.share <= 0 || phase.part != phase_.part ||
                     (!phase.name.empty() && phase.name != phase_.name);
  const double now = seconds_now();
  std::string name = phase.name.empty() ? phase_.name : phase.name;
  phase_ = phase;
  phase_.name = std::move(name);
  if (first)
    left_.begin(now, phase_.share);
  else
    left_.add(now, phase_.share);
  if (const auto left = left_.seconds())
    note_.maybe(now - begun_, now - begun_ + *left, shown_ ? kClear : "");
}

void PhaseLine::tick() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, std::chrono::seconds{1}, [this] { return over_; })) draw();
}

void PhaseLine::draw() {
  if (phase_.name.empty()) return;
  const double now = seconds_now();
  shown_ = true;
  fmt::print(stderr, "\r{}\033[K", phase_text(command_, phase_, now - begun_, left_.seconds()));
  std::fflush(stderr);
}

std::string phase_text(const std::string& command, const app::Phase& phase, double elapsed,
                       std::optional<double> left) {
  std::string out = fmt::format("{}: {}", command, phase.name);
  if (!phase.part.empty()) out += ": " + phase.part;
  if (phase.share > 0) out += fmt::format(", {:.0f} % done", 100 * phase.share);
  if (!phase.detail.empty()) out += ", " + phase.detail;
  out += fmt::format(", {:.0f} s", elapsed);
  return left ? out + estimate_of(*left) : out;
}

app::OnPhase phase_line(std::string_view command, std::string_view advice) {
  if (Host* to = host()) return [to](const app::Phase& phase) { to->show(phase); };
  return [line = std::make_shared<PhaseLine>(std::string{command}, std::string{advice})](
             const app::Phase& phase) { line->show(phase); };
}

app::OnProgress progress_line(std::string_view what, std::string_view advice) {
  if (Host* to = host()) return [to](const app::WorkProgress& now) { to->show(now); };
  return [what = std::string{what}, advice = std::string{advice},
          line = std::make_shared<std::optional<Progress>>()](const app::WorkProgress& now) {
    if (now.done == 0 && !line->has_value()) line->emplace(what, advice);
    if (line->has_value()) line->value().show(now);
    if (now.done == now.total) line->reset();
  };
}

}  // namespace lockstep::cli
