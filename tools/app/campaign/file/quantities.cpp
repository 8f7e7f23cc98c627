#include "tools/app/campaign/file/quantities.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <span>
#include <string>
#include <vector>

#include "sim/config/json/json_schema.hpp"

namespace lockstep::app {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kTimeUnits[] = {{"us", 1e-6}, {"\u00b5s", 1e-6}, {"ms", 1e-3},   {"s", 1},
                               {"min", 60},  {"h", 3600},       {"d", 86400.0}, {"y", 31557600.0}};
constexpr Unit kPowerUnits[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}};
constexpr Unit kFlopEnergyUnits[] = {
    {"J/FLOP", 1}, {"nJ/FLOP", 1e-9}, {"pJ/FLOP", 1e-12}, {"fJ/FLOP", 1e-15}};
constexpr Unit kByteEnergyUnits[] = {{"J/B", 1}, {"nJ/B", 1e-9}, {"pJ/B", 1e-12}};
constexpr double kLongest = 1e12;  // seconds; 30,000 years

/// A decimal number without sign, an optional space, a unit.
[[nodiscard]] std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{}) return std::nullopt;
  std::string_view unit{end, static_cast<std::size_t>(last - end)};
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& each : units)
    if (unit == each.name) return number * each.factor;
  return std::nullopt;
}

/// "^[0-9]+(\\.[0-9]*)?([eE][+-]?[0-9]+)? ?(W|kW|MW)$".
[[nodiscard]] JsonValue schema_of_units(std::span<const Unit> units, std::string_view start = {}) {
  std::vector<std::string_view> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  return text_schema(
      fmt::format("^{}[0-9]+(\\.[0-9]*)?([eE][+-]?[0-9]+)? ?({})$", start, fmt::join(names, "|")));
}

[[nodiscard]] double read(const ValueReader& value, std::span<const Unit> units,
                          std::string_view expected) {
  if (value.describes()) value.allow(schema_of_units(units));
  if (value.value() == nullptr) return 0;  // missing: reported
  if (const auto* text = value.value()->get_if<std::string>())
    if (const auto number = parse(*text, units)) return *number;
  value.refuse(expected);
  return 0;
}

}  // namespace

std::optional<LongTime> parse_long_time(std::string_view text) {
  const auto seconds = parse(text, kTimeUnits);
  if (!seconds || !(*seconds <= kLongest)) return std::nullopt;
  return LongTime::seconds(*seconds);
}

LongTime read_time(const ValueReader& value) {
  if (value.describes()) value.allow(schema_of_units(kTimeUnits));
  if (value.value() == nullptr) return {};
  if (const auto* text = value.value()->get_if<std::string>())
    if (const auto time = parse_long_time(*text)) return *time;
  value.refuse(kLongTimeWords);
  return {};
}

LongTime read_positive_time(const ValueReader& value) {
  if (value.describes()) {
    value.allow(schema_of_units(kTimeUnits, "(?=[0.]*[1-9])"));
    return LongTime::microseconds(1);
  }
  const LongTime out = read_time(value);
  if (out > LongTime{}) return out;
  const auto* text = value.value() == nullptr ? nullptr : value.value()->get_if<std::string>();
  if (text != nullptr && parse_long_time(*text)) value.refuse("a time above zero");
  return LongTime::microseconds(1);
}

std::optional<LongTime> read_optional_time(ObjectReader& in, const Key& key) {
  const auto at = in.optional(key);
  return at ? std::optional{read_time(*at)} : std::nullopt;
}

LongTime read_time_or_zero(ObjectReader& in, const Key& key) {
  return read_optional_time(in, key).value_or(LongTime{});
}

double read_watts(const ValueReader& value) {
  return read(value, kPowerUnits, "a power such as \"350 W\" (units W, kW, MW)");
}

double read_joules_per_flop(const ValueReader& value) {
  return read(value, kFlopEnergyUnits,
              "an energy per operation such as \"0.5 pJ/FLOP\" (units J, nJ, pJ, fJ)");
}

double read_joules_per_byte(const ValueReader& value) {
  return read(value, kByteEnergyUnits, "an energy per byte such as \"60 pJ/B\" (units J, nJ, pJ)");
}

}  // namespace lockstep::app
