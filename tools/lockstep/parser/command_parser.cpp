#include "tools/lockstep/parser/command_parser.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/did_you_mean.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/direct_words.hpp"
#include "tools/lockstep/parser/help_text.hpp"
#include "tools/lockstep/parser/unknown_option.hpp"
#include "tools/lockstep/terminal/terminal.hpp"

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

/// The value behind the option that begins `extras`: "4" of "--tp=4" and of "--tp 4".
std::string value_behind(const std::vector<std::string>& extras) {
  const std::string& word = extras.front();
  if (const std::size_t equals = word.find('='); equals != word.npos)
    return word.substr(equals + 1);
  return extras.size() > 1 && extras[1].rfind('-', 0) != 0 ? extras[1] : std::string{};
}

/// `unknown option --algoritm for "collective"; did you mean "--algorithm"?`
std::string complaint_about(const std::vector<std::string>& extras, CLI::App& command) {
  const std::string& word = extras.front();
  const auto words = known_words(command);
  const std::string name = word.substr(0, word.find('='));
  const bool has_commands = !command.get_subcommands([](const CLI::App*) { return true; }).empty();
  const std::string of =
      command.get_display_name().empty() ? "lockstep" : command.get_display_name();
  const std::string text =
      name.rfind('-', 0) == 0
          ? fmt::format("unknown option {} for \"{}\"", name, of)
          : fmt::format("{} \"{}\" for \"{}\"",
                        has_commands ? "unknown command" : "unexpected argument", name, of);
  if (const auto instead = option_instead(command.get_name(), name, value_behind(extras)))
    return fmt::format("{}; use {}", text, *instead);
  if (const auto reason = option_reason(command.get_name(), name))
    return fmt::format("{}; {}", text, *reason);
  const std::vector<std::string_view> candidates(words.begin(), words.end());
  auto meant = did_you_mean(name, candidates);
  if (!meant && name.size() > 4) {  // "--algo", of two spellings
    const auto longer =
        std::find_if(candidates.begin(), candidates.end(),
                     [&name](std::string_view each) { return each.starts_with(name); });
    if (longer != candidates.end()) meant = *longer;
  }
  // Any letter is near to any other option.
  const bool of_commands = name.front() != '-' && has_commands;
  if (meant && (name.size() > 2 || of_commands))
    return fmt::format("{}; did you mean \"{}\"?", text, *meant);
  return text + (of_commands ? "; --help lists the commands" : "; --help lists the options");
}

/// What is said instead of "collective is required" and "A subcommand is required".
std::string complaint_about_missing(const std::string& said, const CLI::App& command) {
  std::vector<std::string> commands;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(sub->get_name());
  if (!commands.empty())
    return fmt::format("expected a command: {}; see --help", fmt::join(commands, ", "));
  const std::string name = said.substr(0, said.find(' '));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr || !option->get_positional()) return said + "; --help lists the options";
  const std::string noun = name.substr(name.find_first_not_of('-'));
  std::string meaning = option->get_description();
  if (meaning.size() > 1 && std::islower(static_cast<unsigned char>(meaning[1])) != 0)
    meaning.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning.front())));
  if (meaning.starts_with(noun + ": ")) meaning.erase(0, noun.size() + 2);
  return fmt::format("expected {}{}: {}", noun.ends_with('s') ? "" : "a ", noun, meaning);
}

/// CLI11 says "--ranks: At Most 1 required but received 2" and
/// "--cluster: 1 required FILE missing".
std::string complaint_about_values(const std::string& said, const CLI::App& command) {
  const std::string name = said.substr(0, said.find(':'));
  if (!said.ends_with("missing")) return name + ": given more than once";
  const CLI::Option* option = command.get_option_no_throw(name);
  const std::string type = option == nullptr ? std::string{} : option->get_type_name();
  return fmt::format("{}: a value is missing; expected {} {}", name, name,
                     type.empty() ? "VALUE" : type);
}

/// With "--set-rank 17=0.8" as "--set-rank 17 compute=0.8", as --gpu-speed has it: RANKS have no
/// "=".
std::vector<std::string> written_out(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool is_value = false;
  for (const std::string& word : words) {
    const std::size_t equals =
        std::exchange(is_value, word == "--set-rank") ? word.find('=') : std::string::npos;
    out.push_back(word.substr(0, equals));
    if (equals != std::string::npos) out.push_back("compute" + word.substr(equals));
  }
  return out;
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
  return fmt::format("{}: expected {}, got \"{}\"", name, flag ? "no value" : "an integer",
                     said.substr(equals + 3));
}

std::string explain(const CLI::ParseError& error, CLI::App& app) {
  CLI::App* command = deepest_command(app);
  const std::string said = error.what();
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (missing || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) return complaint_about(extras, *command);
  }
  if (missing) return complaint_about_missing(said, *command);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return complaint_about_conversion(said, *command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return complaint_about_values(said, *command);
  return said + "; --help lists the options";
}

/// An empty value is a script's unset variable, not a default.
void refuse_empty_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_expected_max() == 0) continue;
    for (const std::string& value : option->results())
      if (value.empty())
        throw UsageError(
            fmt::format("{}: expected {}, got \"\"", option->get_name(option->get_positional()),
                        option->get_type_name().empty() ? "a value" : option->get_type_name()));
  }
}

OptionInfo info_of(const CLI::Option& option) {
  OptionInfo out;
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  if (option.get_positional()) out.positional = option.get_name(true);
  out.help = option.get_description();
  out.default_text = option.get_default_str();
  out.group = option.get_group();
  out.values = option.get_expected_max() == 0 || option.get_type_size_max() == 0
                   ? 0
                   : static_cast<std::size_t>(option.get_type_size_max());
  if (out.values > 0) out.type = option.get_type_name();
  out.delimiter = option.get_delimiter();
  out.required = option.get_required();
  out.repeatable = option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  return out;
}

