#include "tools/lockstep/collective/limited_by.hpp"

#include <fmt/format.h>

namespace lockstep::cli {

std::string limited_by(const CollectiveRow& row) {
  constexpr double kMost = 0.5;
  const double time = row.result.time.seconds();
  if (row.result.busy < kMost && row.counts.rounds && time > 0) {
    const std::int64_t rounds = *row.counts.rounds;
    if (static_cast<double>(rounds) * row.bound.latency.seconds() >= kMost * time)
      return fmt::format("latency ({} round{})", rounds, rounds == 1 ? "" : "s");
  }
  if (row.result.busiest_link.empty()) return "-";
  return fmt::format("{} ({:.0f} %)", row.result.busiest_link, 100 * row.result.busy);
}

}  // namespace lockstep::cli
