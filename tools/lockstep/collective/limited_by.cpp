#include "tools/lockstep/collective/limited_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace lockstep::cli {

namespace {

/// "node0/gpu12 -> node0/nvswitch3" as "gpu -> nvswitch": without nodes and numbers.
std::string kinds_of(const std::string& link) {
  constexpr std::string_view kNode = "node";
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  for (auto at = link.begin(); at != link.end();) {
    const std::string_view rest{at, link.end()};
    const auto digits = rest.starts_with(kNode) ? at + kNode.size() : at;
    const auto end = std::find_if_not(digits, link.end(), is_digit);
    const bool node = digits != at && end != digits && end != link.end() && *end == '/';
    if (node) {
      at = end + 1;
    } else if (is_digit(*at)) {
      at = end;
    } else {
      out += *at++;
    }
  }
  return out;
}

}  // namespace

std::string limited_by(const CollectiveRow& row, LinkNames names) {
  constexpr double kMost = 0.5;
  const double time = row.result.time.seconds();
  if (row.result.busy < kMost && row.counts.rounds && time > 0) {
    const std::int64_t rounds = *row.counts.rounds;
    if (static_cast<double>(rounds) * row.bound.latency.seconds() >= kMost * time)
      return fmt::format("latency ({} round{})", rounds, rounds == 1 ? "" : "s");
  }
  constexpr double kIdle = 0.1;  // no link is that little used but by waiting for messages
  if (row.result.busy < kIdle && time > 0) return "latency";
  if (row.result.busiest_link.empty()) return "-";
  const std::string& link = row.result.busiest_link;
  return fmt::format("{} ({:.0f} %)", names == LinkNames::kinds ? kinds_of(link) : link,
                     100 * row.result.busy);
}

}  // namespace lockstep::cli