CommandInfo info_of(const CLI::App& command, const std::string& above) {
  CommandInfo out;
  out.name = command.get_name();
  out.path = above.empty() ? out.name : above + " " + out.name;
  out.summary = command.get_description();
  out.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options())
    if (!option->get_group().empty()) out.options.push_back(info_of(*option));
  for (const CLI::App* sub :
       command.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    out.commands.push_back(info_of(*sub, out.path));
  return out;
}

}  // namespace

Option Option::required(bool is) const {
  return Option{option_->required(is)};
}

Option Option::type_name(const std::string& name) const {
  return Option{option_->type_name(name)};
}

Option Option::default_str(const std::string& text) const {
  return Option{option_->default_str(text)};
}

Option Option::capture_default_str() const {
  return Option{option_->capture_default_str()};
}

Option Option::delimiter(char separator) const {
  return Option{option_->delimiter(separator)};
}

Option Option::allow_extra_args(bool are) const {
  return Option{option_->allow_extra_args(are)};
}

Option Command::add_option(const std::string& names, std::string& value,
                           const std::string& help) const {
  return bound(app_->add_option(names, value, help), &value);
}

Option Command::add_option(const std::string& names, std::int64_t& value,
                           const std::string& help) const {
  return bound(app_->add_option(names, value, help), &value);
}

Option Command::add_option(const std::string& names, std::vector<std::string>& values,
                           const std::string& help) const {
  return bound(app_->add_option(names, values, help), &values);
}

Option Command::add_option(const std::string& names,
                           std::vector<std::pair<std::string, std::string>>& values,
                           const std::string& help) const {
  return bound(app_->add_option(names, values, help), &values);
}

Option Command::add_option(const std::string& names,
                           const std::function<void(const std::string&)>& take,
                           const std::string& help) const {
  return bound(app_->add_option_function<std::string>(names, take, help), take);
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return bound(app_->add_flag(names, value, help), &value);
}

Option Command::bound(CLI::Option* option, OptionTarget target) const {
  memory_->targets[option] = std::move(target);
  return Option{option};
}

Option Command::get_option(const std::string& name) const {
  return Option{app_->get_option(name)};
}

void Command::remove_option(Option option) const {
  memory_->targets.erase(option.get());
  app_->remove_option(option.get());
}

std::size_t Command::count(const std::string& name) const {
  if (memory_->direct != nullptr) return memory_->direct->count(app_, name);
  return app_->count(name);
}

std::vector<std::string> Command::given_words(const std::vector<std::string>& without) const {
  if (memory_->direct != nullptr) return memory_->direct->given_words(without);
  std::vector<std::string> out;
  for (const CLI::Option* option : app_->get_options()) {
    const std::string name = option->get_name(option->get_positional());
    if (option->count() == 0 || std::find(without.begin(), without.end(), name) != without.end())
      continue;
    const bool flag = option->get_expected_max() == 0;
    if (flag) {
      out.push_back(name);
      continue;
    }
    for (const std::string& value : option->results()) {
      if (!option->get_positional()) out.push_back(name);
      out.push_back(value);
    }
  }
  return out;
}

void Command::group(const std::string& name) const {
  app_->option_defaults()->group(name.empty() ? "Options" : name);
}

Command Command::add_subcommand(const std::string& name, const std::string& help) const {
  return {app_->add_subcommand(name, help), memory_};
}

void Command::require_subcommand(int count) const {
  app_->require_subcommand(count);
}

void Command::footer(const std::string& text) const {
  app_->footer(text);
}

CommandInfo Command::describe() const {
  std::string above;
  for (const CLI::App* at = app_->get_parent(); at != nullptr; at = at->get_parent())
    above = above.empty() ? at->get_name() : fmt::format("{} {}", at->get_name(), above);
  return info_of(*app_, above);
}

void Command::callback(std::function<void()> act) const {
  memory_->actions[app_] = act;
  app_->callback([command = app_, act = std::move(act)] {
    refuse_empty_values(*command);
    act();
  });
}

CommandParser::CommandParser(const std::string& name, const std::string& summary,
                             const std::string& version, const std::string& footer)
    : app_{std::make_unique<CLI::App>(summary)}, memory_{std::make_unique<ParserMemory>()} {
  app_->name(name);
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->allow_extras(false);
  app_->footer(footer);
}

CommandParser::~CommandParser() = default;

Command CommandParser::root() const {
  return {app_.get(), memory_.get()};
}

std::string CommandParser::parse(int argc, char** argv) const {
  try {
    const std::vector<std::string> words = written_out({argv, argv + argc});
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    app_->parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const CLI::Success& done) {
    if (dynamic_cast<const CLI::CallForVersion*>(&done) != nullptr)
      return std::string{done.what()} + "\n";
    return help_text(Command{deepest_command(*app_), nullptr}.describe(), terminal_width());
  } catch (const CLI::ParseError& error) {
    throw UsageError(explain(error, *app_));
  }
  return {};
}

const std::function<void()>* CommandParser::action_of(const std::vector<std::string>& words) {
  if (!direct_) {
    direct_ = std::make_unique<DirectWords>(*app_, memory_->targets);
    memory_->direct = direct_.get();
  }
  const CLI::App* command = direct_->set(words);
  const auto found = memory_->actions.find(command);
  return found == memory_->actions.end() ? nullptr : &found->second;
}

bool CommandParser::reset() const {
  for (const auto& each : memory_->resets) each();
  return !memory_->resets.empty();
}

}  // namespace lockstep::cli
