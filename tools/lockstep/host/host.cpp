#include "tools/lockstep/host/host.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

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

WorkTime::WorkTime() : host_{host()} {
  if (host_ != nullptr) begun_ = std::chrono::steady_clock::now();
}

WorkTime::~WorkTime() {
  if (host_ == nullptr) return;
  host_->add_work(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count());
}

void print_note(const std::string& line) {
  if (Host* to = host()) return to->note(line);
  fmt::print(stderr, "{}\n", line);
}

void keep(const std::function<Findings()>& findings) {
  if (Host* to = host()) to->keep(findings());
}

void keep_later(std::function<Findings()> find) {
  if (Host* to = host()) to->keep_later(std::move(find));
}

}  // namespace lockstep::cli
