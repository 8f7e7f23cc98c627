#include "tools/lockstep/output/interrupt.hpp"

#include <csignal>

#include "tools/lockstep/host/host.hpp"

namespace lockstep::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (host() != nullptr) return;
  interrupted = 0;
  std::signal(SIGINT, note_interrupt);
}

InterruptGuard::~InterruptGuard() {
  if (host() == nullptr) std::signal(SIGINT, SIG_DFL);
}

std::function<bool()> InterruptGuard::asked_to_stop() {
  if (const Host* of = host()) return [of] { return of->is_stopped(); };
  return [] { return interrupted != 0; };
}

bool was_interrupted() {
  return InterruptGuard::asked_to_stop()();
}

}  // namespace lockstep::cli
