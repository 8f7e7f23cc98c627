#include "sim/config/complaint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>

#include "sim/config/did_you_mean.hpp"
#include "sim/config/key_aliases.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kMostNames = 30;  // listed in one message

struct Shown {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("the number {}", value); }
  std::string operator()(const JsonNumber& value) const {
    const std::string text = in_quotes(value.text);  // shortens it
    return "the number " + text.substr(1, text.size() - 2);
  }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(const JsonArray& /*value*/) const { return "an array"; }
  std::string operator()(const JsonObject& /*value*/) const { return "an object"; }
};

std::string listed(const std::vector<std::string_view>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == kMostNames) return out + fmt::format(" and {} more", names.size() - i);
    out += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  }
  return out;
}

constexpr std::size_t kFewNames = 8;     // all are listed
constexpr std::size_t kFamilyStart = 3;  // letters

std::size_t common_start(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) { return std::tolower(x) == std::tolower(y); };
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same);
  return static_cast<std::size_t>(end - a.begin());
}

/// Of many names those that begin most like the word ("llama3-8b" for "llama4"), else none.
std::vector<std::string_view> family_of(std::string_view word,
                                        const std::vector<std::string_view>& names) {
  std::vector<std::string_view> out;
  if (names.size() <= kFewNames) return out;
  std::size_t longest = kFamilyStart;
  for (const std::string_view name : names) longest = std::max(longest, common_start(word, name));
  for (const std::string_view name : names)
    if (common_start(word, name) == longest) out.push_back(name);
  return out;
}

/// "dgx-h100" for "h100".
std::vector<std::string_view> names_with(std::string_view part,
                                         const std::vector<std::string_view>& names) {
  std::vector<std::string_view> out;
  if (part.size() < kFamilyStart) return out;
  for (const std::string_view name : names)
    if (name.find(part) != std::string_view::npos) out.push_back(name);
  return out;
}

/// The end of a sentence that refused `word`.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& names,
                       std::string_view introduction) {
  const std::string nearest = nearest_names(word, names);
  if (!nearest.empty() || names.empty()) return nearest;
  return fmt::format("; {} {}", introduction, listed(names));
}

/// The key that another tool calls so, if it is allowed here or elsewhere in a scenario.
std::string own_name(std::string_view key, const std::vector<std::string_view>& allowed) {
  const KeyAlias* alias = find_key_alias(key);
  if (alias == nullptr) return "";
  const auto allows = [&allowed](std::string_view each) {
    return std::find(allowed.begin(), allowed.end(), each) != allowed.end();
  };
  if (allows(alias->key())) return alias->text(false);
  const bool in_scenario = allows("parallel") || allows("micro_batch");
  return in_scenario ? alias->text(true) : "";
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("+-.0123456789") == text.npos;
}

/// What follows the number; empty where there is no number or nothing follows.
std::string_view unit_of(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == text.npos) return {};
  text.remove_prefix(end);
  if (text.front() == ' ') text.remove_prefix(1);
  return text;
}

bool is_known_unit(std::string_view unit, const QuantityWords& words) {
  for (const std::string_view known : words.units) {
    if (unit == known) return true;
  }
  return false;
}

/// What a text that is no such quantity lacks, as the end of a sentence.
std::string fault_of_quantity(const QuantityWords& words, std::string_view text) {
  if (is_number(text)) return " without a unit";
  const std::string_view unit = unit_of(text);
  if (text.substr(0, 1) == "-") {
    return words.zero_allowed ? "; it must not be negative" : "; it must be above zero";
  }
  if (unit.empty()) return "";
  if (!is_known_unit(unit, words)) {
    return fmt::format("; no unit {}{}", in_quotes(unit),
                       suggestion(unit, words.units, "there are"));
  }
  const std::string_view number = text.substr(0, text.size() - unit.size());
  const bool zero = number.find_first_of("123456789") == number.npos;
  if (zero && !words.zero_allowed) return "; it must be above zero";
  return ", which is malformed or out of range";
}

}  // namespace

const QuantityWords& rate_words() {
  static const QuantityWords kWords{
      "a rate such as \"50 GB/s\"",
      false,
      {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "b/s", "kb/s",
       "Mb/s", "Gb/s", "Tb/s", "Mbit/s", "Gbit/s"}};
  return kWords;
}

const QuantityWords& duration_words() {
  static const QuantityWords kWords{
      "a duration such as \"2 us\"", true, {"ps", "ns", "us", "µs", "ms", "s", "min", "h"}};
  return kWords;
}

const QuantityWords& bytes_words() {
  static const QuantityWords kWords{
      "a size such as \"64 MiB\"", true, {"B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}};
  return kWords;
}

const QuantityWords& positive_bytes_words() {
  static const QuantityWords kWords{bytes_words().expected, false, bytes_words().units};
  return kWords;
}

const QuantityWords& flop_rate_words() {
  static const QuantityWords kWords{
      "a peak such as \"312 TFLOP/s\"",
      false,
      {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"}};
  return kWords;
}

std::string shown(const JsonValue& value) {
  return std::visit(Shown{}, value.data);
}

std::string expected_but_got(std::string_view expected, const JsonValue& got) {
  return fmt::format("expected {}, got {}", expected, shown(got));
}

std::string complain_of_quantity(const QuantityWords& words, const JsonValue& got) {
  const std::string complaint = expected_but_got(words.expected, got);
  const auto* text = got.get_if<std::string>();
  return text == nullptr ? complaint : complaint + fault_of_quantity(words, *text);
}

std::string nearest_names(std::string_view word, const std::vector<std::string_view>& names) {
  if (const auto near = did_you_mean(word, names))
    return fmt::format("; did you mean {}?", in_quotes(*near));
  const std::vector<std::string_view> family = family_of(word, names);
  if (!family.empty() && family.size() < names.size())
    return fmt::format("; nearest: {}", listed(family));
  const std::vector<std::string_view> containing = names_with(word, names);
  if (containing.size() == 1) return fmt::format("; did you mean {}?", in_quotes(containing[0]));
  return containing.empty() ? "" : fmt::format("; nearest: {}", listed(containing));
}

std::string complain_of_name(std::string_view noun, std::string_view name,
                             const std::vector<std::string_view>& names) {
  return fmt::format("no {} named {}{}", noun, in_quotes(name),
                     suggestion(name, names, "there are"));
}

std::string complain_of_key(std::string_view key, const std::vector<std::string_view>& allowed) {
  if (const std::string name = own_name(key, allowed); !name.empty())
    return fmt::format("unknown key {}; Lockstep calls it {}", in_quotes(key), name);
  return fmt::format("unknown key {}{}", in_quotes(key), suggestion(key, allowed, "allowed are"));
}

}  // namespace lockstep
