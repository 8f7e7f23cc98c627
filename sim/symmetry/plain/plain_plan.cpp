#include "sim/symmetry/plain/plain_plan.hpp"

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

class Writer {
 public:
  explicit Writer(const Quotient& quotient)
      : quotient_{quotient},
        call_{quotient.workload.calls.front()},
        schedule_{*call_.schedule},
        lane_runs_{schedule_},
        connection_of_(quotient.class_routes.size() * quotient.channels, kNone) {
    out_.lanes_each = static_cast<std::uint32_t>(schedule_.lanes());
    for (const Link& link : quotient.network.links)
      out_.links.push_back({link.bandwidth.steps(), {}});
  }

  std::optional<PlainPlan> run() {
    if (!endpoints_are_plain()) return std::nullopt;
    for (std::uint32_t m = 0; m < call_.members.size(); ++m) {
      out_.reduce_rates.push_back(quotient_.network.endpoints[call_.members[m]].reduce_rate);
      out_.starts.push_back(call_.starts.empty() ? TimePoint{} : call_.starts[m]);
      for (std::uint32_t l = 0; l < out_.lanes_each; ++l)
        if (!add_lane(m, l)) return std::nullopt;
    }
    for (PlainPlan::Connection& each : out_.connections) {
      if (each.sender == kNone || each.receiver == kNone) return std::nullopt;
      if (!out_.reduce_rates[out_.lanes[each.receiver].member]) each.reduced = 0;
    }
    return std::move(out_);
  }

 private:
  /// Messages leave as they are matched, and a member is alone at its endpoint.
  [[nodiscard]] bool endpoints_are_plain() const {
    std::vector<bool> taken(quotient_.network.endpoints.size(), false);
    for (const EndpointId id : call_.members) {
      if (taken[id] || quotient_.network.endpoints[id].message_overhead > Duration{}) return false;
      taken[id] = true;
    }
    return true;
  }

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
      PlainPlan::Connection* of =
          add_end(lane, first, receive.channel, false, step.blocks_of(receive) * block);
      if (of == nullptr) return false;
      const bool reduces = receive.combine == Combine::reduce;
      if (reduces && of->bytes == 0) return false;  // it waits for the reductions before it
      const std::int64_t reduced = reduces ? of->bytes * receive.times : 0;
      if (of->receiver != kNone && of->reduced != reduced) return false;
      of->receiver = lane;
      of->reduced = reduced;
    }
    for (const Send& send : step.sends) {
      PlainPlan::Connection* of =
          add_end(lane, first, send.channel, true, step.blocks_of(send) * block);
      if (of == nullptr) return false;
      of->sender = lane;
      out_.transfers += static_cast<std::uint64_t>(steps);
    }
    out_.runs.push_back({steps, first, static_cast<std::uint32_t>(out_.ends.size())});
    return true;
  }

  /// A connection is of one lane at this end, once in a step, and of messages of one length.
  PlainPlan::Connection* add_end(std::uint32_t lane, std::uint32_t first, int channel, bool sends,
                                 std::int64_t bytes) {
    const auto connection = connection_of(static_cast<std::uint32_t>(channel));
    if (!connection) return nullptr;
    PlainPlan::Connection& of = out_.connections[*connection];
    const std::uint32_t known = sends ? of.sender : of.receiver;
    if ((known != kNone && known != lane) || (of.bytes >= 0 && of.bytes != bytes)) return nullptr;
    of.bytes = bytes;
    if (out_.ends.size() - first == PlainPlan::kMostEnds) return nullptr;
    for (std::size_t i = first; i < out_.ends.size(); ++i)
      if (out_.ends[i].connection == *connection && out_.ends[i].sends == sends) return nullptr;
    out_.ends.push_back({*connection, sends});
    return &of;
  }

  std::optional<std::uint32_t> connection_of(std::uint32_t channel) {
    std::uint32_t& known = connection_of_[channel];
    if (known != kNone) return known;
    const Route& route = quotient_.class_routes[channel / quotient_.channels].route;
    if (route.hops.size() > PlainPlan::kMostHops || route.latency <= Duration{})
      return std::nullopt;
    known = static_cast<std::uint32_t>(out_.connections.size());
    PlainPlan::Connection& added = out_.connections.emplace_back();
    added.latency_ps = route.latency.ps();
    for (const Hop& hop : route.hops) {
      std::vector<std::uint32_t>& users = out_.links[hop.link].users;
      const bool twice = !users.empty() && users.back() == known;
      if (hop.weight != kWeightUnit || twice || users.size() == PlainPlan::kMostOnLink)
        return std::nullopt;
      added.over[added.hops++] = {hop.link, static_cast<std::uint32_t>(users.size())};
      users.push_back(known);
    }
    return known;
  }

  const Quotient& quotient_;
  const CollectiveCall& call_;
  const Schedule& schedule_;
  LaneRuns lane_runs_;
  std::vector<std::uint32_t> connection_of_;  // per channel
  PlainPlan out_;
};

}  // namespace

std::optional<PlainPlan> make_plain_plan(const Quotient& quotient, NetworkModel model) {
  if (model != NetworkModel::fluid || quotient.workload.calls.size() != 1) return std::nullopt;
  const CollectiveCall& call = quotient.workload.calls.front();
  if (call.traffic_weight != 1 || call.schedule->slots() > 0) return std::nullopt;
  return Writer{quotient}.run();
}

}  // namespace lockstep::fold
