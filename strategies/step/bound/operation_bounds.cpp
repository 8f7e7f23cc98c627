#include "strategies/step/bound/operation_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/program/communicator.hpp"
#include "sim/program/kernel/attention_loads.hpp"
#include "sim/program/kernel/kernel.hpp"
#include "strategies/step/lowering/costs/chunked_gemms.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

namespace lockstep {

namespace {

[[nodiscard]] Bytes local_total(const Program& program, const std::vector<Ref>& refs) {
  Bytes sum;
  for (const Ref& ref : refs) sum += local_bytes(program.mesh, program.tensors[ref.tensor]);
  return sum;
}

[[nodiscard]] bool writes_on_host(const Program& program, const Operation& operation) {
  return std::any_of(operation.writes.begin(), operation.writes.end(),
                     [&](const Ref& ref) { return program.tensors[ref.tensor].on_host; });
}

/// The endpoint of a step on GPUs: they add up what they receive while it comes in.
[[nodiscard]] Endpoint gpu_endpoint(const Device& device) {
  Endpoint out = device.endpoint();
  out.reduce_rate.reset();
  return out;
}

}  // namespace

OperationBounds::OperationBounds(const Cluster& cluster, const Device& device, NcclTuning tuning,
                                 std::map<std::string, std::string> algorithms, HostRates host)
    : cluster_{cluster},
      switches_{ReducingSwitches::of_step(cluster, device, uses_fabric_switches(algorithms))},
      network_{lower_with_switches(cluster, switches_.forests(), gpu_endpoint(device))},
      choice_{cluster, network_, switches_, device, std::move(tuning), std::move(algorithms)},
      host_{host} {}

std::vector<Duration> OperationBounds::kernels(const Program& program, const Routine& routine,
                                               const CostModel& cost) {
  std::vector<Duration> times;
  for (std::size_t i = 0; i < routine.operations.size(); ++i) {
    const Operation& operation = routine.operations[i];
    const bool kernel = class_of(operation.kind) != OperationClass::communication &&
                        operation.kind != OperationKind::host_copy &&
                        !writes_on_host(program, operation);
    // What hides all keys of a rank takes no longer than what hides some.
    const auto loads = AttentionLoads::of(program, operation);
    times.push_back(!kernel ? Duration{}
                    : loads ? cost.time(kernel_of(program, routine, i, MaskedAttention{}))
                            : cost.time(kernel_of(program, routine, i)));
  }
  chunk_gemms(program, routine, cost, times);
  return times;
}

Duration OperationBounds::on_host(const Program& program, const Operation& operation) const {
  const bool copies = operation.kind == OperationKind::host_copy;
  if (!copies && !writes_on_host(program, operation)) return {};
  const KernelTimes::Host host = host_of(program.mesh.ranks());
  const std::optional<Rate> rate = copies ? host.link : host.share;
  if (!rate) return {};
  double bytes = static_cast<double>(
      (local_total(program, operation.reads) + local_total(program, operation.writes)).count());
  if (copies) bytes /= 2;
  return Duration::picoseconds(std::llround(bytes / rate->bytes_per_second() * 1e12));
}

fold::Key OperationBounds::key_of(const std::vector<int>& ranks) const {
  fold::KeyBuilder key;
  const auto endpoint = [](int rank) { return static_cast<EndpointId>(rank); };
  const int own = node_of(cluster_, endpoint(ranks.front()));
  const bool inside = std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return node_of(cluster_, endpoint(rank)) == own;
  });
  // Nodes as far apart may have more or fewer switches between them.
  const int first = inside && has_equal_nodes(cluster_) ? own : 0;
  for (const int rank : ranks) {
    const int node = node_of(cluster_, endpoint(rank));
    key.add(node - first).add(rank - first_rank_of_node(cluster_, node));
  }
  return key.key();
}

