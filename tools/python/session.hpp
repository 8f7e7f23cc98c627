#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/config/json/memory_file.hpp"
#include "tools/lockstep/host/host.hpp"

/// Commands executed for Python. Nothing here touches Python, so that none of it needs the GIL.
namespace lockstep::python {

/// How far a command is.
struct ProgressEvent {
  std::string phase{};    // "simulating the step"; empty: of a command without phases
  std::string part{};     // of the phase, or in work
  std::string detail{};   // "5.1 s simulated"
  std::size_t done = 0;   // parts
  std::size_t total = 0;  // 0: not counted
  double share = 0;       // of the expected time, or of the phase; 0: not known
};

/// Names and texts of files in memory.
using Documents = std::vector<std::pair<std::string, std::string>>;

/// What a command printed and found.
struct Answer {
  std::string text{};                   // of stdout
  std::function<std::string()> rest{};  // makes the text; empty: it is there
  std::vector<std::string> notes{};     // of stderr, a line each
  cli::Findings findings{};
  std::function<cli::Findings()> find{};  // makes the findings; empty: they are there
  std::vector<std::string> words{};       // of the command
  Documents documents{};
  double work_s = 0;     // of the command's own work
  double command_s = 0;  // with its options and its text, unless `rest` makes that; 0: not known
};

/// A command, or other work of one, on a thread of its own, which owns all that it uses: who waits
/// for it may leave at any time, and it ends by itself.
class Session final : public cli::Host, public std::enable_shared_from_this<Session> {
 public:
  using Work = std::function<void(Answer&)>;

  /// `documents` can be read as files while it lives. `watched`: keeps events for drain().
  Session(Work work, const Documents& documents, bool watched);
  ~Session() override;

  void start();
  /// Whether the command has ended; returns earlier if there are events.
  [[nodiscard]] bool wait(std::chrono::milliseconds most);
  /// Asks the command to end; it does so at its next report of progress.
  void stop() { stopped_ = true; }
  [[nodiscard]] std::deque<ProgressEvent> drain();
  /// Of a command that has ended: its error, if any, and its answer, also next to an error.
  [[nodiscard]] std::exception_ptr error() const { return error_; }
  [[nodiscard]] Answer& answer() { return answer_; }

  void print(const std::string& text) override;
  void note(const std::string& text) override;
  void keep(cli::Findings findings) override;
  void add_work(double seconds) override { answer_.work_s += seconds; }
  [[nodiscard]] bool is_stopped() const override { return stopped_; }

 protected:
  void take(const app::WorkProgress& progress) override;
  void take(const app::Phase& phase) override;

 private:
  void run() noexcept;
  void add(ProgressEvent event);

  Work work_;
  std::vector<std::unique_ptr<MemoryFile>> files_;
  const bool watched_;
  std::thread thread_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::string phase_;  // the last that was named
  std::deque<ProgressEvent> events_;
  std::exception_ptr error_;
  Answer answer_;
};

/// Where a command still runs when the process ends, skips the destructors of what it uses. To be
/// called once.
void leave_running_commands_at_exit();

}  // namespace lockstep::python
