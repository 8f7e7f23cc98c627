#include "strategies/step/replayed_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/check.hpp"
#include "sim/symmetry/fold.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {

ReplayedTimes::ReplayedTimes(const Program& program, const Cluster& cluster, const Network& network,
                             NetworkModel model, CollectiveChoice& choice,
                             std::function<EndpointId(int)> endpoint)
    : program_{program},
      cluster_{cluster},
      network_{network},
      model_{model},
      choice_{choice},
      endpoint_{std::move(endpoint)} {}

int ReplayedTimes::node_of(int rank) const {
  return lockstep::node_of(cluster_, static_cast<EndpointId>(rank));
}

std::vector<int> ReplayedTimes::ranks_of_node(int node) const {
  const int first = first_rank_of_node(cluster_, node);
  const int end = std::min(first + lockstep::ranks_of_node(cluster_, node), program_.mesh.ranks());
  std::vector<int> out;
  for (int rank = first; rank < end; ++rank) out.push_back(rank);
  return out;
}

/// Where ranks sit, from the first node that any of them is on where nodes are equal.
std::string ReplayedTimes::place_key(const std::vector<int>& ranks) const {
  const int base =
      has_equal_nodes(cluster_) ? first_rank_of_node(cluster_, node_of(ranks.front())) : 0;
  std::string out;
  for (const int rank : ranks) out += fmt::format("{},", rank - base);
  return out;
}

/// The group of a rank first, then all that share a node with one of them.
std::vector<std::vector<int>> ReplayedTimes::sister_groups(int rank,
                                                           const Communication& how) const {
  std::vector<std::vector<int>> out;
  std::set<int> grouped;
  std::set<int> nodes;
  std::vector<int> open{rank};
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (grouped.contains(next)) continue;
    if (!how.participants.empty()) {
      // Others along the communicator do something else meanwhile.
      const int position = program_.mesh.coordinate(next, how.over);
      if (std::find(how.participants.begin(), how.participants.end(), position) ==
          how.participants.end())
        continue;
    }
    std::vector<int> members = communicator_of(program_, next, how).members;
    for (const int member : members) {
      grouped.insert(member);
      if (member >= program_.mesh.ranks() || !nodes.insert(node_of(member)).second) continue;
      const std::vector<int> neighbours = ranks_of_node(node_of(member));
      open.insert(open.end(), neighbours.begin(), neighbours.end());
    }
    out.push_back(std::move(members));
  }
  return out;
}

ReplayedTimes::Outcome& ReplayedTimes::known_or_replayed(const std::string& key,
                                                         const std::function<Outcome()>& replayed) {
  auto found = known_.find(key);
  if (found == known_.end()) {
    found = known_.emplace(key, replayed()).first;
    found->second.uses.resize(program_.roles.size());
  }
  return found->second;
}

/// Where several ranks of a role are simulated, the first of them counts.
void ReplayedTimes::count_use(Outcome& outcome, int rank, std::size_t role) const {
  const Role& of = program_.roles[role];
  if (of.host || rank == program_.first_rank(of)) ++outcome.uses[role];
}

std::vector<Bytes> ReplayedTimes::link_bytes() const {
  std::vector<Bytes> most(network_.links.size());
  for (std::size_t role = 0; role < program_.roles.size(); ++role) {
    std::vector<Bytes> carried(network_.links.size());
    for (const auto& [key, outcome] : known_) {
      for (const auto& [link, bytes] : outcome.link_bytes) {
        carried[link] += bytes * outcome.uses[role];
      }
    }
    for (LinkId link = 0; link < most.size(); ++link) {
      most[link] = std::max(most[link], carried[link]);
    }
  }
  return most;
}

ReplayedTimes::Outcome ReplayedTimes::replayed(const Workload& workload, Duration launch) {
  const ReplayResult result = workload.streams.empty()
                                  ? replay_folded(network_, workload, model_).result
                                  : replay(network_, workload, model_);
  LOCKSTEP_CHECK(result.unfinished.empty());
  transfers_ += result.transfers;
  Outcome out{result.end.since_start() + launch};
  for (std::size_t i = 0; i < workload.streams.size(); ++i) {
    if (workload.streams[i].operations.front().kind != Activity::Kind::send) continue;
    out.sending = std::max(out.sending, result.stream_ends[i].front().since_start());
  }
  for (LinkId link = 0; link < result.link_bytes.size(); ++link) {
    if (result.link_bytes[link] > Bytes{})
      out.link_bytes.emplace_back(link, result.link_bytes[link]);
  }
  return out;
}

ReplayedTimes::Outcome ReplayedTimes::replay_groups(int rank, const Operation& operation,
                                                    Bytes message) {
  const Communication& how = *operation.communication;
  Workload workload;
  Duration launch;
  bool on_copy_engines = false;
  for (const std::vector<int>& group : sister_groups(rank, how)) {
    CollectiveCall call;
    for (const int member : group) call.members.push_back(endpoint_(member));
    const int root = how.host ? static_cast<int>(group.size()) - 1 : how.root;
    const ChosenCollective& chosen =
        choice_.choose(how.collective, how.group, call.members, root, how.host.has_value(), message,
                       how.copies, token_skew(program_, operation));
    call.name = chosen.text;
    call.members = choice_.participants(chosen, std::move(call.members));
    call.schedule = chosen.schedule;
    call.block = chosen.block;
    launch = std::max(launch, chosen.launch);
    on_copy_engines = chosen.on_copy_engines;
    workload.calls.push_back(std::move(call));
  }
  Outcome out = replayed(workload, launch);
  out.on_copy_engines = on_copy_engines;
  return out;
}

