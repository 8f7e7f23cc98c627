#include "tools/lockstep/run/text/aligned.hpp"

#include <fmt/format.h>

namespace lockstep::cli {

TimeColumn::TimeColumn(Duration largest) {
  const double seconds = largest.seconds();
  if (seconds < 1e-3) {
    per_second_ = 1e6;
    unit_ = "us";
  } else if (seconds < 1) {
    per_second_ = 1e3;
    unit_ = "ms";
  }
  const double value = seconds * per_second_;
  decimals_ = value >= 1000 ? 1 : value >= 100 ? 2 : 3;
}

std::string TimeColumn::operator()(Duration time) const {
  return fmt::format("{:.{}f} {}", time.seconds() * per_second_, decimals_, unit_);
}

BytesColumn::BytesColumn(Bytes largest) {
  for (const char* unit : {"KiB", "MiB", "GiB", "TiB"}) {
    if (static_cast<double>(largest.count()) < 1024 * one_) break;
    one_ *= 1024;
    unit_ = unit;
  }
}

std::string BytesColumn::operator()(Bytes bytes) const {
  const double value = static_cast<double>(bytes.count()) / one_;
  return fmt::format("{:.{}f} {}", value, one_ > 1 ? 2 : 0, unit_);
}

std::string with_commas(double number) {
  std::string out = fmt::format("{:.0f}", number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

std::string calendar_text(double seconds) {
  constexpr double kDay = 86'400;
  constexpr double kYear = 365.25 * kDay;
  if (seconds >= 2 * kYear)
    return fmt::format("{:.1f} years ({} days)", seconds / kYear, with_commas(seconds / kDay));
  if (seconds >= 2 * kDay) return fmt::format("{:.1f} days", seconds / kDay);
  return fmt::format("{:.2f} hours", seconds / 3600);
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace lockstep::cli
