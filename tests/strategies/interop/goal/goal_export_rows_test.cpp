#include <doctest/doctest.h>

#include <numeric>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/interop/goal/goal_export.hpp"
#include "strategies/interop/goal/goal_workload.hpp"
#include "tests/sim/engine/star.hpp"

using namespace lockstep;

namespace {

constexpr Bytes kBlock{4096};

/// What hosts on a switch make of it; the replay must end.
ReplayResult replayed(const Workload& workload, int hosts) {
  ReplayResult result = replay(test::star(static_cast<std::size_t>(hosts), 1_GBps, 2_us), workload,
                               NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  return result;
}

}  // namespace

TEST_CASE("every algorithm of the table comes back from GOAL with the same bytes on every link") {
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    const AlgorithmInput input{.n = 8};
    if (!validate(row, input).empty()) continue;
    const SchedulePtr schedule = make_schedule(row, input);
    const std::string name = std::string{to_string(row.collective)} + " " + std::string{row.name};
    CAPTURE(name);
    std::vector<EndpointId> members(static_cast<std::size_t>(schedule->ranks()));
    std::iota(members.begin(), members.end(), EndpointId{0});
    Workload original;
    original.calls.push_back({name, schedule, members, kBlock, {}});
    const Workload imported =
        to_workload(parse_goal(write_goal(*schedule, {kBlock, {}, {}}), name), members);
    CHECK(replayed(imported, schedule->ranks()).link_bytes ==
          replayed(original, schedule->ranks()).link_bytes);
  }
}
