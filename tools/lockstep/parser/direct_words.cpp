#include "tools/lockstep/parser/direct_words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::cli {

namespace {

bool is_repeatable(const CLI::Option& option) {
  return option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
}

}  // namespace

DirectWords::DirectWords(CLI::App& root) : root_{root} {
  add(root);
}

void DirectWords::add(CLI::App& command) {
  Options& options = options_[&command];
  std::size_t number = 0;
  for (CLI::Option* option : command.get_options()) {
    const Numbered of{option, number++};
    if (option == command.get_help_ptr()) continue;
    for (const std::string& name : option->get_lnames()) options.named["--" + name] = of;
    if (option->get_positional()) options.positional.push_back(of);
    if (option->get_required()) options.required.push_back(option);
  }
  for (CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    options.commands[each->get_name()] = each;
    add(*each);
  }
}

CLI::App* DirectWords::set(const std::vector<std::string>& words) {
  for (const Numbered& each : given_) each.option->clear();
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

void DirectWords::give(const Numbered& to, std::string value) {
  given_.push_back(to);
  to.option->add_result(std::move(value));
}

bool DirectWords::take_named(const Options& options, Words& at, Words end) {
  const std::size_t equals = at->find('=');
  const auto found = options.named.find(std::string_view{*at}.substr(0, equals));
  if (found == options.named.end()) return false;
  const CLI::Option& option = *found->second.option;
  const bool has_value = equals != std::string::npos;
  if (option.get_inject_separator() && option.count() > 0 && !option.results().back().empty())
    give(found->second, {});
  if (option.get_items_expected_max() == 0) {
    if (has_value) return false;
    give(found->second, option.get_flag_value(found->first, ""));
  } else if (has_value) {
    if (option.get_type_size_max() != 1 || equals + 1 == at->size()) return false;
    give(found->second, at->substr(equals + 1));
  } else {
    for (int i = 0; i < option.get_type_size_max(); ++i) {
      if (++at == end || at->empty() || at->front() == '-') return false;
      give(found->second, *at);
    }
  }
  ++at;
  return true;
}

bool DirectWords::take_positional(const Options& options, Words at, Words end) {
  if (std::any_of(at, end, [](const std::string& word) { return word.empty(); })) return false;
  for (const Numbered& each : options.positional) {
    if (is_repeatable(*each.option)) {
      for (; at != end; ++at) give(each, *at);
    } else if (at != end) {
      give(each, *at++);
    }
  }
  return at == end;
}

bool DirectWords::finish(const Options& options) {
  std::stable_sort(given_.begin(), given_.end(),
                   [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
  try {
    for (const Numbered& each : given_)
      if (!each.option->get_callback_run()) each.option->run_callback();
  } catch (const CLI::Error&) {
    return false;
  }
  return std::none_of(options.required.begin(), options.required.end(),
                      [](const CLI::Option* option) { return option->count() == 0; });
}

}  // namespace lockstep::cli
