#include "tools/app/step/metrics/step_provenance.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/program/kernel/kernel.hpp"
#include "sim/trace/breakdown.hpp"
#include "topologies/analysis/slowest_links.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

namespace {

/// Finds what limits the operations of a step.
class BasisOfStep {
 public:
  BasisOfStep(const Scenario& scenario, const CostModel& cost, const SimulatedTrainingStep& step)
      : cluster_{scenario.cluster}, cost_{cost}, step_{step} {}

  [[nodiscard]] Basis of(const PathOperation& part) const {
    if (part.kind == TimeUse::Kind::issue) return cost_.host_basis();
    const RankTimeline& rank = step_.timeline.ranks[part.rank];
    const RoleProgram& role = step_.timeline.roles[rank.role];
    const RoleOperation& operation = role.operations[part.operation];
    if (is_communication(*operation.operation)) return of_communication(part, rank, role);
    if (on_host(role, operation))
      return {Provenance::assumed, "memory bandwidth of the hosts"};  // no cluster names them
    const Program& program = *step_.timeline.program;
    return cost_.basis(
        kernel_of(program, program.routines[operation.call.routine], operation.index_in_routine));
  }

 private:
  static bool on_host(const RoleProgram& role, const RoleOperation& operation) {
    return std::any_of(operation.writes.begin(), operation.writes.end(),
                       [&](std::uint32_t instance) { return role.tensor(instance).on_host; });
  }

  /// Bytes over bandwidth are more than half of the time, or it is a matter of latency.
  [[nodiscard]] Basis of_communication(const PathOperation& part, const RankTimeline& rank,
                                       const RoleProgram& role) const {
    const Operation& operation = *role.operations[part.operation].operation;
    const auto [kind, link] = limiting_link(operation, rank.rank);
    if (!link) return {Provenance::assumed, "links that the cluster does not have"};
    const Bytes bytes = message_bytes(role, part.operation);
    const double crossing = static_cast<double>(bytes.count()) / link->carried().bytes_per_second();
    const bool wide = 2 * crossing * static_cast<double>(part.instances) > part.length.seconds();
    const Basis of_link{wide ? link->provenance : link->latency_provenance,
                        std::string{wide ? "bandwidth" : "latency"} + " of " +
                            std::string{to_string(kind)} + " links of " + cluster_.name};
    const auto costs = costs_of(operation, bytes);
    if (!costs) return of_link;
    return basis_of_rate(of_link, {*costs, "costs of collectives beyond the links"});
  }

  [[nodiscard]] std::pair<LinkKind, std::optional<LinkFigures>> limiting_link(
      const Operation& operation, int rank) const {
    const bool copies = operation.kind == OperationKind::host_copy;
    std::vector<LinkKind> kinds{LinkKind::nvlink, LinkKind::pcie, LinkKind::network, LinkKind::cpu};
    if (copies)
      kinds = {LinkKind::pcie, LinkKind::cpu};
    else if (crosses_nodes(operation, rank))
      kinds = {LinkKind::network, LinkKind::nvlink, LinkKind::pcie, LinkKind::cpu};
    for (const LinkKind kind : kinds)
      if (const auto& link = links_[static_cast<std::size_t>(kind)]) return {kind, link};
    return {kinds.front(), std::nullopt};
  }

  [[nodiscard]] bool crosses_nodes(const Operation& operation, int rank) const {
    const Mesh& mesh = step_.timeline.program->mesh;
    const Cluster& cluster = cluster_.cluster;
    if (operation.communication->host || rank >= mesh.ranks()) return cluster.nodes() > 1;
    const int node = node_of(cluster, static_cast<EndpointId>(rank));
    const std::vector<int> others = partners(operation, rank);
    return std::any_of(others.begin(), others.end(), [&](int other) {
      return node_of(cluster, static_cast<EndpointId>(other)) != node;
    });
  }

  [[nodiscard]] std::vector<int> partners(const Operation& operation, int rank) const {
    const Mesh& mesh = step_.timeline.program->mesh;
    const MeshSubAxes& over = operation.communication->over;
    if (!is_message(operation)) return mesh.members(rank, over);
    const int size = mesh.size(over);
    const int position = mesh.coordinate(rank, over) + operation.communication->offset;
    return {mesh.moved(rank, over, (position % size + size) % size)};
  }

  [[nodiscard]] static bool is_message(const Operation& operation) {
    return operation.kind == OperationKind::send || operation.kind == OperationKind::receive;
  }

  /// Of a chosen collective; of several of a group and kind, the one with this size.
  [[nodiscard]] std::optional<Provenance> costs_of(const Operation& operation, Bytes bytes) const {
    if (!operation.communication || is_message(operation)) return std::nullopt;
    std::optional<Provenance> out;
    for (const ReportedChoice& choice : step_.algorithms) {
      const bool same = choice.group == operation.communication->group &&
                        choice.collective == operation.communication->collective;
      if (same && (!out || choice.message == bytes)) out = choice.cost;
    }
    return out;
  }

  const ScenarioCluster& cluster_;
  const CostModel& cost_;
  const SimulatedTrainingStep& step_;
  std::array<std::optional<LinkFigures>, kLinkKindNames.size()> links_ =
      slowest_links(cluster_.cluster);
};

}  // namespace

double StepProvenance::unsure() const {
  return fractions[static_cast<std::size_t>(Provenance::assumed)] +
         fractions[static_cast<std::size_t>(Provenance::announced)];
}

StepProvenance step_provenance(const Scenario& scenario, const CostModel& cost,
                               const SimulatedTrainingStep& step,
                               const TrainingStepSummary& summary) {
  const BasisOfStep basis{scenario, cost, step};
  std::map<std::pair<Provenance, std::string>, Duration> times;
  Duration whole;
  for (const PathOperation& part : summary.path_operations) {
    const Basis of = basis.of(part);
    times[{of.provenance, of.value}] += part.length;
    whole += part.length;
  }
  StepProvenance out;
  for (const auto& [of, time] : times) {
    const double fraction = time.seconds() / whole.seconds();
    out.fractions[static_cast<std::size_t>(of.first)] += fraction;
    out.values.push_back({{of.first, of.second}, fraction});
  }
  std::stable_sort(out.values.begin(), out.values.end(),
                   [](const auto& a, const auto& b) { return a.fraction > b.fraction; });
  return out;
}

}  // namespace lockstep::app