std::string ReplayedTimes::collective_key(int rank, const RoleProgram& role,
                                          const RoleOperation& operation) const {
  const Communication& how = *operation.operation->communication;
  const char* copies = !how.copies ? "" : how.copies->returns ? "/back" : "/there";
  const auto skew = token_skew(program_, *operation.operation);
  return fmt::format("{}/{}/{}/{}/{}{}{}", to_string(how.collective), how.group,
                     message_of(role, operation).count(), how.host.has_value(),
                     place_key(communicator_of(program_, rank, how).members), copies,
                     skew ? fmt::format("/{}/{}", skew->others, skew->returns) : "");
}

TimedCollective ReplayedTimes::collective(int rank, const RoleProgram& role,
                                          const RoleOperation& operation) {
  const Bytes message = bytes_of(role, operation);
  Outcome*& known = asked_[{rank, operation.operation, message.count()}];
  if (known == nullptr) {
    const std::string key = collective_key(rank, role, operation);
    const bool is_new = !known_.contains(key);
    known =
        &known_or_replayed(key, [&] { return replay_groups(rank, *operation.operation, message); });
    if (is_new) add_sisters(rank, role, operation);
  }
  count_use(*known, rank, role.role);
  return {known->time, known->on_copy_engines};
}

/// What was replayed together took equally long.
void ReplayedTimes::add_sisters(int rank, const RoleProgram& role, const RoleOperation& operation) {
  const Outcome of = known_.at(collective_key(rank, role, operation));
  for (const std::vector<int>& group : sister_groups(rank, *operation.operation->communication)) {
    const auto [added, is_new] =
        known_.try_emplace(collective_key(group.front(), role, operation), of);
    if (is_new) added->second.uses.assign(program_.roles.size(), 0);
  }
}

ReplayedTimes::Outcome ReplayedTimes::replay_messages(int rank, const Communication& how,
                                                      Bytes size) {
  const Mesh& mesh = program_.mesh;
  const int position = mesh.coordinate(rank, how.over);
  const int ring = mesh.size(how.over);
  Workload workload;
  workload.slots = Workload::kNoLimit;
  for (const int sender : ranks_of_node(node_of(rank))) {
    if (mesh.coordinate(sender, how.over) != position) continue;
    const int receiver = mesh.moved(sender, how.over, (position + how.offset + ring) % ring);
    Activity send;
    send.kind = Activity::Kind::send;
    send.peer = endpoint_(receiver);
    send.size = size;
    Activity receive = send;
    receive.kind = Activity::Kind::receive;
    receive.peer = endpoint_(sender);
    workload.streams.push_back({endpoint_(sender), "send", {send}});
    workload.streams.push_back({endpoint_(receiver), "receive", {receive}});
  }
  return replayed(workload, {});
}

std::string ReplayedTimes::message_key(int rank, const RoleProgram& role,
                                       const RoleOperation& operation) const {
  const Communication& how = *operation.operation->communication;
  const Mesh& mesh = program_.mesh;
  const int ring = mesh.size(how.over);
  const int peer =
      mesh.moved(rank, how.over, (mesh.coordinate(rank, how.over) + how.offset + ring) % ring);
  return fmt::format("message/{}/{}", local_bytes(mesh, role.tensor(carried(operation))).count(),
                     place_key({rank, peer}));
}

MessageTime ReplayedTimes::message(int rank, const RoleProgram& role,
                                   const RoleOperation& operation) {
  const Communication& how = *operation.operation->communication;
  const Bytes size = bytes_of(role, operation);
  Outcome*& known = asked_[{rank, operation.operation, size.count()}];
  if (known == nullptr)
    known = &known_or_replayed(message_key(rank, role, operation),
                               [&] { return replay_messages(rank, how, size); });
  count_use(*known, rank, role.role);
  return {known->sending, known->time - known->sending};
}

Bytes ReplayedTimes::bytes_of(const RoleProgram& role, const RoleOperation& operation) const {
  return operation.operation->kind == OperationKind::send
             ? local_bytes(program_.mesh, role.tensor(carried(operation)))
             : message_of(role, operation);
}

const ReplayedTimes::Outcome* ReplayedTimes::find(int rank, const RoleProgram& role,
                                                  const RoleOperation& operation) const {
  const auto asked = asked_.find({rank, operation.operation, bytes_of(role, operation).count()});
  if (asked != asked_.end() && asked->second != nullptr) return asked->second;
  const bool sends = operation.operation->kind == OperationKind::send;
  const auto known = known_.find(sends ? message_key(rank, role, operation)
                                       : collective_key(rank, role, operation));
  return known == known_.end() ? nullptr : &known->second;
}

void ReplayedTimes::add_loads(int rank, const RoleProgram& role, const RoleOperation& operation,
                              TimePoint end, LinkLoads& loads) const {
  const OperationKind kind = operation.operation->kind;
  if (kind != OperationKind::collective && kind != OperationKind::send) return;
  const Outcome* known = find(rank, role, operation);
  if (known == nullptr) return;
  const Duration time = kind == OperationKind::send ? known->sending : known->time;
  if (time == Duration{}) return;
  const TimePoint start{end.since_start() - time};
  for (const auto& [link, bytes] : known->link_bytes) {
    loads.add(link, start, end, static_cast<double>(bytes.count()) / time.seconds());
  }
}

}  // namespace lockstep
