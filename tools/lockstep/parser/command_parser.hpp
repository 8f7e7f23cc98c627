#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tools/lockstep/parser/command_info.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// The parser of the command line; the only header that hides CLI11.
namespace lockstep::cli {

class DirectWords;

/// An option or positional argument. A handle: copies refer to the same one.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_{option} {}
  Option required(bool is = true) const;
  Option type_name(const std::string& name) const;
  Option default_str(const std::string& text) const;
  /// Shows the current value as the default.
  Option capture_default_str() const;
  Option delimiter(char separator) const;
  Option allow_extra_args(bool are) const;

  const Option* operator->() const { return this; }
  [[nodiscard]] CLI::Option* get() const { return option_; }

 private:
  CLI::Option* option_;
};

/// The variable that an option sets.
using OptionTarget = std::variant<std::string*, std::int64_t*, bool*, std::vector<std::string>*,
                                  std::vector<std::pair<std::string, std::string>>*,
                                  std::function<void(const std::string&)>>;

/// What a parser needs to be used more than once.
struct ParserMemory {
  std::map<const CLI::Option*, OptionTarget> targets{};
  const DirectWords* direct = nullptr;  // has the options that are given, if not null
  std::map<const CLI::App*, std::function<void()>> actions{};
  std::vector<std::function<void()>> resets{};
};

/// A command or subcommand. A handle: copies refer to the same one. Variables bound to options must
/// outlive parsing and the callbacks.
class Command {
 public:
  Command(CLI::App* app, ParserMemory* memory) : app_{app}, memory_{memory} {}

  /// `names`: "--size,-b", or "file" for a positional argument.
  Option add_option(const std::string& names, std::string& value, const std::string& help) const;
  Option add_option(const std::string& names, std::int64_t& value, const std::string& help) const;
  /// Repeatable.
  Option add_option(const std::string& names, std::vector<std::string>& values,
                    const std::string& help) const;
  /// Repeatable, with two values each time.
  Option add_option(const std::string& names,
                    std::vector<std::pair<std::string, std::string>>& values,
                    const std::string& help) const;
  /// Calls `take` with the argument; passes on its exceptions.
  Option add_option(const std::string& names, const std::function<void(const std::string&)>& take,
                    const std::string& help) const;
  Option add_flag(const std::string& names, bool& value, const std::string& help) const;
  [[nodiscard]] Option get_option(const std::string& name) const;
  void remove_option(Option option) const;
  /// Number of times the option was given.
  [[nodiscard]] std::size_t count(const std::string& name) const;
  /// What was given, as words of a command line that give the same: options in the order in which
  /// they were added, without those named.
  [[nodiscard]] std::vector<std::string> given_words(const std::vector<std::string>& without) const;

  /// Heading in --help for options added from here on; "": the default heading.
  void group(const std::string& name) const;
  Command add_subcommand(const std::string& name, const std::string& help) const;
  void require_subcommand(int count) const;
  void footer(const std::string& text) const;
  /// The command and its subcommands, without entries hidden from --help.
  [[nodiscard]] CommandInfo describe() const;
  /// Called after all options are parsed.
  void callback(std::function<void()> act) const;
  /// The variables that options are bound to, with all that these set: they get back their present
  /// values before the parser is used again.
  template <class Values>
  void resets(const std::shared_ptr<Values>& values) const {
    memory_->resets.push_back([values, initial = *values] { *values = initial; });
  }

  const Command* operator->() const { return this; }
  const Command& operator*() const { return *this; }

 private:
  /// Also set without CLI11.
  [[nodiscard]] Option bound(CLI::Option* option, OptionTarget target) const;

  CLI::App* app_;
  ParserMemory* memory_;
};

/// The command line as a whole.
class CommandParser {
 public:
  CommandParser(const std::string& name, const std::string& summary, const std::string& version,
                const std::string& footer);
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;
  ~CommandParser();

  [[nodiscard]] Command root() const;
  /// Parses the arguments and runs the callbacks. Returns the text of --help or --version, else
  /// nothing. Throws UsageError for invalid arguments; passes on exceptions of callbacks.
  [[nodiscard]] std::string parse(int argc, char** argv) const;

  /// For a parser that is used again and again: the action of a command without the name of the
  /// program before it, as DirectWords takes it. Null: parse() is to be asked. Throws UsageError.
  [[nodiscard]] const std::function<void()>* action_of(const std::vector<std::string>& words);
  /// Before it is used again. False: its commands have not named their variables, see resets().
  [[nodiscard]] bool reset() const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<ParserMemory> memory_;
  std::unique_ptr<DirectWords> direct_;
};

}  // namespace lockstep::cli
