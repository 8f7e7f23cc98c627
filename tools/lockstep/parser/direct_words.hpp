#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep::cli {

/// Sets the options of a parser that is used again and again, in a few microseconds: by their full
/// names, without CLI11's search for what a word may be.
class DirectWords {
 public:
  explicit DirectWords(CLI::App& root);

  /// Sets the options of one command by "run", "--nic=200G", "--classes", "--set-rank", "3",
  /// "compute=0.8", "--", "pipeline-1f1b". Returns the command; null: there is more to say about
  /// these words, such as an error, and parse() says it. Values are never empty. Passes on
  /// exceptions of options.
  [[nodiscard]] CLI::App* set(const std::vector<std::string>& words);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Numbered {
    CLI::Option* option = nullptr;
    std::size_t number = 0;  // in the order of the command's options
  };
  struct Options {
    std::unordered_map<std::string, Numbered, Hash, std::equal_to<>> named{};
    std::vector<Numbered> positional{};
    std::vector<const CLI::Option*> required{};
    std::map<std::string, CLI::App*, std::less<>> commands{};
  };
  using Words = std::vector<std::string>::const_iterator;

  void add(CLI::App& command);
  void give(const Numbered& to, std::string value);
  /// Takes the words that begin with an option. False: they are not as above.
  [[nodiscard]] bool take_named(const Options& options, Words& at, Words end);
  [[nodiscard]] bool take_positional(const Options& options, Words at, Words end);
  /// What CLI11 does after the last word. False: it has a complaint.
  [[nodiscard]] bool finish(const Options& options);

  CLI::App& root_;
  std::map<const CLI::App*, Options> options_;
  std::vector<Numbered> given_;
};

}  // namespace lockstep::cli
