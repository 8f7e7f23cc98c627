#include "tools/python/brief_call.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "tools/lockstep/command_line.hpp"

namespace lockstep::python {

namespace {

using Clock = std::chrono::steady_clock;

// Together with what a command does between two reports, below the tenth of a second in which
// ctrl-C is to be answered.
constexpr double kBrief = 0.03;  // s
constexpr std::chrono::milliseconds kLongest{50};

/// Takes what a command prints, and gives it up if it takes long.
class BriefHost final : public cli::Host {
 public:
  explicit BriefHost(Answer& answer) : answer_{answer} {}

  void print(const std::string& text) override {
    make_rest();
    answer_.text += text;
  }
  void print_later(std::function<std::string()> make) override {
    make_rest();
    // Files of the call end with it.
    if (answer_.text.empty() && answer_.documents.empty())
      answer_.rest = std::move(make);
    else
      answer_.text += make();
  }
  void add_work(double seconds) override { answer_.work_s += seconds; }
  void note(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    answer_.notes.push_back(text);
  }
  void keep(cli::Findings findings) override {
    answer_.find = nullptr;
    answer_.findings = std::move(findings);
  }
  void keep_later(std::function<cli::Findings()> find) override { answer_.find = std::move(find); }
  [[nodiscard]] bool is_stopped() const override { return false; }

 protected:
  void take(const app::WorkProgress&) override { leave_if_late(); }
  void take(const app::Phase&) override { leave_if_late(); }

 private:
  void make_rest() {
    if (answer_.rest) answer_.text += std::exchange(answer_.rest, nullptr)();
  }
  void leave_if_late() const {
    if (Clock::now() - begun_ > kLongest) throw cli::Stopped();
  }

  Answer& answer_;
  std::mutex mutex_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace

bool is_brief(double seconds) {
  return seconds > 0 && seconds < kBrief;
}

bool writes_files(const std::string& word) {
  const auto& options = writing_options();
  return word.starts_with("--") &&
         std::any_of(options.begin(), options.end(),
                     [&](const std::string& each) { return word.starts_with(each); });
}

const std::vector<std::string>& writing_options() {
  static const std::vector<std::string> kOptions{"--append",         "--output", "--plot",
                                                 "--replicate-rows", "--report", "--residuals",
                                                 "--store",          "--trace"};
  return kOptions;
}

bool finish_briefly(Answer& answer) {
  std::vector<std::unique_ptr<MemoryFile>> files;
  for (const auto& [name, text] : answer.documents)
    files.push_back(std::make_unique<MemoryFile>(name, text));
  BriefHost host(answer);
  const cli::HostScope scope{host};
  try {
    answer.command_s = cli::run_command(answer.words);
  } catch (const cli::Stopped&) {
    return false;
  }
  return true;
}

}  // namespace lockstep::python
