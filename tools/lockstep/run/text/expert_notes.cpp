#include "tools/lockstep/run/text/expert_notes.hpp"

#include <fmt/format.h>

#include "strategies/sharding/experts/expert_load.hpp"

namespace lockstep::cli {

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
        "every rank is taken to have that load, as all wait for the busiest: the others have "
        "{:.4g} times the mean, so their memory and traffic are upper bounds",
        loads.of_others()));
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
