#include "tools/lockstep/parser/help_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tools/lockstep/terminal/text_width.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kNames = 28;  // width of the column of options, if the terminal has room

std::size_t names_width(std::size_t width) {
  return width >= 72 ? kNames : 6;
}

/// A name, and its text next to it, or below it if the name is too long.
std::string entry(const std::string& name, const std::string& text, std::size_t width) {
  const std::size_t column = names_width(width);
  std::string out = std::string(kIndent, ' ') + name;
  bool is_first = width_of(out) + 1 < column;
  if (!is_first) out += "\n";
  for (const std::string& line : wrapped(text, width - column)) {
    out += is_first ? std::string(column - width_of(out), ' ') : std::string(column, ' ');
    out += line + "\n";
    is_first = false;
  }
  return out;
}

std::string type_of(const OptionInfo& option) {
  std::string out = option.type;
  if (option.repeatable && out.find("...") == std::string::npos) out += " ...";
  return out;
}

std::string title_of(const OptionInfo& option) {
  if (!option.positional.empty()) {
    const std::string names =
        option.names.empty() ? "" : fmt::format(" or {}", fmt::join(option.names, ","));
    return fmt::format("{}{} {}", option.positional, names, type_of(option));
  }
  // Short names first: "-b,--minbytes".
  std::vector<std::string> names = option.names;
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.rfind("--", 0) != 0; });
  std::string out = fmt::format("{}", fmt::join(names, ","));
  if (!option.is_flag()) out += " " + type_of(option);
  return out;
}

std::string text_of(const OptionInfo& option) {
  std::string out = option.help;
  if (!option.default_text.empty() && out.find("(default") == std::string::npos)
    out += fmt::format(" (default: {})", option.default_text);
  if (option.required && option.positional.empty()) out += " (required)";
  return out;
}

/// --help has a group of its own, the last one.
std::string group_of(const OptionInfo& option) {
  return option.name() == "--help" ? "Help" : option.group;
}

/// What has no group, the command's own, comes before what it shares with others.
std::string options_of(const CommandInfo& command, std::size_t width) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : command.options)
    if (option.positional.empty() &&
        std::find(groups.begin(), groups.end(), group_of(option)) == groups.end())
      groups.push_back(group_of(option));
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group == "Options"; });
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != "Help"; });
  std::string out;
  for (const std::string& group : groups) {
    out += fmt::format("\n{}:\n", group);
    for (const OptionInfo& option : command.options)
      if (option.positional.empty() && group_of(option) == group)
        out += entry(title_of(option), text_of(option), width);
  }
  return out;
}

std::string positionals_of(const CommandInfo& command, std::size_t width) {
  std::string out;
  for (const OptionInfo& option : command.options)
    if (!option.positional.empty()) out += entry(title_of(option), text_of(option), width);
  return out.empty() ? out : "\nPositionals:\n" + out;
}

std::string usage_of(const CommandInfo& command, std::size_t width) {
  std::string text = fmt::format("Usage: {} [OPTIONS]", command.path);
  for (const OptionInfo& option : command.options) {
    if (option.positional.empty()) continue;
    const std::string name = option.positional + (option.repeatable ? "..." : "");
    text += option.required ? " " + name : fmt::format(" [{}]", name);
  }
  if (!command.commands.empty()) text += " SUBCOMMAND";
  std::string out;
  for (const std::string& line : wrapped(text, width - 4))
    out += (out.empty() ? "" : "    ") + line + "\n";
  return out;
}

/// An indented line as it is; the rest of a longer one is indented further. A command continues
/// behind a backslash.
std::string literal(const std::string& line, std::size_t width) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (width_of(line) <= width) return line + "\n";
  const bool is_command = line.compare(indent, 9, "lockstep ") == 0;
  const std::string more = is_command ? " \\" : "";
  const auto lines = wrapped(line.substr(indent), width - indent - 4 - more.size());
  std::string out;
  for (const std::string& each : lines)
    out += std::string(indent + (&each == &lines.front() ? 0 : 4), ' ') + each +
           (&each == &lines.back() ? "" : more) + "\n";
  return out;
}

/// Paragraphs are filled; indented lines stand alone.
std::string footer_of(const CommandInfo& command, std::size_t width) {
  std::string out;
  std::string paragraph;
  const auto flush = [&] {
    if (paragraph.empty()) return;
    for (const std::string& line : wrapped(paragraph, width)) out += line + "\n";
    paragraph.clear();
  };
  for (std::size_t at = 0; at < command.footer.size();) {
    const std::size_t end = std::min(command.footer.find('\n', at), command.footer.size());
    const std::string line = command.footer.substr(at, end - at);
    if (line.empty() || line[0] == ' ') {
      flush();
      out += line.empty() ? "\n" : literal(line, width);
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    }
    at = end + 1;
  }
  flush();
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string command_list(const CommandInfo& command, std::size_t width) {
  std::string out;
  for (const CommandInfo& each : command.commands) out += entry(each.name, each.summary, width);
  return out;
}

std::string help_text(const CommandInfo& command, std::size_t width) {
  width = std::max<std::size_t>(width, 40);
  std::string out;
  for (const std::string& line : wrapped(command.summary, width)) out += line + "\n";
  out += usage_of(command, width) + positionals_of(command, width) + options_of(command, width);
  if (!command.commands.empty()) out += "\nSubcommands:\n" + command_list(command, width);
  return out + footer_of(command, width);
}

}  // namespace lockstep::cli
