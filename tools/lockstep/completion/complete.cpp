#include "tools/lockstep/completion/complete.hpp"

#include <algorithm>

#include "tools/lockstep/completion/scenario_keys.hpp"
#include "tools/lockstep/completion/values.hpp"

namespace lockstep::cli {

namespace {

/// Where the words before the one at the cursor have led to.
struct Place {
  const CommandInfo* command = nullptr;
  const OptionInfo* option = nullptr;  // whose value is next
  std::size_t values = 0;              // of it, already given
  std::vector<std::string> arguments;  // positional
  bool options_ended = false;          // after "--"
};

const OptionInfo* find_option(const CommandInfo& command, const std::string& name) {
  for (const OptionInfo& each : command.options)
    if (std::find(each.names.begin(), each.names.end(), name) != each.names.end()) return &each;
  return nullptr;
}

const CommandInfo* find_command(const CommandInfo& above, const std::string& name) {
  for (const CommandInfo& each : above.commands)
    if (each.name == name) return &each;
  return nullptr;
}

void take(Place& place, const std::string& word) {
  if (place.option != nullptr) {
    if (++place.values == place.option->values) place.option = nullptr;
  } else if (!place.options_ended && word == "--") {
    place.options_ended = true;
  } else if (!place.options_ended && word.size() > 1 && word.front() == '-') {
    const OptionInfo* option = find_option(*place.command, word);
    const bool takes_values = option != nullptr && !option->is_flag();
    place.option = takes_values ? option : nullptr;
    place.values = 0;
  } else if (const CommandInfo* command = find_command(*place.command, word);
             command != nullptr && place.arguments.empty()) {
    place.command = command;
  } else {
    place.arguments.push_back(word);
  }
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

/// Those that begin as the word typed, each behind `before`.
Completions matching(Completions all, const std::string& typed, const std::string& before) {
  Completions out;
  out.files = all.files;
  for (Completion& each : all.words)
    if (starts_with(each.word, typed)) out.add(before + each.word, std::move(each.help));
  return out;
}

/// How the help of `--set` begins in commands that take a cluster, not a scenario.
constexpr const char* kOverrideOfCluster = "Override a value of the cluster file";

/// A list is completed at its last element; types of lists end in "...".
bool is_list(const OptionInfo& option) {
  return option.delimiter != '\0' || option.type.find(",...") != std::string::npos;
}

Completions complete_value(const OptionInfo& option, const std::vector<std::string>& arguments,
                           const std::string& typed, const std::string& before) {
  if (option.name() == "--set")
    return matching(starts_with(option.help, kOverrideOfCluster) ? complete_cluster_override()
                                                                 : complete_override(typed),
                    typed, before);
  const std::size_t comma = is_list(option) ? typed.rfind(',') : std::string::npos;
  const std::size_t begin = comma == std::string::npos ? 0 : comma + 1;
  return matching(values_of(option, arguments), typed.substr(begin),
                  before + typed.substr(0, begin));
}

bool is_given(const OptionInfo& option, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end() - 1, [&](const std::string& word) {
    return std::find(option.names.begin(), option.names.end(), word.substr(0, word.find('='))) !=
           option.names.end();
  });
}

Completions complete_option(const CommandInfo& command, const std::vector<std::string>& words) {
  const std::string& typed = words.back();
  const std::size_t equals = typed.find('=');
  if (equals != std::string::npos) {
    const OptionInfo* option = find_option(command, typed.substr(0, equals));
    if (option == nullptr) return {};
    return complete_value(*option, {}, typed.substr(equals + 1), typed.substr(0, equals + 1));
  }
  Completions all;
  for (const OptionInfo& each : command.options)
    if (!each.names.empty() && (each.repeatable || !is_given(each, words)))
      for (const std::string& name : each.names)
        // Another name only if the first cannot be meant.
        if (&name == &each.names.front() || !starts_with(each.names.front(), typed))
          all.add(name, each.help);
  return matching(std::move(all), typed, "");
}

void add_commands(const CommandInfo& above, Completions& out) {
  for (const CommandInfo& each : above.commands) out.add(each.name, each.summary);
}

/// The words of `help` are commands as well.
Completions complete_help(const CommandInfo& program, const OptionInfo& option,
                          const std::string& typed) {
  Completions all;
  add_commands(program, all);
  for (Completion& each : values_of(option, {}).words) all.words.push_back(std::move(each));
  return matching(std::move(all), typed, "");
}

Completions complete_argument(const CommandInfo& program, const Place& place,
                              const std::string& typed) {
  Completions out;
  std::size_t position = 0;
  for (const OptionInfo& each : place.command->options) {
    if (each.positional.empty()) continue;
    if (position == place.arguments.size() ||
        (position < place.arguments.size() && each.repeatable))
      return each.positional == "word" && place.arguments.empty()
                 ? complete_help(program, each, typed)
                 : complete_value(each, place.arguments, typed, "");
    ++position;
  }
  if (!place.arguments.empty()) return out;
  add_commands(*place.command, out);
  return matching(std::move(out), typed, "");
}

}  // namespace

Completions complete(const CommandInfo& program, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  Place place;
  place.command = &program;
  for (auto word = words.begin(); word + 1 != words.end(); ++word) take(place, *word);
  const std::string& typed = words.back();
  if (place.option != nullptr) return complete_value(*place.option, place.arguments, typed, "");
  if (!place.options_ended && starts_with(typed, "-"))
    return complete_option(*place.command, words);
  return complete_argument(program, place, typed);
}

std::string completion_lines(const Completions& completions) {
  std::string out;
  for (const Completion& each : completions.words) {
    std::string help = each.help;
    std::replace(help.begin(), help.end(), '\n', ' ');
    out += each.word + (help.empty() ? "" : "\t" + help) + "\n";
  }
  if (completions.files) out += ":files\n";
  return out;
}

}  // namespace lockstep::cli
