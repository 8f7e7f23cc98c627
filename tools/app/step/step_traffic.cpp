#include "tools/app/step/step_traffic.hpp"

#include <algorithm>

#include "sim/trace/communication_index.hpp"
#include "strategies/step/lowering/lowering.hpp"

namespace lockstep::app {

namespace {

/// Calls `take(step, times)` for every step of a rank's lane, repeated ones once.
template <typename Take>
void walk(const Schedule& schedule, int rank, int lane, const Take& take) {
  const std::vector<lockstep::Phase> phases = schedule.phases();
  auto phase = phases.begin();
  const std::int64_t steps = schedule.steps(rank, lane);
  ScheduleStep step;
  for (std::int64_t index = 0; index < steps;) {
    while (phase != phases.end() && phase->first + phase->count <= index) ++phase;
    const bool repeats = phase != phases.end() && phase->first == index;
    const std::int64_t times = repeats ? std::min(phase->count, steps - index) : 1;
    step.clear();
    schedule.step(rank, lane, index, step);
    take(step, times);
    index += times;
  }
}

/// Of a collective by its contract, of a message its size.
Bytes bytes_of(const RoleProgram& role, const RoleOperation& operation) {
  switch (operation.operation->kind) {
    case OperationKind::send:
    case OperationKind::receive:
      return local_bytes(role.program->mesh, role.tensor(carried(operation)));
    default:
      return message_of(role, operation);
  }
}

}  // namespace

StepTraffic::StepTraffic(const TrainingStepResult& result)
    : program_{*result.step.timeline.program},
      cluster_{result.scenario.cluster.cluster, result.scenario.cluster.device, result.options},
      network_{cluster_.network(hosts_of(program_) > 0,
                                uses_fabric_switches(result.scenario.parallel.algorithms))},
      choice_{cluster_.cluster(),
              network_,
              cluster_.switches(uses_fabric_switches(result.scenario.parallel.algorithms)),
              cluster_.device(),
              cluster_.tuning(),
              result.scenario.parallel.algorithms,
              cluster_.model()} {}

EndpointId StepTraffic::endpoint(int rank) const {
  const int ranks = program_.mesh.ranks();
  return static_cast<EndpointId>(rank < ranks ? rank : rank + cluster_.cluster().ranks() - ranks);
}

void StepTraffic::add(EndpointId from, EndpointId to, double bytes,
                      std::map<LinkId, double>& links) const {
  Route route;
  if (from == to || !network_.router->route(from, to, route)) return;
  for (const Hop& hop : route.hops)
    links[hop.link] += bytes * static_cast<double>(hop.weight) / static_cast<double>(kWeightUnit);
}

const std::vector<StepTraffic::Flow>& StepTraffic::flows_of(const ChosenCollective& chosen) {
  const auto [found, is_new] = flows_.try_emplace(&chosen);
  if (!is_new) return found->second;
  const Schedule& schedule = *chosen.schedule;
  std::map<std::pair<int, int>, std::int64_t> blocks;
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (int lane = 0; lane < schedule.lanes(); ++lane)
      walk(schedule, rank, lane, [&](const ScheduleStep& step, std::int64_t times) {
        for (const Send& send : step.sends)
          blocks[{rank, send.peer}] += times * step.blocks_of(send);
      });
  for (const auto& [ends, count] : blocks)
    found->second.push_back({ends.first, ends.second, count});
  return found->second;
}

const CommunicationTraffic* StepTraffic::of(int rank, const RoleProgram& role,
                                            const RoleOperation& operation) {
  if (!has_ends(*operation.operation)) return nullptr;
  const std::tuple key{rank, operation.operation, bytes_of(role, operation).count()};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const CommunicationTraffic* out = operation.operation->kind == OperationKind::collective
                                        ? collective(rank, role, operation)
                                        : message(rank, role, operation);
  known_.emplace(key, out);
  return out;
}

const CommunicationTraffic* StepTraffic::collective(int rank, const RoleProgram& role,
                                                    const RoleOperation& operation) {
  const Communication& how = *operation.operation->communication;
  const Communicator who = communicator_of(program_, rank, how);
  const Bytes bytes = bytes_of(role, operation);
  if (who.members.size() < 2 || bytes == Bytes{}) return nullptr;
  std::vector<EndpointId> members;
  for (const int member : who.members) members.push_back(endpoint(member));
  const ChosenCollective& chosen =
      choice_.choose(how.collective, how.group, members, who.root, how.host.has_value(), bytes,
                     how.copies, token_skew(program_, *operation.operation));
  const auto [found, is_new] = collectives_.try_emplace({&chosen, who.members});
  CommunicationTraffic& out = found->second;
  if (!is_new) return &out;
  out.members = who.members;
  out.algorithm = chosen.text;
  const std::vector<EndpointId> places = choice_.participants(chosen, members);
  std::map<LinkId, double> links;
  for (const Flow& flow : flows_of(chosen))
    add(places[static_cast<std::size_t>(flow.from)], places[static_cast<std::size_t>(flow.to)],
        static_cast<double>(flow.blocks * chosen.block.count()), links);
  out.bytes.assign(links.begin(), links.end());
  return &out;
}

const CommunicationTraffic* StepTraffic::message(int rank, const RoleProgram& role,
                                                 const RoleOperation& operation) {
  const Communication& how = *operation.operation->communication;
  const int size = program_.mesh.size(how.over);
  const int position = program_.mesh.coordinate(rank, how.over) + how.offset + size;
  const int peer = program_.mesh.moved(rank, how.over, position % size);
  if (peer == rank) return nullptr;
  const bool receives = operation.operation->kind == OperationKind::receive;
  const int from = receives ? peer : rank;
  const int to = receives ? rank : peer;
  const std::int64_t bytes = bytes_of(role, operation).count();
  const auto [found, is_new] = messages_.try_emplace({from, to, bytes});
  CommunicationTraffic& out = found->second;
  if (!is_new) return &out;
  out.members = {from, to};
  std::map<LinkId, double> links;
  add(endpoint(from), endpoint(to), static_cast<double>(bytes), links);
  out.bytes.assign(links.begin(), links.end());
  return &out;
}

}  // namespace lockstep::app