Bytes OperationBounds::message_of(const Program& program, const Operation& operation) {
  if (operation.communication && operation.communication->copies) {
    return std::max(local_total(program, {operation.reads.front()}),
                    local_total(program, {operation.writes.front()}));
  }
  return std::max(local_total(program, operation.reads), local_total(program, operation.writes));
}

Duration OperationBounds::collective(const Program& program, int rank, const Operation& operation) {
  const Communication& how = *operation.communication;
  if (how.host) return {};
  const Bytes message = message_of(program, operation);
  if (program.mesh.size(how.over) < 2 || message == Bytes{}) return {};
  const Communicator who = communicator_of(program, rank, how);
  return collective(how, message, who.members, who.root, token_skew(program, operation));
}

Duration OperationBounds::collective(const Communication& how, Bytes message,
                                     const std::vector<int>& members,
                                     const std::optional<TokenSkew>& skew) {
  return collective(how, message, members, how.root, skew);
}

Duration OperationBounds::collective(const Communication& how, Bytes message,
                                     const std::vector<int>& members, int root,
                                     const std::optional<TokenSkew>& skew) {
  if (!counts_communication_ || members.size() < 2 || message == Bytes{}) return {};
  fold::KeyBuilder builder;
  builder.add(key_of(members)).add(static_cast<std::uint64_t>(how.collective));
  for (const char letter : how.group) builder.add(static_cast<std::uint64_t>(letter));
  builder.add(root).add(message.count());
  if (how.copies) builder.add(how.copies->returns ? 2 : 1);
  if (skew) builder.add(std::int64_t{std::llround(skew->others * 1e12)}).add(skew->returns ? 4 : 3);
  const auto [found, is_new] = collectives_.try_emplace(builder.key());
  if (!is_new) return found->second;
  std::vector<EndpointId> endpoints(members.begin(), members.end());
  const ChosenCollective& chosen =
      choice_.choose(how.collective, how.group, endpoints, root, false, message, how.copies, skew);
  const std::vector<EndpointId> players = choice_.participants(chosen, std::move(endpoints));
  found->second =
      chosen.launch + least_time(*chosen.schedule, players, static_cast<int>(members.size()),
                                 chosen.block, network_);
  return found->second;
}

MessageBound OperationBounds::message(const Program& program, int rank, const Operation& send) {
  const Communication& how = *send.communication;
  const Mesh& mesh = program.mesh;
  const int ring = mesh.size(how.over);
  const int peer =
      mesh.moved(rank, how.over, (mesh.coordinate(rank, how.over) + how.offset + ring) % ring);
  return message(rank, peer, local_total(program, {carried(send)}));
}

MessageBound OperationBounds::message(int from, int to, Bytes size) {
  if (!counts_communication_) return {};
  const fold::Key key = fold::KeyBuilder{}.add(key_of({from, to})).add(size.count()).key();
  const auto [found, is_new] = messages_.try_emplace(key);
  if (is_new)
    found->second =
        least_time(static_cast<EndpointId>(from), static_cast<EndpointId>(to), size, network_);
  return found->second;
}

double OperationBounds::most_leaving(const std::vector<int>& members) const {
  if (!counts_communication_ || network_.router->by_channel()) return 0;
  double most = 0;
  Route route;
  for (const int from : members) {
    std::set<LinkId> narrowest;
    for (const int to : members) {
      if (from == to) continue;
      if (!network_.router->route(static_cast<EndpointId>(from), static_cast<EndpointId>(to),
                                  route))
        return 0;
      const Hop* least = nullptr;
      for (const Hop& hop : route.hops) {
        const bool whole = hop.weight == kWeightUnit;
        if (whole && (least == nullptr ||
                      network_.links[hop.link].bandwidth < network_.links[least->link].bandwidth))
          least = &hop;
      }
      if (least == nullptr) return 0;
      narrowest.insert(least->link);
    }
    double sum = 0;
    for (const LinkId link : narrowest) sum += network_.links[link].bandwidth.bytes_per_second();
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace lockstep
