#include "strategies/verification/replicate.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/execute/program/scheduled_exchange.hpp"

namespace lockstep {

namespace {

/// Holders of the same elements of the same copy of a weight.
template <class Real>
[[nodiscard]] std::vector<std::vector<BasicHeldWeight<Real>>> alike(
    const std::vector<BasicHeldWeight<Real>>& weights) {
  using Key = std::tuple<std::string, int, std::vector<std::int64_t>>;
  std::map<Key, std::vector<BasicHeldWeight<Real>>> sets;
  for (const BasicHeldWeight<Real>& weight : weights) {
    if (weight.layout->filled() == 0) continue;  // a shard of nothing but padding
    sets[{weight.copy, weight.position, weight.layout->global_indices()}].push_back(weight);
  }
  std::vector<std::vector<BasicHeldWeight<Real>>> out;
  for (auto& [key, set] : sets) {
    if (set.size() > 1) out.push_back(std::move(set));
  }
  return out;
}

template <class Real>
void broadcast(const std::vector<BasicHeldWeight<Real>>& holders, GroupSchedules& schedules) {
  Communication how;
  how.collective = Collective::broadcast;
  how.group = "replicas";
  std::vector<std::vector<ExchangePart<Real>>> parts(1);
  for (const BasicHeldWeight<Real>& holder : holders) {
    ExchangePart<Real> part;
    if (&holder == &holders.front()) {
      part.from = holder.layout;
      part.brought = holder.values;
    } else {
      std::fill(holder.values->begin(), holder.values->end(),
                std::numeric_limits<Real>::quiet_NaN());
    }
    part.to = holder.layout;
    parts.front().push_back(std::move(part));
  }
  std::vector<int> members;
  for (const BasicHeldWeight<Real>& holder : holders) members.push_back(holder.rank);
  const Bytes message{std::ssize(*holders.front().values) * std::int64_t{sizeof(Real)}};
  exchange_by(*schedules.of(how, members, 0, message), how, 1, parts);
  for (std::size_t k = 1; k < holders.size(); ++k) *holders[k].values = parts.front()[k].got;
}

}  // namespace

template <class Real>
int replicate(BasicProgramExecution<Real>& execution, GroupSchedules& schedules) {
  std::set<int> reached;
  for (const auto& holders : alike(execution.weights())) {
    broadcast(holders, schedules);
    for (std::size_t k = 1; k < holders.size(); ++k) reached.insert(holders[k].rank);
  }
  return static_cast<int>(reached.size());
}

template int replicate(BasicProgramExecution<float>&, GroupSchedules&);
template int replicate(BasicProgramExecution<double>&, GroupSchedules&);

}  // namespace lockstep
