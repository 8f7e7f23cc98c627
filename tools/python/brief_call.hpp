#pragma once

#include <string>
#include <vector>

#include "tools/python/session.hpp"

namespace lockstep::python {

/// Whether a command that took as long last time goes on in the thread of its caller, which costs
/// microseconds; another has a thread of its own, which costs a tenth of a millisecond.
[[nodiscard]] bool is_brief(double seconds);

/// Options that write files: a command with one of them is not begun twice.
[[nodiscard]] const std::vector<std::string>& writing_options();
[[nodiscard]] bool writes_files(const std::string& word);

/// Executes the command of `answer` in this thread; false: it takes longer than it did, and was
/// given up at a report of its progress. Nothing interrupts it before. Passes on its exceptions,
/// with what it had printed in `answer`.
[[nodiscard]] bool finish_briefly(Answer& answer);

}  // namespace lockstep::python
