#include "strategies/interop/text/xml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "sim/config/complaint.hpp"
#include "sim/config/did_you_mean.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kMostCompared = 64;  // attributes that a missing one is compared with

std::string range_text(IntegerRange range) {
  return range.least == range.most ? fmt::format("{}", range.least)
                                   : fmt::format("{} to {}", range.least, range.most);
}

}  // namespace

const XmlAttribute* XmlReader::find(std::string_view name) const {
  for (const XmlAttribute& attribute : document_->attributes(*element_)) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

const XmlAttribute* XmlReader::required(std::string_view name) const {
  if (const XmlAttribute* found = find(name)) return found;
  std::vector<std::string_view> present;
  for (const XmlAttribute& attribute : document_->attributes(*element_)) {
    if (present.size() < kMostCompared) present.push_back(attribute.name);
  }
  std::string message = fmt::format("<{}> has no attribute {}", element_->name, in_quotes(name));
  if (const auto near = did_you_mean(name, present))
    message += fmt::format("; is it {}?", in_quotes(*near));
  complain(std::move(message));
  return nullptr;
}

std::optional<std::int64_t> XmlReader::integer(std::string_view name, IntegerRange range) const {
  const XmlAttribute* attribute = required(name);
  return attribute == nullptr ? std::nullopt : integer_of(*attribute, range);
}

std::optional<std::int64_t> XmlReader::integer_if_any(std::string_view name,
                                                      IntegerRange range) const {
  const XmlAttribute* attribute = find(name);
  return attribute == nullptr ? std::nullopt : integer_of(*attribute, range);
}

std::optional<std::int64_t> XmlReader::integer_of(const XmlAttribute& attribute,
                                                  IntegerRange range) const {
  std::int64_t value = 0;
  const char* end = attribute.value.data() + attribute.value.size();
  const auto [stopped, error] = std::from_chars(attribute.value.data(), end, value);
  const bool whole = error == std::errc{} && stopped == end;
  if (whole && range.least <= value && value <= range.most) return value;
  complain(attribute.at, fmt::format("{} is {}; expected an integer, {}", attribute.name,
                                     in_quotes(attribute.value), range_text(range)));
  return std::nullopt;
}

std::optional<std::size_t> XmlReader::one_of(const XmlAttribute& attribute, std::string_view noun,
                                             const std::vector<std::string_view>& names) const {
  const auto found = std::find(names.begin(), names.end(), attribute.value);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  complain(attribute.at, complain_of_name(noun, attribute.value, names));
  return std::nullopt;
}

void XmlReader::no_children() const {
  document_->for_each_child(*element_, [&](const XmlElement& child) {
    if (is_ignored(child)) return;
    complain(child.at, fmt::format("unexpected element {} in <{}>, which has none",
                                   in_quotes(child.name), element_->name));
  });
}

void XmlReader::complain_of_child(const XmlElement& child, std::string_view allowed) const {
  if (!problems_->keeps_more()) return complain(child.at, "");
  const bool near = did_you_mean(child.name, {allowed}).has_value();
  complain(child.at, fmt::format("unexpected element {} in <{}>; {} {}{}", in_quotes(child.name),
                                 element_->name, near ? "did you mean" : "expected",
                                 in_quotes(allowed), near ? "?" : ""));
}

bool XmlReader::is_ignored(const XmlElement& child) const {
  if (child.name != ignored_->name) return false;
  ++ignored_->count;
  return true;
}

void XmlReader::complain(Position at, std::string message) const {
  const bool kept = problems_->keeps_more();
  problems_->note(at, kept && where_ ? where_() : "", std::move(message));
}

}  // namespace lockstep
