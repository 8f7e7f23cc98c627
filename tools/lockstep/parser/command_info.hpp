#pragma once

#include <string>
#include <vector>

/// The commands and options of the parser as plain data, for completion and man pages.
namespace lockstep::cli {

struct OptionInfo {
  std::string positional;          // its name; empty for an option
  std::vector<std::string> names;  // "--size", "-b"; long names first; empty for a positional
  std::string help;
  std::string type;  // of its value, such as "FILE"; empty for a flag
  std::string default_text;
  std::string group;       // heading in the help
  std::size_t values = 1;  // words after it; 0 for a flag
  char delimiter = '\0';   // between several values in one word
  bool required = false;
  bool repeatable = false;

  [[nodiscard]] bool is_flag() const { return values == 0; }
  /// The name that speaks for it: the first long one, the positional's, else the first.
  [[nodiscard]] const std::string& name() const {
    return positional.empty() ? names.front() : positional;
  }
};

struct CommandInfo {
  std::string path;  // "lockstep topology show"
  std::string name;  // "show"
  std::string summary;
  std::string footer;
  std::vector<OptionInfo> options;  // in the order in which they were added
  std::vector<CommandInfo> commands;
};

}  // namespace lockstep::cli
