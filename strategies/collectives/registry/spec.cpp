#include "strategies/collectives/registry/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/config/did_you_mean.hpp"

namespace lockstep {
namespace {

std::string quoted_collective(Collective collective) {
  std::string name{to_string(collective)};
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  return name;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

/// 8x4x2; a number alone is one dimension, where a parameter wants such.
std::optional<std::vector<int>> dimensions(std::string_view text) {
  std::vector<int> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto size = whole_number(text.substr(begin, end - begin));
    constexpr std::int64_t kLargest = 1 << 24;
    if (!size || *size < 1 || *size > kLargest) return std::nullopt;
    sizes.push_back(static_cast<int>(*size));
    begin = end + 1;
  }
  return sizes;
}

/// Walks the items of a list. A spec with a mistake is dropped, and what follows it is still read.
class SpecParser {
 public:
  explicit SpecParser(Collective collective) : collective_{collective} {}

  ParsedSpecs parse(std::string_view text) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      position_ = begin;
      item(text.substr(begin, end - begin));
      begin = end + 1;
    }
    finish();
    return std::move(result_);
  }

 private:
  /// Colons behind a '=' belong to a parameter's value.
  void item(std::string_view text) {
    const auto colon = text.find(':');
    if (colon < text.find('=') && colon != std::string_view::npos) {
      name(text.substr(0, colon));
      position_ += colon + 1;
      parameter(text.substr(colon + 1));
    } else if (text.find('=') != std::string_view::npos) {
      parameter(text);
    } else {
      name(text);
    }
  }

  void name(std::string_view text) {
    finish();
    begun_ = true;
    current_ = {find_algorithm(collective_, text), {}};
    if (current_.algorithm == nullptr) fail(unknown_name(text));
  }

  void parameter(std::string_view text) {
    if (!begun_) return fail(fmt::format("\"{}\" has no algorithm before it", text));
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return fail(fmt::format("expected a parameter such as \"key=value\", got \"{}\"", text));
    const auto key = text.substr(0, equals);
    add(key, value_of(key, text.substr(equals + 1)));
  }

  /// What the parameter wants where the text can be that, else the text for argument_problem().
  [[nodiscard]] ArgumentValue value_of(std::string_view key, std::string_view text) const {
    const AlgorithmParameter* parameter =
        current_.algorithm == nullptr ? nullptr : find_parameter(*current_.algorithm, key);
    const ParameterKind kind = parameter == nullptr ? ParameterKind::whole : parameter->kind;
    if (kind == ParameterKind::whole) {
      if (const auto number = whole_number(text)) return *number;
    } else if (kind == ParameterKind::dimensions) {
      if (auto sizes = dimensions(text)) return *std::move(sizes);
    }
    return std::string{text};
  }

  void add(std::string_view key, const ArgumentValue& value) {
    if (!current_.arguments.emplace(key, value).second)
      return fail(fmt::format("{} is given twice", key));
    if (current_.algorithm == nullptr) return;  // its name was complained about
    if (const auto problem = argument_problem(*current_.algorithm, key, value, std::nullopt))
      fail(*problem);
  }

  void finish() {
    if (begun_ && !failed_) result_.specs.push_back(std::move(current_));
    begun_ = failed_ = false;
  }

  void fail(std::string message) {
    failed_ = true;
    result_.errors.push_back({position_, std::move(message)});
  }

  [[nodiscard]] std::string unknown_name(std::string_view text) const {
    const auto names = algorithm_names(collective_);
    if (text.empty()) return fmt::format("expected an algorithm: {}", fmt::join(names, ", "));
    const auto base = fmt::format("no {} named \"{}\"", quoted_collective(collective_), text);
    if (const auto meant = did_you_mean(text, names))
      return fmt::format("{}; did you mean \"{}\"?", base, *meant);
    std::vector<std::string_view> containing;  // "tree"
    std::copy_if(names.begin(), names.end(), std::back_inserter(containing),
                 [text](std::string_view name) { return name.find(text) != name.npos; });
    if (!containing.empty() && text.size() > 2)
      return fmt::format("{}; nearest: {}", base, fmt::join(containing, ", "));
    return fmt::format("{}; there are: {}", base, fmt::join(names, ", "));
  }

  Collective collective_;
  ParsedSpecs result_;
  AlgorithmSpec current_;
  std::size_t position_ = 0;
  bool begun_ = false;
  bool failed_ = false;
};

}  // namespace

std::string AlgorithmSpec::text() const {
  std::string text{algorithm->name};
  char separator = ':';
  for (const auto& [key, value] : arguments) {
    text += fmt::format("{}{}={}", separator, key, to_string(value));
    separator = ',';
  }
  return text;
}

ParsedSpecs parse_specs(std::string_view text, Collective collective) {
  return SpecParser{collective}.parse(text);
}

ParsedSpecs parse_inner_spec(std::string_view text, Collective collective) {
  std::string list{text};
  const std::size_t colon = list.find(':');
  if (colon != std::string::npos)
    std::replace(list.begin() + static_cast<std::ptrdiff_t>(colon) + 1, list.end(), ':', ',');
  return parse_specs(list, collective);
}

}  // namespace lockstep
