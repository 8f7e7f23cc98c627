#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/did_you_mean.hpp"
#include "tools/app/inputs/shipped_or_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/help/algorithm_help.hpp"
#include "tools/lockstep/help/key_help.hpp"
#include "tools/lockstep/help/words.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/parser/help_text.hpp"
#include "tools/lockstep/terminal/text_width.hpp"

namespace lockstep::cli {

namespace {

const CommandInfo* find_command(const CommandInfo& program, const std::vector<std::string>& words) {
  const CommandInfo* at = &program;
  for (const std::string& word : words) {
    const CommandInfo* next = nullptr;
    for (const CommandInfo& each : at->commands)
      if (each.name == word) next = &each;
    if (next == nullptr) return nullptr;
    at = next;
  }
  return at;
}

std::string indented(std::string_view text, std::size_t width) {
  std::string out;
  for (const std::string& line : wrapped(std::string{text}, width > 22 ? width - 2 : 20))
    out += "  " + line + "\n";
  return out;
}

std::string text_of(const Word& word, std::size_t width) {
  std::string out = fmt::format("{}\n{}", word.name, indented(word.text, width));
  if (!word.formula.empty()) out += indented(word.formula, width);
  out += indented(fmt::format("see also: {}", word.see_also), width);
  return out;
}

std::string markdown_of(const Word& word) {
  std::string out = fmt::format("### {}\n\n{}\n", word.name, word.text);
  if (!word.formula.empty()) out += fmt::format("\n    {}\n", word.formula);
  return out + fmt::format("\nSee also: {}.\n", word.see_also);
}

std::string text_of(const KeyHelp& key, std::size_t width) {
  std::string out = key.path + "\n";
  for (const std::string& line : lines_of(key)) out += indented(line, width);
  return out;
}

std::string markdown_of(const KeyHelp& key) {
  return fmt::format("### {}\n\n{}\n", key.path, fmt::join(lines_of(key), "\n\n"));
}

std::string all_in_markdown() {
  std::string out;
  for (const WordTopic& topic : word_topics()) {
    std::string title{topic.name};
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    out += fmt::format("{}## {}\n", out.empty() ? "" : "\n", title);
    for (const Word& word : topic.words) out += "\n" + markdown_of(word);
  }
  return out;
}

/// Commands with their summaries, then the names of all words by topic.
std::string contents(const CommandInfo& program, std::size_t width) {
  std::string out = "Commands:\n" + command_list(program, width);
  for (const WordTopic& topic : word_topics()) {
    std::vector<std::string_view> names;
    for (const Word& word : topic.words) names.push_back(word.name);
    std::string title{topic.name};
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    out +=
        fmt::format("\n{}:\n{}", title, indented(fmt::format("{}", fmt::join(names, ", ")), width));
  }
  return out + "\n" +
         indented(
             "lockstep help WORD explains a command, a word or a key of a scenario (parallel.tp).",
             width)
             .substr(2);
}

/// "h100 is in the list of devices; ..."; nothing if no shipped config is called so.
void refuse_config(const std::string& name) {
  for (const char* kind : {"devices", "clusters", "models", "scenarios", "stacks", "precisions"})
    if (app::shipped_or_file(name, kind))
      throw UsageError(fmt::format("no word \"{}\", but one of the {}: `lockstep list {} {}`", name,
                                   kind, kind, name));
}

/// "no entry for "buswb"; did you mean "busbw"?"
[[noreturn]] void refuse(const CommandInfo& program, const std::string& name) {
  refuse_config(name);
  std::vector<std::string_view> all;
  for (const CommandInfo& each : program.commands) all.emplace_back(each.name);
  for (const WordTopic& topic : word_topics())
    for (const Word& word : topic.words) all.push_back(word.name);
  const std::string message = fmt::format("no help on \"{}\"", name);
  if (const auto meant = did_you_mean(name, all))
    throw UsageError(fmt::format("{}; did you mean \"{}\"?", message, *meant));
  throw UsageError(fmt::format("{}; `lockstep help` lists commands and words", message));
}

std::vector<Cell> row_of(std::string_view topic, const Word& word) {
  return {Cell{std::string{word.name}}, Cell{std::string{topic}}, Cell{std::string{word.text}},
          Cell{std::string{word.formula}}, Cell{std::string{word.see_also}}};
}

std::vector<Cell> row_of(const KeyHelp& key) {
  return {Cell{key.path}, Cell{std::string{"key"}},
          Cell{fmt::format("{}", fmt::join(lines_of(key), "; "))}, Cell{}, Cell{}};
}

/// Entries for programs: one, or all of them and the commands.
Report entries(const CommandInfo& program, const std::vector<std::string>& words) {
  Report out;
  out.schema = "lockstep.help/1";
  out.config = "{}";
  out.columns = {{"name", "name", ""},
                 {"topic", "topic", ""},
                 {"text", "text", ""},
                 {"formula", "formula", ""},
                 {"see_also", "see also", ""}};
  Section section;
  const std::string name = fmt::format("{}", fmt::join(words, " "));
  const CommandInfo* command = words.empty() ? nullptr : find_command(program, words);
  for (const CommandInfo& each : program.commands)
    if (words.empty() || &each == command)
      section.rows.push_back(
          {Cell{each.name}, Cell{std::string{"command"}}, Cell{each.summary}, Cell{}, Cell{}});
  for (const WordTopic& topic : word_topics())
    for (const Word& word : topic.words)
      if (words.empty() || (command == nullptr && &word == find_word(name)))
        section.rows.push_back(row_of(topic.name, word));
  if (section.rows.empty() && command != nullptr)
    section.rows.push_back({Cell{command->path}, Cell{std::string{"command"}},
                            Cell{command->summary}, Cell{}, Cell{}});
  if (section.rows.empty())
    if (const auto key = find_key_help(name)) section.rows.push_back(row_of(*key));
  if (section.rows.empty())
    if (const auto algorithm = find_algorithm_help(name))
      section.rows.push_back({Cell{algorithm->name}, Cell{std::string{"algorithm"}},
                              Cell{algorithm->text}, Cell{algorithm->formula},
                              Cell{algorithm->see_also}});
  if (section.rows.empty()) refuse(program, name);
  out.sections.push_back(std::move(section));
  return out;
}

std::string explain_words(const CommandInfo& program, const std::vector<std::string>& words,
                          const OutputStyle& style) {
  const bool markdown = style.format == Format::md;
  if (words.empty()) return markdown ? all_in_markdown() : contents(program, style.width);
  if (const CommandInfo* command = find_command(program, words))
    return help_text(*command, style.width);
  const std::string name = fmt::format("{}", fmt::join(words, " "));
  const Word* word = find_word(name);
  auto key = find_key_help(name);
  if (word == nullptr && !key) {
    const auto algorithm = find_algorithm_help(name);
    if (!algorithm) refuse(program, name);
    const Word as_word{algorithm->name, algorithm->text, algorithm->formula, algorithm->see_also};
    return markdown ? markdown_of(as_word) : text_of(as_word, style.width);
  }
  if (word != nullptr && key && !key->asked.empty()) key.reset();  // the word is Lockstep's own
  std::string out;
  if (word != nullptr) out += markdown ? markdown_of(*word) : text_of(*word, style.width);
  if (word != nullptr && key) out += "\n";
  if (key) out += markdown ? markdown_of(*key) : text_of(*key, style.width);
  return out;
}

}  // namespace

void add_help(const Command& app) {
  struct Options {
    std::vector<std::string> words;
    OutputStyle style;
  };
  const Command command =
      app.add_subcommand("help", "Explain a command, a column, a concept or a key of a scenario");
  const auto given = std::make_shared<Options>();
  command
      ->add_option("word", given->words,
                   "Command, column, concept, key of a scenario such as parallel.tp, or what "
                   "another tool calls it; none: a list of all")
      ->type_name("WORD");
  add_format(*command, given->style.format);
  given->style.width = terminal_width();
  command->footer(
      "--format md, json or csv without a word prints every entry.\n\n"
      "Examples:\n"
      "  lockstep help\n"
      "  lockstep help busbw\n"
      "  lockstep help max-min fair share\n"
      "  lockstep help parallel.vpp\n"
      "  lockstep help gradient_accumulation_steps");
  command->resets(given);
  command->callback([given, app] {
    const Format format = given->style.format;
    if (format == Format::json || format == Format::csv) {
      print(render(entries(app.describe(), given->words), format));
      return;
    }
    print(explain_words(app.describe(), given->words, given->style));
  });
}

}  // namespace lockstep::cli
