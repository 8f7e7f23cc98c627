#include "tools/lockstep/sizes.hpp"

#include <fmt/format.h>

#include "tools/lockstep/errors.hpp"

namespace lockstep::cli {

namespace {

std::optional<int> shift_of(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 0;
  if (suffix.size() > 1 && suffix.substr(1) != "iB") return std::nullopt;
  switch (suffix.front()) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    case 't':
    case 'T':
      return 40;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Bytes> parse_size(std::string_view text) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (digits == 15) return std::nullopt;
    value = value * 10 + (text[digits++] - '0');
  }
  const auto shift = shift_of(text.substr(digits));
  if (digits == 0 || !shift) return std::nullopt;
  const std::int64_t unit = std::int64_t{1} << *shift;
  constexpr std::int64_t kMost = std::int64_t{1} << 50;  // 1 PiB
  if (value > kMost / unit) return std::nullopt;
  return Bytes{value * unit};
}

Bytes size_option(std::string_view name, std::string_view text) {
  if (const auto size = parse_size(text)) return *size;
  throw UsageError(fmt::format(
      "{}: expected a size such as 8, 64K, 64M or 1G (powers of 1024, at most 1024T), got \"{}\"",
      name, text));
}

}  // namespace lockstep::cli
