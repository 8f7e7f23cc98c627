#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// Sets the variables of a parser's options, in a microsecond: by their full names, without CLI11's
/// search for what a word may be.
class DirectWords {
 public:
  using Targets = std::map<const CLI::Option*, OptionTarget>;

  /// `targets` must outlive it.
  DirectWords(CLI::App& root, const Targets& targets);

  /// Sets the options of one command by "run", "--nic=200G", "--classes", "--set-rank", "3",
  /// "compute=0.8", "--", "pipeline-1f1b". Returns the command; null: there is more to say about
  /// these words, such as an error, and parse() says it. Values are never empty. Passes on
  /// exceptions of options. `words` must live while the command is executed.
  [[nodiscard]] CLI::App* set(const std::vector<std::string>& words);

  /// As Command has it, of what was set last.
  [[nodiscard]] std::size_t count(const CLI::App* command, const std::string& name) const;
  [[nodiscard]] std::vector<std::string> given_words(const std::vector<std::string>& without) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Known {
    const CLI::Option* option = nullptr;
    const OptionTarget* target = nullptr;  // null: CLI11 alone knows
    std::size_t number = 0;                // in the order of the command's options
    int values = 1;                        // words after it; 0: a flag
    bool repeatable = false;
    std::string flag{};  // what the name of a flag means: "true"
  };
  struct Given {
    const Known* option = nullptr;
    std::string_view value{};
  };
  struct Options {
    std::unordered_map<std::string, Known, Hash, std::equal_to<>> named{};
    std::vector<Known> positional{};
    std::vector<std::size_t> required{};  // their numbers
    std::map<std::string, CLI::App*, std::less<>> commands{};
  };
  using Words = std::vector<std::string>::const_iterator;

  void add(CLI::App& command);
  /// False: only CLI11 knows what the value is.
  [[nodiscard]] bool give(const Known& to, std::string_view value);
  /// Takes the words that begin with an option. False: they are not as above.
  [[nodiscard]] bool take_named(const Options& options, Words& at, Words end);
  [[nodiscard]] bool take_positional(const Options& options, Words at, Words end);
  /// Sets what was given, in the order of the options. False: CLI11 has a complaint.
  [[nodiscard]] bool finish(const Options& options);
  /// One value of an option, `index` of those given. False: it is none.
  [[nodiscard]] static bool assign(const Given& given, std::size_t index);

  CLI::App& root_;
  const Targets& targets_;
  std::map<const CLI::App*, Options> options_;
  std::vector<Given> given_;
};

}  // namespace lockstep::cli
