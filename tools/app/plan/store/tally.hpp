#pragma once

#include <memory>
#include <vector>

#include "tools/app/plan/search.hpp"
#include "tools/app/plan/store/store.hpp"

namespace lockstep::app {

/// The result of a search that decided these points: the best of the simulated layouts and the
/// certificate, as the search itself states them.
[[nodiscard]] SearchResult tally(const PlanSpace& space,
                                 const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                 const SearchOptions& options,
                                 const std::vector<StoredRange>& ranges,
                                 std::vector<SimulatedLayout> simulated,
                                 std::vector<DroppedLayout> dropped);

}  // namespace lockstep::app
