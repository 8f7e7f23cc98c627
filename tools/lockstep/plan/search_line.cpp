#include "tools/lockstep/plan/search_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace lockstep::cli {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

SearchLine::SearchLine() : begun_{seconds_now()}, terminal_{isatty(STDERR_FILENO) == 1} {}

void SearchLine::show(const SearchProgress& progress) {
  const double now = seconds_now();
  if (!terminal_ || now - begun_ < 1 || now - drawn_ < 0.25) return;
  drawn_ = now;
  shown_ = true;
  std::string best;
  if (progress.incumbent) best = fmt::format(", best {:.4g}", *progress.incumbent);
  if (progress.incumbent && progress.gap)
    best += fmt::format(", gap {:.2f} %", 100 * *progress.gap);
  std::string left;
  if (progress.left_s) left = fmt::format(", about {:.0f} s left", *progress.left_s);
  fmt::print(stderr, "\rplan: {} of {} points {}, {} simulated{}, {:.0f} s{}\033[K",
             progress.enumerated ? progress.decided : progress.bounded, progress.points,
             progress.enumerated ? "decided" : "bounded", progress.simulated, best, now - begun_,
             left);
  std::fflush(stderr);
}

void SearchLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace lockstep::cli
