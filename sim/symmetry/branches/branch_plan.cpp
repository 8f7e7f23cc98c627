#include "sim/symmetry/branches/branch_plan.hpp"

#include <algorithm>

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

class Writer {
 public:
  explicit Writer(const BranchWorkload& workload)
      : workload_{workload},
        call_{workload.workload.calls.front()},
        schedule_{*call_.schedule},
        lane_runs_{schedule_} {
    out_.lanes_each = static_cast<std::uint32_t>(schedule_.lanes());
    out_.connection_of.assign(workload.class_routes.size() * workload.channels, kNone);
  }

  std::optional<BranchPlan> run() {
    if (schedule_.slots() > 0 || workload_.network.links.size() > UINT8_MAX) return std::nullopt;
    for (const Link& link : workload_.network.links)
      out_.capacities.push_back(link.bandwidth.steps());
    for (std::uint32_t m = 0; m < workload_.attachment; ++m) {
      out_.reduce_rates.push_back(workload_.network.endpoints[call_.members[m]].reduce_rate);
      out_.starts.push_back(call_.starts.empty() ? TimePoint{} : call_.starts[m]);
      for (std::uint32_t l = 0; l < out_.lanes_each; ++l)
        if (!add_lane(m, l)) return std::nullopt;
    }
    if (!every_pair_has_a_member()) return std::nullopt;
    for (std::size_t i = 0; i < out_.connections.size(); ++i)
      for (std::size_t j = 0; j < out_.connections.size(); ++j)
        if (i != j && share_link(out_.connections[i], out_.connections[j]))
          out_.connections[i].rivals |= std::uint64_t{1} << j;
    return std::move(out_);
  }

 private:
  bool add_lane(std::uint32_t member, std::uint32_t lane) {
    const auto first_run = static_cast<std::uint32_t>(out_.runs.size());
    const auto id = static_cast<std::uint32_t>(out_.lanes.size());
    const bool fits = lane_runs_.read(
        member, lane,
        [&](const ScheduleStep& step, std::int64_t steps) { return add_run(id, step, steps); });
    if (!fits) return false;
    out_.lanes.push_back({member, first_run, static_cast<std::uint32_t>(out_.runs.size())});
    return true;
  }

  bool add_run(std::uint32_t lane, const ScheduleStep& step, std::int64_t steps) {
    if (!step.after.empty() || !step.locals.empty()) return false;
    const auto first = static_cast<std::uint32_t>(out_.ends.size());
    const std::int64_t block = call_.block.count();
    for (const Receive& receive : step.receives) {
      const std::int64_t bytes = step.blocks_of(receive) * block;
      if (!add_end(lane, first, receive.channel,
                   {0, false, receive.combine == Combine::reduce, bytes, bytes * receive.times}))
        return false;
    }
    for (const Send& send : step.sends)
      if (!add_end(lane, first, send.channel, {0, true, false, step.blocks_of(send) * block, 0}))
        return false;
    out_.runs.push_back({steps, first, static_cast<std::uint32_t>(out_.ends.size())});
    return true;
  }

  /// A connection is of one lane at this end, and once in a step.
  bool add_end(std::uint32_t lane, std::uint32_t first, int channel, BranchPlan::End end) {
    const auto connection = connection_of(static_cast<std::uint32_t>(channel));
    if (!connection) return false;
    end.connection = *connection;
    BranchPlan::Connection& of = out_.connections[*connection];
    std::uint32_t& known = end.sends ? of.sender : of.receiver;
    if (known != BranchPlan::kAttachment && known != lane) return false;
    known = lane;
    for (std::size_t i = first; i < out_.ends.size(); ++i)
      if (out_.ends[i].connection == end.connection && out_.ends[i].sends == end.sends)
        return false;
    out_.ends.push_back(end);
    return true;
  }

  std::optional<std::uint32_t> connection_of(std::uint32_t channel) {
    std::uint32_t& known = out_.connection_of[channel];
    if (known != kNone) return known;
    const Route* route = workload_.network.router->held_route(channel);
    if (out_.connections.size() == BranchPlan::kMostConnections || route == nullptr ||
        route->hops.size() > BranchPlan::kMostHops)
      return std::nullopt;
    BranchPlan::Connection added;
    added.latency_ps = route->latency.ps();
    for (const Hop& hop : route->hops) {
      if (hop.weight != kWeightUnit) return std::nullopt;
      const std::uint64_t capacity = out_.capacities[hop.link];
      added.alone = added.hops == 0 ? capacity : std::min(added.alone, capacity);
      added.links[added.hops++] = static_cast<std::uint8_t>(hop.link);
    }
    known = static_cast<std::uint32_t>(out_.connections.size());
    out_.connections.push_back(added);
    return known;
  }

  /// Attachments of a class may also talk to each other over links of the branch.
  [[nodiscard]] bool every_pair_has_a_member() const {
    for (std::size_t pair = 0; pair < workload_.class_routes.size(); ++pair) {
      const auto first =
          out_.connection_of.begin() + static_cast<std::ptrdiff_t>(pair * workload_.channels);
      if (std::all_of(first, first + workload_.channels,
                      [](std::uint32_t known) { return known == kNone; }))
        return false;
    }
    return true;
  }

  [[nodiscard]] static bool share_link(const BranchPlan::Connection& a,
                                       const BranchPlan::Connection& b) {
    return std::any_of(a.links.begin(), a.links.begin() + a.hops, [&b](std::uint8_t link) {
      return std::find(b.links.begin(), b.links.begin() + b.hops, link) != b.links.begin() + b.hops;
    });
  }

  const BranchWorkload& workload_;
  const CollectiveCall& call_;
  const Schedule& schedule_;
  LaneRuns lane_runs_;
  BranchPlan out_;
};

}  // namespace

std::optional<BranchPlan> make_branch_plan(const BranchWorkload& workload, NetworkModel model) {
  if (model != NetworkModel::fluid) return std::nullopt;
  return Writer{workload}.run();
}

}  // namespace lockstep::fold
