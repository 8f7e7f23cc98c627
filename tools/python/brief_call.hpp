#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/python/session.hpp"

namespace lockstep::python {

/// Options that write files: a command with one of them is not begun twice.
[[nodiscard]] const std::vector<std::string>& writing_options();

/// How long commands take, from which follows where the next call of one goes on: one that was
/// brief in the thread of its caller, which costs microseconds, another on a thread of its own,
/// which costs a tenth of a millisecond. Needs the GIL.
class Durations {
 public:
  [[nodiscard]] bool is_brief(const std::vector<std::string>& words) const;
  void note(const std::vector<std::string>& words, double seconds);

 private:
  std::map<std::string, double> last_{};
};

/// Executes a command in this thread; false: it takes longer than it did, and was given up at a
/// report of its progress. Nothing interrupts it before. Passes on its exceptions, with what it had
/// printed in `answer`.
[[nodiscard]] bool finish_briefly(const std::vector<std::string>& words,
                                  const Session::Documents& documents, Answer& answer);

}  // namespace lockstep::python
