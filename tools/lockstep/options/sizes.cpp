#include "tools/lockstep/options/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 50;  // 1 PiB

/// Bytes of a unit: K and KiB are 1024, kB and KB are 1000.
std::optional<std::int64_t> unit_of(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  constexpr std::string_view kPrefixes = "kKmMgGtT";
  const std::size_t prefix = kPrefixes.find(unit.front());
  const std::string_view rest = unit.substr(1);
  if (prefix == kPrefixes.npos || (!rest.empty() && rest != "iB" && rest != "B"))
    return std::nullopt;
  std::int64_t out = 1;
  for (std::size_t i = 0; i <= prefix / 2; ++i) out *= rest == "B" ? 1000 : 1024;
  return out;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of("0123456789", at), text.size()) - at;
}

/// Digits with at most one point among them and an exponent after them.
struct Decimal {
  std::int64_t digits = 0;
  std::int64_t exponent = 0;  // of ten
  std::size_t length = 0;     // of the text
};

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal out;
  std::size_t at = digits_at(text, 0);
  std::string digits{text.substr(0, at)};
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits_at(text, at + 1);
    if (fraction == 0) return std::nullopt;
    digits += text.substr(at + 1, fraction);
    out.exponent = -static_cast<std::int64_t>(fraction);
    at += 1 + fraction;
  }
  if (digits.empty() || digits.size() > 15 || text.front() == '.') return std::nullopt;
  for (const char digit : digits) out.digits = out.digits * 10 + (digit - '0');
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::size_t count = digits_at(text, at + 1);
    if (count == 0 || count > 2) return std::nullopt;
    std::int64_t exponent = 0;
    for (const char digit : text.substr(at + 1, count)) exponent = exponent * 10 + (digit - '0');
    out.exponent += exponent;
    at += 1 + count;
  }
  out.length = at;
  return out;
}

/// What to write for "1K..1G" or "1K-1G"; empty for anything else.
std::string range_instead(std::string_view text) {
  for (const std::string_view separator : {"..", "-", ":"}) {
    const std::size_t at = text.find(separator);
    if (at == text.npos) continue;
    const std::string_view first = text.substr(0, at);
    const std::string_view last = text.substr(at + separator.size());
    if (parse_size(first) && parse_size(last))
      return fmt::format("; a range is -b {} -e {} -f 2", first, last);
  }
  return {};
}

}  // namespace

std::optional<Bytes> parse_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  auto number = decimal_of(text);
  if (!number) return std::nullopt;
  std::string_view unit = text.substr(number->length);
  if (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  const auto scale = unit_of(unit);
  if (!scale) return std::nullopt;
  __extension__ using Wide = __int128;  // 15 digits times 1024^4 fit
  Wide value = Wide{number->digits} * *scale;
  for (; number->exponent > 0 && value != 0; --number->exponent) {
    value *= 10;
    if (value > kMost) return std::nullopt;
  }
  for (; number->exponent < 0; ++number->exponent) {
    if (value % 10 != 0) return std::nullopt;  // a part of a byte
    value /= 10;
  }
  if (value > kMost) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(value)};
}

Bytes size_option(std::string_view name, std::string_view text) {
  if (const auto size = parse_size(text)) return *size;
  throw UsageError(fmt::format(
      "{}: expected a size such as 8, 64K, 1.5M or 64MiB (powers of 1024), 8MB or 1e6, at most "
      "1024T, got \"{}\"{}",
      name, text, range_instead(text)));
}

}  // namespace lockstep::cli
