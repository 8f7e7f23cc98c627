#include "tools/app/plan/store/stored_plan.hpp"

#include <memory>
#include <optional>
#include <vector>

#include "tools/app/plan/store/store.hpp"

namespace lockstep::app {

namespace {

/// A search that goes on from what the file has.
[[nodiscard]] SearchResult search_into_store(
    const StoredPlanRequest& request, const PlanSpace& space,
    const std::vector<std::unique_ptr<PlanSetting>>& settings, SearchOptions options,
    const PlanRequest& plan) {
  PlanSpace stored = space;  // with the layout to compare with
  stored.current = current_layout(space, plan);
  const StoreIdentity identity{
      request.tool_version, space.hash(), space_text(stored),
      stored_options(plan, settings, stored.current ? &*stored.current : nullptr)};
  PlanStore store{request.store, request.resume, identity,      shard_text(plan),
                  space,         settings,       options.prices};
  options.known = store.known();
  options.on_simulated = [&](const SimulatedLayout& layout) { store.add(layout); };
  options.on_progress = [&](const SearchProgress& progress) {
    store.end_batch();
    if (plan.on_progress) plan.on_progress(progress);
  };
  SearchResult found = search_space(space, settings, options);
  const auto slice = [&](std::uint64_t shard) {
    return static_cast<std::uint64_t>(static_cast<UInt128>(space.size()) * shard / options.shards);
  };
  store.finish(found, {{slice(options.shard), slice(options.shard + 1), found.complete,
                        found.certificate.rules, found.memory_by_bound, found.limits_by_bound}});
  return found;
}

}  // namespace

PlanResult plan_into_store(const StoredPlanRequest& request) {
  return plan(request.plan,
              [&](const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
                  const SearchOptions& options, const PlanRequest& resolved) {
                return search_into_store(request, space, settings, options, resolved);
              });
}

}  // namespace lockstep::app
