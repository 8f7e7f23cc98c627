#pragma once

#include <cstdint>
#include <string>

#include "tools/app/collective/run_collective.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

enum class LinkNames : std::uint8_t {
  whole,
  kinds,  // "gpu -> nvswitch": without the names of nodes and without numbers
};

/// What most of a collective's time is due to, by two figures of its result:
/// - "node0/gpu0 -> node0/nvswitch0 (98 %)": the busiest link and its share of the time;
/// - "latency (62 rounds)": that link is busy for less than half of the time, and as many rounds at
///   the latency between the two furthest ranks would take half of it or more.
[[nodiscard]] std::string limited_by(const CollectiveRow& row, LinkNames names);

}  // namespace lockstep::cli
