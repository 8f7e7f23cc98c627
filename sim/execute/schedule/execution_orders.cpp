#include "sim/execute/schedule/execution_orders.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

void add_starved(const Schedule& schedule, ExecuteOptions options, std::int64_t most,
                 std::vector<ExecuteOptions>& orders) {
  const std::int64_t lanes = schedule.lanes();
  const std::int64_t all = schedule.ranks() * lanes;
  const std::int64_t tried = std::clamp<std::int64_t>(most, 0, all);
  options.order = ExecuteOrder::starved;
  for (std::int64_t i = 0; i < tried; ++i) {
    const std::int64_t lane = i * all / tried;
    options.starved_rank = static_cast<int>(lane / lanes);
    options.starved_lane = static_cast<int>(lane % lanes);
    if (schedule.steps(options.starved_rank, options.starved_lane) > 0) orders.push_back(options);
  }
}

}  // namespace

std::vector<ExecuteOptions> execution_orders(const Schedule& schedule, const ExecuteOptions& base,
                                             std::int64_t most) {
  std::vector<ExecuteOptions> orders;
  for (const ExecuteOrder order :
       {ExecuteOrder::first_ready_first, ExecuteOrder::last_ready_first, ExecuteOrder::shuffled}) {
    if (std::ssize(orders) == most) return orders;
    orders.push_back(base);
    orders.back().order = order;
  }
  // One lane alone is in order with itself, except for what a single step receives.
  if (schedule.lanes() > 1) add_starved(schedule, base, most - std::ssize(orders), orders);
  return orders;
}

std::string to_text(const ExecuteOptions& options) {
  switch (options.order) {
    case ExecuteOrder::first_ready_first:
      return {};
    case ExecuteOrder::last_ready_first:
      return "where the last that can move moves first";
    case ExecuteOrder::shuffled:
      return fmt::format("in the order drawn from seed {}", options.seed);
    case ExecuteOrder::starved:
      break;
  }
  return fmt::format("where rank {}'s lane {} moves only when nothing else can",
                     options.starved_rank, options.starved_lane);
}

}  // namespace lockstep
