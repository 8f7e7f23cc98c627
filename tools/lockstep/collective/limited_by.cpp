#include "tools/lockstep/collective/limited_by.hpp"

#include <fmt/format.h>

#include <regex>

namespace lockstep::cli {

namespace {

/// "node0/gpu12 -> node0/nvswitch3" as "gpu -> nvswitch": without nodes and numbers.
std::string kinds_of(const std::string& link) {
  static const std::regex numbers{"node[0-9]+/|[0-9]+"};
  return std::regex_replace(link, numbers, "");
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
  if (row.result.busiest_link.empty()) return "-";
  const std::string& link = row.result.busiest_link;
  return fmt::format("{} ({:.0f} %)", names == LinkNames::kinds ? kinds_of(link) : link,
                     100 * row.result.busy);
}

}  // namespace lockstep::cli
