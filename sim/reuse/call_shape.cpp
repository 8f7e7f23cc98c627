#include "sim/reuse/call_shape.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/reuse/schedule_step_counts.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

[[nodiscard]] std::uint64_t steps_of(const std::optional<Rate>& rate) {
  return rate ? rate->steps() : 0;
}

}  // namespace

CallShapes::CallShapes(const Network& network)
    : network_{network}, routes_{network.endpoints.size()}, number_(network.links.size(), kNone) {}

CallShape CallShapes::of(const CollectiveCall& call) {
  out_ = {};
  channels_.clear();
  fold::KeyBuilder key;
  add_members(call, key);
  for (int member = 0; member < call.schedule->ranks(); ++member)
    for (int lane = 0; lane < call.schedule->lanes(); ++lane) add_lane(call, member, lane, key);
  out_.key = key.key();
  std::sort(out_.ways.begin(), out_.ways.end());
  out_.ways.erase(std::unique(out_.ways.begin(), out_.ways.end()), out_.ways.end());
  for (const LinkId link : out_.links) number_[link] = kNone;
  return std::move(out_);
}

void CallShapes::add_members(const CollectiveCall& call, fold::KeyBuilder& key) {
  std::map<EndpointId, std::uint64_t> first;
  key.add(call.schedule->ranks()).add(call.schedule->lanes()).add(call.schedule->slots());
  key.add(call.traffic_weight);
  for (const EndpointId member : call.members) {
    const Endpoint& endpoint = network_.endpoints[member];
    key.add(first.try_emplace(member, first.size()).first->second);
    key.add(steps_of(endpoint.reduce_rate)).add(steps_of(endpoint.copy_rate));
  }
}

void CallShapes::add_lane(const CollectiveCall& call, int member, int lane, fold::KeyBuilder& key) {
  const std::int64_t steps = call.schedule->steps(member, lane);
  const StepSizes sizes{*call.schedule};
  key.add(steps);
  fold::ScheduleStepCounts{call.schedule->phases()}.visit(
      steps, [&](std::int64_t index, std::int64_t times) {
        step_.clear();
        sizes.read(member, lane, index, step_);
        key.add(index).add(times);
        add_step(call, member, key);
      });
}

void CallShapes::add_step(const CollectiveCall& call, int member, fold::KeyBuilder& key) {
  const auto at = static_cast<std::size_t>(member);
  const Endpoint& endpoint = network_.endpoints[call.members[at]];
  const std::int64_t block = call.block.count();
  key.add(static_cast<std::uint64_t>(step_.sends.size()));
  for (const Send& send : step_.sends) {
    key.add(send.peer).add(number(send.channel)).add(step_.blocks_of(send) * block);
    const MessageWay way{call.members[at], call.members[static_cast<std::size_t>(send.peer)],
                         static_cast<std::uint32_t>(send.channel)};
    out_.ways.push_back(way);
    add_way(route(way.from, way.to, way.tag), key);
  }
  key.add(static_cast<std::uint64_t>(step_.receives.size()));
  for (const Receive& receive : step_.receives) {
    const bool reduces = receive.combine == Combine::reduce;
    key.add(receive.peer).add(number(receive.channel)).add(step_.blocks_of(receive) * block);
    key.add((reduces ? 1 : 0) + (receive.forwarded ? 2 : 0)).add(receive.times);
    out_.works = out_.works || (reduces && endpoint.reduce_rate);
  }
  key.add(static_cast<std::uint64_t>(step_.locals.size()));
  for (const LocalOperation& local : step_.locals) {
    const bool reduces = local.combine == Combine::reduce;
    key.add(reduces ? 1 : 0).add(local.to.count * block);
    out_.works = out_.works || (reduces ? endpoint.reduce_rate : endpoint.copy_rate).has_value();
  }
  key.add(static_cast<std::uint64_t>(step_.after.size()));
  for (const ScheduleStepRef& ref : step_.after) key.add(ref.lane).add(ref.step);
}

void CallShapes::add_way(const Route& route, fold::KeyBuilder& key) {
  key.add(route.latency.ps()).add(static_cast<std::uint64_t>(route.hops.size()));
  for (const Hop& hop : route.hops) {
    std::uint32_t& number = number_[hop.link];
    if (number == kNone) {
      number = static_cast<std::uint32_t>(out_.links.size());
      out_.links.push_back(hop.link);
      const Link& link = network_.links[hop.link];
      key.add(link.bandwidth.steps()).add(link.port ? 1 : 0);
    }
    key.add(number).add(hop.weight);
  }
}

std::uint64_t CallShapes::number(int channel) {
  return channels_.try_emplace(channel, channels_.size()).first->second;
}

const Route& CallShapes::route(EndpointId from, EndpointId to, std::uint32_t channel) {
  const Route* found = routes_.find(*network_.router, from, to, channel);
  LOCKSTEP_CHECK(found != nullptr);
  return *found;
}

}  // namespace lockstep
