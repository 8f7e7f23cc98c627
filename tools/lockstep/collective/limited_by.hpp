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

/// The main limit of a collective's time, from two values of its result:
/// - "node0/gpu0 -> node0/nvswitch0 (98 %)": the busiest link and its share of the time;
/// - "latency (62 rounds)": that link is busy for less than half of the time, and as many rounds at
/// the latency between the two most distant ranks take at least half of it.
[[nodiscard]] std::string limited_by(const CollectiveRow& row, LinkNames names);

}  // namespace lockstep::cli
