#include "tools/lockstep/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/output.hpp"
#include "tools/lockstep/version.hpp"
#include "topologies/config/did_you_mean.hpp"

namespace lockstep::cli {

namespace {

/// The command that the words lead to, as far as they name one.
CLI::App* deepest_command(CLI::App& app) {
  CLI::App* at = &app;
  for (;;) {
    const auto chosen = at->get_subcommands();
    if (chosen.empty()) return at;
    at = chosen.front();
  }
}

std::vector<std::string> known_words(CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  }
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(sub->get_name());
  return out;
}

/// `"--algoritm" is no option of "collective"; did you mean "--algorithm"?`
std::string complaint_about(const std::string& word, CLI::App& command) {
  const auto words = known_words(command);
  const std::string name = word.substr(0, word.find('='));
  const std::string text = fmt::format(
      "\"{}\" is no {} of \"{}\"", name, name.rfind('-', 0) == 0 ? "option" : "argument or command",
      command.get_display_name().empty() ? "lockstep" : command.get_display_name());
  const std::vector<std::string_view> candidates(words.begin(), words.end());
  const auto meant = did_you_mean(name, candidates);
  if (meant && name.size() > 2)  // any letter is near to any other
    return fmt::format("{}; did you mean \"{}\"?", text, *meant);
  return text + "; --help lists what there is";
}

/// What is said instead of "collective is required" and "A subcommand is required".
std::string complaint_about_missing(const std::string& said, const CLI::App& command) {
  std::vector<std::string> commands;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(sub->get_name());
  if (!commands.empty())
    return fmt::format("expected a command: {}; --help tells more", fmt::join(commands, ", "));
  const std::string name = said.substr(0, said.find(' '));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr || !option->get_positional()) return said + "; --help lists what there is";
  return fmt::format("expected a {}: {}", name, option->get_description());
}

/// CLI11 says "--ranks: At Most 1 required but received 2" and
/// "--cluster: 1 required FILE missing".
std::string complaint_about_values(const std::string& said) {
  const std::string name = said.substr(0, said.find(':'));
  const bool missing = said.size() >= 7 && said.compare(said.size() - 7, 7, "missing") == 0;
  return fmt::format("{}: {}", name,
                     missing ? "a value is missing after it" : "given more than once");
}

/// CLI11 says "Could not convert: --to = x"; options of ours that it converts are whole numbers
/// and flags.
std::string complaint_about_conversion(const std::string& said, const CLI::App& command) {
  const std::size_t colon = said.find(": ");
  const std::size_t equals = said.find(" = ");
  if (colon == std::string::npos || equals == std::string::npos) return said;
  const std::string name = said.substr(colon + 2, equals - colon - 2);
  const CLI::Option* option = command.get_option_no_throw(name);
  const bool flag = option != nullptr && option->get_expected_min() == 0;
  return fmt::format("{}: expected {}, got \"{}\"", name, flag ? "no value" : "a whole number",
                     said.substr(equals + 3));
}

std::string explain(const CLI::ParseError& error, CLI::App& app) {
  CLI::App* command = deepest_command(app);
  const std::string said = error.what();
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (missing || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) return complaint_about(extras.front(), *command);
  }
  if (missing) return complaint_about_missing(said, *command);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return complaint_about_conversion(said, *command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return complaint_about_values(said);
  return said + "; --help lists what there is";
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app{
      "Simulates distributed training clusters: training steps and collectives, every "
      "transfer on every link."};
  app.name("lockstep");
  app.set_version_flag("--version", std::string{"lockstep "} + kVersion);
  app.require_subcommand(1);
  app.allow_extras(false);
  app.footer(
      "Examples:\n"
      "  lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 8 --algorithm "
      "ring -b 64M -e 64M\n"
      "  lockstep list algorithms\n\n"
      "Exit codes: 0 done, 1 the simulation says no, 2 something given is wrong, 3 a bug, 4 "
      "writing "
      "failed.");
  add_collective(app);
  add_topology(app);
  add_explain(app);
  add_complexity(app);
  add_schedule(app);
  add_replay(app);
  add_run(app);
  add_calibrate(app);
  add_list(app);
  add_validate(app);
  add_verify(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    if (dynamic_cast<const CLI::CallForVersion*>(&done) != nullptr) {
      print(std::string{done.what()} + "\n");
    } else {
      print(app.help());
    }
  } catch (const CLI::ParseError& error) {
    throw UsageError(explain(error, app));
  }
  return kDone;
}

}  // namespace lockstep::cli
