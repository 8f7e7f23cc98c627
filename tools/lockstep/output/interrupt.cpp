#include "tools/lockstep/output/interrupt.hpp"

#include <csignal>

namespace lockstep::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = 0;
  std::signal(SIGINT, note_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
}

bool was_interrupted() {
  return interrupted != 0;
}

}  // namespace lockstep::cli
