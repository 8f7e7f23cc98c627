#include "tools/python/session.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace lockstep::python {

namespace {

/// Of a watched command that reports faster than anybody looks.
constexpr std::size_t kMostEvents = 256;

std::atomic<int> running = 0;

void leave(int status, void*) {
  if (running == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

Session::Session(Work work, const Documents& documents, bool watched)
    : work_{std::move(work)}, watched_{watched} {
  for (const auto& [name, text] : documents)
    files_.push_back(std::make_unique<MemoryFile>(name, text));
}

Session::~Session() {
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();  // its own end, after everybody left
  else
    thread_.join();
}

void Session::start() {
  ++running;
  thread_ = std::thread([self = shared_from_this()]() mutable {
    self->run();
    self.reset();
    --running;
  });
}

void Session::run() noexcept {
  try {
    const cli::HostScope scope{*this};
    work_(answer_);
  } catch (...) {
    error_ = std::current_exception();
  }
  files_.clear();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

bool Session::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [this] { return ended_ || !events_.empty(); });
  return ended_;
}

std::deque<ProgressEvent> Session::drain() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

void Session::print(const std::string& text) {
  answer_.text += text;
}

void Session::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  answer_.notes.push_back(text);
}

void Session::keep(cli::Findings findings) {
  answer_.findings = std::move(findings);
}

void Session::take(const app::WorkProgress& progress) {
  if (watched_) add({{}, progress.part, {}, progress.done, progress.total, progress.share});
}

void Session::take(const app::Phase& phase) {
  if (!watched_) return;
  std::string name = phase.name;
  {
    const std::lock_guard lock(mutex_);
    if (!name.empty()) phase_ = name;
    name = phase_;
  }
  add({name, phase.part, phase.detail, 0, 0, phase.share});
}

void Session::add(ProgressEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (events_.size() >= kMostEvents) events_.pop_front();
    events_.push_back(std::move(event));
  }
  changed_.notify_all();
}

void leave_running_commands_at_exit() {
  on_exit(leave, nullptr);
}

}  // namespace lockstep::python
