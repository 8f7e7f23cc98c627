#include "tools/lockstep/host/host.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace lockstep::cli {

namespace {

thread_local Host* current = nullptr;

}  // namespace

void Host::show(const app::WorkProgress& progress) {
  if (is_stopped()) throw Stopped();
  take(progress);
}

void Host::show(const app::Phase& phase) {
  if (is_stopped()) throw Stopped();
  take(phase);
}

Host* host() {
  return current;
}

HostScope::HostScope(Host& host) {
  current = &host;
}

HostScope::~HostScope() {
  current = nullptr;
}

void print_note(const std::string& line) {
  if (Host* to = host()) return to->note(line);
  fmt::print(stderr, "{}\n", line);
}

void keep(const std::function<Findings()>& findings) {
  if (Host* to = host()) to->keep(findings());
}

}  // namespace lockstep::cli
