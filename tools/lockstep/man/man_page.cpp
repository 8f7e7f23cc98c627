#include "tools/lockstep/man/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

namespace lockstep::cli {

namespace {

/// Text for roff: dashes that can be searched and pasted, no line that reads as a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Short names first, as manual pages have them.
std::string heading_of(const OptionInfo& option) {
  if (!option.positional.empty()) {
    std::string out = italic(option.positional);
    for (const std::string& name : option.names) out += " or " + bold(name);
    return out;
  }
  std::vector<std::string> names = option.names;
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.size() == 2; });
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + bold(name);
  return option.type.empty() ? out : out + " " + italic(option.type);
}

std::string option_text(const OptionInfo& option) {
  std::string out = ".TP\n" + heading_of(option) + "\n" + roff(option.help);
  if (!option.default_text.empty()) out += roff(" (default: " + option.default_text + ")");
  return out + "\n";
}

std::string synopsis(const CommandInfo& command) {
  std::string out = ".SH SYNOPSIS\n" + bold(command.path);
  if (!command.commands.empty()) out += " " + italic("command");
  out += " [" + italic("options") + "]";
  for (const OptionInfo& option : command.options) {
    if (option.positional.empty()) continue;
    const std::string name = italic(option.positional) + (option.repeatable ? "..." : "");
    out += option.required ? " " + name : " [" + name + "]";
  }
  return out + "\n";
}

std::string arguments_text(const CommandInfo& command) {
  std::string out;
  for (const OptionInfo& option : command.options)
    if (!option.positional.empty()) out += option_text(option);
  return out.empty() ? out : ".SH ARGUMENTS\n" + out;
}

std::string options_text(const CommandInfo& command) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : command.options)
    if (option.positional.empty() &&
        std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  std::string out = ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    if (groups.size() > 1) out += ".SS " + roff(group) + "\n";
    for (const OptionInfo& option : command.options)
      if (option.positional.empty() && option.group == group) out += option_text(option);
  }
  return out;
}

std::string commands_text(const CommandInfo& command) {
  if (command.commands.empty()) return "";
  std::string out = ".SH COMMANDS\n";
  for (const CommandInfo& each : command.commands)
    out += ".TP\n" + bold(each.name) + "\n" + roff(each.summary) + ". See " +
           bold(man_page_name(each)) + "(1).\n";
  return out;
}

/// A paragraph "Examples:" of indented lines is a section of its own; other paragraphs are notes.
/// Lines stay as they are where one is indented.
std::string footer_text(const CommandInfo& command) {
  std::string notes;
  std::string sections;
  for (std::size_t at = 0; at < command.footer.size();) {
    const std::size_t end = std::min(command.footer.find("\n\n", at), command.footer.size());
    const std::string paragraph = command.footer.substr(at, end - at);
    at = end + 2;
    const std::size_t first = std::min(paragraph.find('\n'), paragraph.size());
    const bool has_lines = paragraph.find("\n ") != std::string::npos;
    const bool headed = has_lines && first > 0 && paragraph[first - 1] == ':' &&
                        paragraph.substr(0, first).find(' ') == std::string::npos;
    if (headed) {
      sections += ".SH " + capitals(paragraph.substr(0, first - 1)) + "\n.nf\n" +
                  roff(paragraph.substr(first + 1)) + "\n.fi\n";
    } else {
      notes += (notes.empty() ? "" : ".PP\n") +
               (has_lines ? ".nf\n" + roff(paragraph) + "\n.fi\n" : roff(paragraph) + "\n");
    }
  }
  return (notes.empty() ? "" : ".SH NOTES\n" + notes) + sections;
}

/// The page above it.
std::string see_also(const CommandInfo& command) {
  const std::size_t space = command.path.rfind(' ');
  if (space == std::string::npos) return "";
  std::string above = command.path.substr(0, space);
  std::replace(above.begin(), above.end(), ' ', '-');
  return ".SH SEE ALSO\n" + bold(above) + "(1)\n";
}

}  // namespace

std::string man_page_name(const CommandInfo& command) {
  std::string out = command.path;
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

std::string man_page(const CommandInfo& command, const std::string& version) {
  const std::string name = man_page_name(command);
  return fmt::format(".TH {} 1 \"\" \"lockstep {}\" \"Lockstep\"\n.SH NAME\n{} \\- {}\n",
                     capitals(roff(name)), version, roff(name), roff(command.summary)) +
         synopsis(command) + arguments_text(command) + commands_text(command) +
         options_text(command) + footer_text(command) + see_also(command);
}

}  // namespace lockstep::cli
