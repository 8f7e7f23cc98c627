#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/did_you_mean.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/man/man_page.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

std::string complaint(const CommandInfo& at, const std::string& word) {
  std::vector<std::string_view> names;
  for (const CommandInfo& each : at.commands) names.push_back(each.name);
  const std::string text = fmt::format("unknown command \"{}\"", word);
  if (const auto meant = did_you_mean(word, names))
    return fmt::format("{}; did you mean \"{}\"?", text, *meant);
  return fmt::format("{}; see `{} --help`", text, at.path);
}

const CommandInfo& find_command(const CommandInfo& program, const std::vector<std::string>& words) {
  const CommandInfo* at = &program;
  for (const std::string& word : words) {
    const CommandInfo* next = nullptr;
    for (const CommandInfo& each : at->commands)
      if (each.name == word) next = &each;
    if (next == nullptr) throw UsageError(complaint(*at, word));
    at = next;
  }
  return *at;
}

void write_pages(const CommandInfo& command, const std::filesystem::path& folder) {
  write_file((folder / (man_page_name(command) + ".1")).string(), man_page(command, kVersion));
  for (const CommandInfo& each : command.commands) write_pages(each, folder);
}

}  // namespace

void add_man(const Command& app) {
  struct Options {
    std::vector<std::string> words;
    std::string folder;
  };
  const Command command = app.add_subcommand("man", "Print the manual page of a command");
  const auto given = std::make_shared<Options>();
  command->add_option("command", given->words, "Command, such as collective or topology show")
      ->type_name("COMMAND");
  command
      ->add_option("-o,--output", given->folder,
                   "Existing folder to write the pages of all commands to, instead of printing one")
      ->type_name("FOLDER");
  command->footer(
      "An installed lockstep has its pages in place: man lockstep-collective. Without\n"
      "installation: lockstep man collective | man -l -\n\n"
      "Examples:\n"
      "  lockstep man\n"
      "  lockstep man topology show");
  command->resets(given);
  command->callback([given, app] {
    if (!given->folder.empty() && !given->words.empty())
      throw UsageError("--output writes the pages of all commands; leave out the command");
    const CommandInfo program = app.describe();
    const CommandInfo& chosen = find_command(program, given->words);
    if (given->folder.empty()) {
      print(man_page(chosen, kVersion));
    } else {
      write_pages(chosen, given->folder);
    }
  });
}

}  // namespace lockstep::cli
