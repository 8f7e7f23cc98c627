#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "strategies/interop/goal/goal_workload.hpp"
#include "tests/fuzz/told.hpp"

using namespace lockstep;

namespace {

constexpr int kMostRanksTried = 4096;

/// What the engine counts on.
void check(const Workload& workload) {
  for (const Stream& stream : workload.streams) {
    if (stream.operations.empty() || stream.operations.size() > 2) std::abort();
    for (const ActivityRef& ref : stream.operations[0].after)
      if (ref.stream >= workload.streams.size() ||
          ref.index >= workload.streams[ref.stream].operations.size())
        std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  fuzz::told([text] {
    const GoalSchedule schedule = parse_goal(text, "fuzz");
    if (schedule.ranks > kMostRanksTried) return;
    std::vector<EndpointId> members(static_cast<std::size_t>(schedule.ranks));
    std::iota(members.begin(), members.end(), EndpointId{0});
    check(to_workload(schedule, members));
  });
  return 0;
}
