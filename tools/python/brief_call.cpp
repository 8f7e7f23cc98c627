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

  void print(const std::string& text) override { answer_.text += text; }
  void note(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    answer_.notes.push_back(text);
  }
  void keep(cli::Findings findings) override { answer_.findings = std::move(findings); }
  [[nodiscard]] bool is_stopped() const override { return false; }

 protected:
  void take(const app::WorkProgress&) override { leave_if_late(); }
  void take(const app::Phase&) override { leave_if_late(); }

 private:
  void leave_if_late() const {
    if (Clock::now() - begun_ > kLongest) throw cli::Stopped();
  }

  Answer& answer_;
  std::mutex mutex_;
  Clock::time_point begun_ = Clock::now();
};

bool writes_files(const std::string& word) {
  const auto& options = writing_options();
  return word.starts_with("--") &&
         std::any_of(options.begin(), options.end(),
                     [&](const std::string& each) { return word.starts_with(each); });
}

}  // namespace

const std::vector<std::string>& writing_options() {
  static const std::vector<std::string> kOptions{"--append",         "--output", "--plot",
                                                 "--replicate-rows", "--report", "--residuals",
                                                 "--store",          "--trace"};
  return kOptions;
}

bool Durations::is_brief(const std::vector<std::string>& words) const {
  const auto last = last_.find(words.front());
  return last != last_.end() && last->second < kBrief &&
         std::none_of(words.begin(), words.end(), writes_files);
}

void Durations::note(const std::vector<std::string>& words, double seconds) {
  if (seconds > 0) last_[words.front()] = seconds;
}

bool finish_briefly(const std::vector<std::string>& words, const Session::Documents& documents,
                    Answer& answer) {
  std::vector<std::unique_ptr<MemoryFile>> files;
  for (const auto& [name, text] : documents)
    files.push_back(std::make_unique<MemoryFile>(name, text));
  BriefHost host(answer);
  const cli::HostScope scope{host};
  try {
    answer.work_s = cli::run_command(words);
  } catch (const cli::Stopped&) {
    return false;
  }
  return true;
}

}  // namespace lockstep::python
