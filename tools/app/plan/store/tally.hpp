#pragma once

#include <memory>
#include <vector>

#include "tools/app/plan/search.hpp"
#include "tools/app/plan/store/store.hpp"

namespace lockstep::app {

/// The result of a search that decided these points: best layouts and certificate, as
/// search_space() returns them.
[[nodiscard]] SearchResult tally(const PlanSpace& space,
                                 const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                 const SearchOptions& options,
                                 const std::vector<StoredRange>& ranges,
                                 std::vector<SimulatedLayout> simulated,
                                 std::vector<DroppedLayout> dropped);

}  // namespace lockstep::app
