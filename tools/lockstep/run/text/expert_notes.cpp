#include "tools/lockstep/run/text/expert_notes.hpp"

#include <fmt/format.h>

#include "strategies/sharding/experts/expert_load.hpp"

namespace lockstep::cli {

namespace {

/// Whether all-to-alls of tokens have messages between each two ranks (token_skew()).
bool sends_straight(const ParallelConfig& plan) {
  if (plan.dispatcher == Dispatcher::deepep) return false;
  const auto named = plan.algorithms.find("ep");
  if (named == plan.algorithms.end()) return true;
  return !named->second.starts_with("bruck") && !named->second.starts_with("hierarchical");
}

}  // namespace

std::vector<std::string> expert_notes(const Scenario& scenario) {
  const ParallelConfig& plan = scenario.parallel;
  const TransformerConfig* model = scenario.model.transformer();
  if (model == nullptr || !model->experts || !plan.expert_skew) return {};
  const std::int64_t all = model->experts->experts;
  const std::int64_t local = all / plan.ep;
  const ExpertLoad loads{all, *plan.expert_skew, plan.capacity_factor};
  const double load = loads.of(local);
  std::vector<std::string> out{
      fmt::format("expert_skew {:g}: {:.4g} times the mean comes to the busiest rank, which has {} "
                  "of {} experts{}",
                  *plan.expert_skew, load, local, all, local == all ? ": as on every rank" : "")};
  if (local < all && load > loads.of_others()) {
    out.push_back(fmt::format(
        "the first rank of each group of {} has it in every layer, the others {:.4g} times the "
        "mean: GEMMs and {} follow; memory is counted as the first rank's, an upper bound for the "
        "others",
        plan.ep, loads.of_others(),
        sends_straight(plan) ? "the bytes between each two ranks"
                             : "not messages, all of which are those of the busiest,"));
  }
  if (plan.capacity_factor > 0 && plan.capacity_factor < *plan.expert_skew) {
    out.push_back(fmt::format(
        "capacity_factor {0:g} bounds expert_skew: no expert takes more than {0:g} times the mean, "
        "the rest is dropped",
        plan.capacity_factor));
  }
  return out;
}

}  // namespace lockstep::cli
