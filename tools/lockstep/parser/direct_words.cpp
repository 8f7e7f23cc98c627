#include "tools/lockstep/parser/direct_words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iterator>
#include <type_traits>
#include <variant>

namespace lockstep::cli {

namespace {

bool is_repeatable(const CLI::Option& option) {
  return option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
}

}  // namespace

DirectWords::DirectWords(CLI::App& root, const Targets& targets) : root_{root}, targets_{targets} {
  add(root);
}

void DirectWords::add(CLI::App& command) {
  Options& options = options_[&command];
  std::size_t number = 0;
  for (CLI::Option* option : command.get_options()) {
    const auto target = targets_.find(option);
    const bool is_plain = target != targets_.end() && option->get_delimiter() == '\0';
    Known of{option, is_plain ? &target->second : nullptr, number++};
    of.values = option->get_items_expected_max() == 0 ? 0 : option->get_type_size_max();
    of.repeatable = is_repeatable(*option);
    if (option == command.get_help_ptr()) continue;
    for (const std::string& name : option->get_lnames()) {
      if (of.values == 0) of.flag = option->get_flag_value(name, "");
      options.named["--" + name] = of;
    }
    if (option->get_positional()) options.positional.push_back(of);
    if (option->get_required()) options.required.push_back(of.number);
  }
  for (CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    options.commands[each->get_name()] = each;
    add(*each);
  }
}

CLI::App* DirectWords::set(const std::vector<std::string>& words) {
  given_.clear();
  CLI::App* command = &root_;
  const Options* options = &options_.at(command);
  auto at = words.begin();
  for (; at != words.end() && at->rfind('-', 0) != 0; ++at) {
    const auto found = options->commands.find(*at);
    if (found == options->commands.end()) return nullptr;
    command = found->second;
    options = &options_.at(command);
  }
  while (at != words.end() && *at != "--")
    if (!take_named(*options, at, words.end())) return nullptr;
  if (at != words.end() && !take_positional(*options, std::next(at), words.end())) return nullptr;
  return finish(*options) ? command : nullptr;
}

bool DirectWords::give(const Known& to, std::string_view value) {
  if (to.target == nullptr || value.empty()) return false;
  if (value.front() == '[' && value.back() == ']') return false;  // a list
  // In the order of the options, repeated ones in their own.
  auto at = given_.end();
  while (at != given_.begin() && std::prev(at)->option->number > to.number) --at;
  given_.insert(at, {&to, value});
  return true;
}

bool DirectWords::take_named(const Options& options, Words& at, Words end) {
  const std::size_t equals = at->find('=');
  const auto found = options.named.find(std::string_view{*at}.substr(0, equals));
  if (found == options.named.end()) return false;
  const Known& to = found->second;
  if (to.values == 0) {
    if (equals != std::string::npos || !give(to, to.flag)) return false;
  } else if (equals != std::string::npos) {
    if (to.values != 1 || !give(to, std::string_view{*at}.substr(equals + 1))) return false;
  } else {
    for (int i = 0; i < to.values; ++i) {
      if (++at == end || at->empty() || at->front() == '-' || !give(to, *at)) return false;
    }
  }
  ++at;
  return true;
}

bool DirectWords::take_positional(const Options& options, Words at, Words end) {
  for (const Known& each : options.positional) {
    if (each.repeatable) {
      for (; at != end; ++at)
        if (!give(each, *at)) return false;
    } else if (at != end) {
      if (!give(each, *at++)) return false;
    }
  }
  return at == end;
}

bool DirectWords::assign(const Given& given, std::size_t index) {
  const std::string value{given.value};
  return std::visit(
      [&](const auto& to) {
        using To = std::decay_t<decltype(to)>;
        if constexpr (std::is_same_v<To, std::string*>) {
          *to = value;
        } else if constexpr (std::is_same_v<To, bool*>) {
          *to = value == "true";
          return *to || value == "false";
        } else if constexpr (std::is_same_v<To, std::int64_t*>) {
          const char* const end = value.data() + value.size();
          const auto [stop, error] = std::from_chars(value.data(), end, *to);
          return error == std::errc{} && stop == end;
        } else if constexpr (std::is_same_v<To, std::vector<std::string>*>) {
          if (index == 0) to->clear();
          to->push_back(value);
        } else if constexpr (std::is_pointer_v<To>) {  // pairs
          if (index == 0) to->clear();
          if (index % 2 == 0)
            to->emplace_back(value, std::string{});
          else
            to->back().second = value;
        } else {
          to(value);
        }
        return true;
      },
      *given.option->target);
}

bool DirectWords::finish(const Options& options) {
  for (const std::size_t required : options.required)
    if (std::ranges::none_of(given_,
                             [&](const Given& each) { return each.option->number == required; }))
      return false;
  std::size_t index = 0;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const Known& option = *given_[i].option;
    index = i > 0 && given_[i - 1].option->number == option.number ? index + 1 : 0;
    if ((index > 0 && !option.repeatable) || !assign(given_[i], index)) return false;
  }
  return true;
}

std::size_t DirectWords::count(const CLI::App* command, const std::string& name) const {
  const auto& named = options_.at(command).named;
  const auto found = named.find(std::string_view{name});
  if (found == named.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      given_, [&](const Given& each) { return each.option->number == found->second.number; }));
}

std::vector<std::string> DirectWords::given_words(const std::vector<std::string>& without) const {
  std::vector<std::string> out;
  for (const auto& [of, value] : given_) {
    const std::string name = of->option->get_name(of->option->get_positional());
    if (std::ranges::count(without, name) > 0) continue;
    if (!of->option->get_positional()) out.push_back(name);
    if (of->values > 0) out.emplace_back(value);
  }
  return out;
}

}  // namespace lockstep::cli
