#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

struct FinishedProcess {
  bool started = false;  // false: there is no such program
  int status = 0;        // exit status; 128 + N if signal N ended it
  std::string out;
  std::string err;
};

/// Runs a program, found in PATH, with `input` as its standard input: no shell, no files.
/// Throws Refusal if the system has no pipes left.
[[nodiscard]] FinishedProcess run_process(const std::vector<std::string>& command,
                                          const std::string& input);

/// The first line that is not empty; "no output" if all are.
[[nodiscard]] std::string first_line(const std::string& text);

}  // namespace lockstep::cli
