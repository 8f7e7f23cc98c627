#include "tools/lockstep/options/assertion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/config/did_you_mean.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/table.hpp"

namespace lockstep::cli {

namespace {

using app::Relation;

constexpr std::string_view kForm = "a column, one of < <= > >= == != and a value";
constexpr std::size_t kMostRows = 3;

std::optional<double> number_in(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// The value in the unit of the key; what is allowed in `expected`.
std::optional<double> quantity(const std::string& key, const std::string& text,
                               std::string& expected) {
  expected = "a number";
  if (const auto plain = number_in(text)) return plain;
  if (key.ends_with("_Bps")) {
    expected = "a rate such as 5e10 or 50 GB/s";
    if (const auto rate = parse_rate(text)) return rate->bytes_per_second();
  } else if (key.ends_with("_s") && !key.ends_with("_per_s")) {
    expected = "a time such as 12, 12 s or 200 ms";
    if (const auto time = parse_duration(text)) return time->seconds();
  } else if (key.ends_with("_bytes")) {
    expected = "a size such as 4294967296 or 4 GiB";
    if (const auto size = parse_bytes(text)) return static_cast<double>(size->count());
  } else if (key.ends_with("_fraction")) {
    expected = "a fraction such as 0.4 or 40 %";
    if (text.ends_with('%'))
      if (const auto percent = number_in(text.substr(0, text.find_last_not_of(" %") + 1)))
        return *percent / 100;
  }
  return std::nullopt;
}

bool orders(Relation relation) {
  return relation != Relation::equal && relation != Relation::differs;
}

std::optional<double> number_of(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell.value))
    return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&cell.value)) return *number;
  return std::nullopt;
}

/// Values of different kinds are neither ordered nor equal.
bool holds(const Assertion& of, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell.value)) return false;
  if (const auto* wanted = std::get_if<double>(&of.value)) {
    const auto number = number_of(cell);
    return number && app::holds(*number, of.relation, *wanted);
  }
  if (const auto* wanted = std::get_if<bool>(&of.value)) {
    const auto* flag = std::get_if<bool>(&cell.value);
    return flag != nullptr && app::holds(*flag, of.relation, *wanted);
  }
  const auto* text = std::get_if<std::string>(&cell.value);
  return text != nullptr && app::holds(*text, of.relation, std::get<std::string>(of.value));
}

std::size_t column_of(const Assertion& of, const Report& report) {
  const auto at = std::find_if(report.columns.begin(), report.columns.end(),
                               [&](const Column& column) { return column.key == of.key; });
  if (at != report.columns.end()) return static_cast<std::size_t>(at - report.columns.begin());
  std::vector<std::string_view> keys;
  for (const Column& column : report.columns) keys.push_back(column.key);
  const auto near = did_you_mean(of.key, keys);
  throw UsageError(fmt::format("{}: \"{}\": no column \"{}\"{}; there are {}", of.option, of.text,
                               of.key, near ? fmt::format(" (did you mean \"{}\"?)", *near) : "",
                               fmt::join(keys, ", ")));
}

/// Identifies a row: the first three columns whose values differ between rows.
std::string name_of(const std::vector<Cell>& row, std::size_t asserted, const Report& report) {
  std::string out;
  std::size_t named = 0;
  for (std::size_t column = 0; column < report.columns.size() && named < 3; ++column) {
    if (column == asserted || column >= row.size()) continue;
    const std::string value = plain(row[column]);
    bool differs = false;
    for (const Section& section : report.sections)
      for (const auto& other : section.rows)
        differs = differs || column >= other.size() || plain(other[column]) != value;
    if (!differs) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", report.columns[column].key, value);
    ++named;
  }
  return out;
}

void check(const Assertion& of, const Report& report, AssertedRows rows) {
  const std::size_t column = column_of(of, report);
  std::vector<std::string> against;
  std::size_t failed = 0;
  std::size_t seen = 0;
  for (const Section& section : report.sections) {
    for (const auto& row : section.rows) {
      if (rows == AssertedRows::first && seen > 0) break;
      ++seen;
      const Cell cell = column < row.size() ? row[column] : Cell{};
      if (holds(of, cell)) continue;
      if (++failed > kMostRows) continue;
      const std::string value = plain(cell);
      const std::string name = rows == AssertedRows::all ? name_of(row, column, report) : "";
      against.push_back(fmt::format("{} {}{}", of.key,
                                    value.empty() ? "has no value" : "is " + value,
                                    name.empty() ? "" : " (" + name + ")"));
    }
  }
  if (seen == 0)
    throw AssertionFailed(fmt::format("{}: \"{}\": there is no row", of.option, of.text));
  if (failed == 0) return;
  const std::string more =
      failed > kMostRows ? fmt::format("; and {} more of {}", failed - kMostRows, seen) : "";
  throw AssertionFailed(fmt::format("{}: \"{}\" does not hold: {}{}", of.option, of.text,
                                    fmt::join(against, "; "), more));
}

}  // namespace

Assertion parse_assertion(const std::string& text, const std::string& option) {
  const auto condition = app::parse_condition(text);
  if (!condition)
    throw UsageError(
        fmt::format("{}: \"{}\": expected {}, such as 'step_time_s < 12'", option, text, kForm));
  Assertion out{option, text, condition->left, condition->relation, {}};
  const std::string& value = condition->right;
  std::string expected;
  if (const auto number = quantity(out.key, value, expected)) {
    out.value = *number;
  } else if (orders(out.relation) || expected != "a number") {
    throw UsageError(
        fmt::format("{}: \"{}\": expected {}, got \"{}\"", option, text, expected, value));
  } else if (value == "true" || value == "false") {
    out.value = value == "true";
  } else {
    out.value = value;
  }
  return out;
}

bool holds_for(const Assertion& assertion, const Report& report) {
  const std::size_t column = column_of(assertion, report);
  for (const Section& section : report.sections)
    for (const auto& row : section.rows)
      return column < row.size() && holds(assertion, row[column]);
  return false;
}

void check_assertions(const std::vector<Assertion>& assertions, const Report& report,
                      AssertedRows rows) {
  for (const Assertion& each : assertions) (void)column_of(each, report);
  for (const Assertion& each : assertions) check(each, report, rows);
}

std::vector<Assertion> parse_assertions(const std::vector<std::string>& texts) {
  std::vector<Assertion> out;
  out.reserve(texts.size());
  for (const std::string& each : texts) out.push_back(parse_assertion(each));
  return out;
}

void add_assertions(const Command& command, std::vector<std::string>& texts,
                    const std::string& about) {
  command
      .add_option("--assert", texts,
                  fmt::format("Condition on a column of --format csv, e.g. {}; exit code 1 and the "
                              "reason where it does not hold; repeatable",
                              about))
      ->type_name("CONDITION")
      ->allow_extra_args(false);
}

}  // namespace lockstep::cli
