#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
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
  virtual void note(const std::string& text) = 0;
  virtual void keep(Findings findings) = 0;

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

/// Gives findings to the host, if there is one.
void keep(const std::function<Findings()>& findings);

}  // namespace lockstep::cli
