#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/progress.hpp"
#include "tools/figures/frame.hpp"

/// What a program that runs commands within itself, such as the Python module, gets instead of a
/// terminal.
namespace lockstep::app {
struct TrainingStepResult;
}

namespace lockstep::cli {

/// What a command found, next to what it prints.
struct Findings {
  std::function<std::string()> page{};  // of --report; empty: the command has none
  std::vector<std::string> figures{};   // kinds
  /// As SVG.
  std::function<std::string(const std::string& kind, const figures::FigureStyle& style)> figure{};
  std::shared_ptr<const app::TrainingStepResult> step{};  // of `run`
};

/// Thrown out of a command that its host has stopped. Not an Error: nothing below reports it as a
/// problem of what it simulates.
class Stopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "stopped"; }
};

class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  /// For stdout and for stderr: a whole output, a note without its end of line.
  virtual void print(const std::string& text) = 0;
  /// For stdout as well, for who may never read it: `make` keeps what it needs, and reads no files.
  virtual void print_later(std::function<std::string()> make) {
    print(std::exchange(make, nullptr)());
  }
  virtual void note(const std::string& text) = 0;
  virtual void keep(Findings findings) = 0;
  virtual void keep_later(std::function<Findings()> find) { keep(std::exchange(find, nullptr)()); }
  /// Time of a command's own work, see WorkTime.
  virtual void add_work(double seconds) = 0;

  /// These are called from several threads. The first two throw Stopped once it is stopped.
  void show(const app::WorkProgress& progress);
  void show(const app::Phase& phase);
  [[nodiscard]] virtual bool is_stopped() const = 0;

 protected:
  virtual void take(const app::WorkProgress& progress) = 0;
  virtual void take(const app::Phase& phase) = 0;
};

/// That of this thread; null: none, the command line has its terminal.
[[nodiscard]] Host* host();

/// Makes a host that of this thread.
class HostScope {
 public:
  explicit HostScope(Host& host);
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;
  ~HostScope();
};

/// A note to the user, on stderr or to the host: "lockstep: note: ..." is the whole line.
void print_note(const std::string& line);

/// While it lives, the command does what it is for: its options are read, its output is not yet
/// made. For the host, which compares.
class WorkTime {
 public:
  WorkTime();
  WorkTime(const WorkTime&) = delete;
  WorkTime& operator=(const WorkTime&) = delete;
  ~WorkTime();

 private:
  Host* host_;
  std::chrono::steady_clock::time_point begun_{};
};

/// Executes `work` as the command's own.
template <class Work>
auto timed(const Work& work) {
  const WorkTime time;
  return work();
}

/// Gives findings to the host, if there is one.
void keep(const std::function<Findings()>& findings);

/// The same, when it first asks for them, if ever: `find` keeps what it needs.
void keep_later(std::function<Findings()> find);

}  // namespace lockstep::cli
