#include "tools/app/validate/table_points.hpp"

#include <fmt/format.h>

#include "sim/config/json/config_error.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/measure/validation/library_rule.hpp"
#include "strategies/scenario/scenario_cluster.hpp"
#include "tools/app/collective/collective_runner.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

/// What stated limits are simulated at: the largest message of nccl-tests' usual range.
constexpr Bytes kLargeMessage{std::int64_t{16} << 30U};

LoadedCluster cluster_of(const CollectiveTable& table) {
  Problems problems{table.origin.file};
  auto read = read_scenario_cluster(ValueReader{&table.cluster, "/cluster", problems}, 0,
                                    {"", config_folder()});
  problems.throw_if_any();
  ScenarioCluster& cluster = read.value().cluster;
  return {cluster.name, "", std::move(cluster.device), std::move(cluster.cluster), {}};
}

/// NVIDIA's slides state the limits of NVLink twice, with the switches' reduction (NVLS) and
/// without: what names no algorithm is the latter.
bool is_without_reduction(const CollectiveTable& table, const Cluster& cluster) {
  return table.algorithm.empty() && cluster.nodes() == 1 &&
         table.origin.source.find("NVIDIA GTC slides") != std::string::npos;
}

/// What NCCL would pick, from what the table says was pinned; of reductions in the network's
/// switches, which need a plugin, among those that do.
struct NcclCandidate {
  Candidate candidate{};
  NcclRequest nccl{};
};

NcclCandidate nccl_candidate(const CollectiveTable& table, const LoadedCluster& cluster,
                             const std::vector<NcclCost>& costs) {
  NcclCandidate out;
  out.candidate.collective = table.collective;
  out.candidate.kind = Candidate::Kind::nccl;
  out.nccl.version = nccl_version_of(table);
  out.nccl.costs = costs;
  if (table.algorithm == "sharp") {
    out.candidate.automatic.collnet = true;
    // NVLS reduces between nodes by SHARP, and is what NCCL has with switches that reduce inside.
    out.nccl.algorithms = nvswitch_reduces(cluster.device) ? "nvls" : "collnetdirect,collnetchain";
  } else if (!table.algorithm.empty() && table.algorithm != "nvls") {
    // Where NVLS is stated it was among what NCCL chose from: short messages went by rings.
    out.nccl.algorithms = table.algorithm;
  }
  if (is_without_reduction(table, cluster.cluster)) out.nccl.algorithms = "^nvls";
  return out;
}

}  // namespace

double bus_factor(const CollectiveTable& table) {
  const double n = table.ranks;
  return (table.collective == Collective::all_reduce ? 2 : 1) * (n - 1) / n;
}

double measured_seconds(const CollectiveTable& table, const TablePoint& point) {
  if (point.measured.time) return point.measured.time->seconds();
  return static_cast<double>(point.size.count()) * bus_factor(table) /
         point.measured.bus_bandwidth.value().bytes_per_second();
}

std::vector<TablePoint> table_points(const CollectiveTable& table,
                                     const std::vector<NcclCost>& costs) {
  LoadedCluster cluster = cluster_of(table);
  if (cluster.cluster.ranks() != table.ranks)
    throw RequestError(
        fmt::format("{} ranks on a cluster of {}", table.ranks, cluster.cluster.ranks()));
  const NcclCandidate asked = nccl_candidate(table, cluster, costs);
  const CollectiveSetup setup(std::move(cluster), NetworkRequest{}, true);
  const CollectiveRunner runner(setup, {find_element_type("float"), 0, Duration{}, 1, &asked.nccl});
  if (const auto problems = runner.problems(asked.candidate); !problems.empty())
    throw RequestError(std::string{asked.candidate.spec.algorithm->name}, problems.front().message);
  std::vector<TablePoint> out;
  for (const CollectivePoint& point : table.points) {
    const Bytes size = point.size.value_or(kLargeMessage);
    const CollectiveRun prepared = runner.prepare(asked.candidate, size);
    const CollectiveResult replayed = runner.replay(asked.candidate, prepared);
    if (!replayed.unfinished.empty()) throw Refusal(replayed.unfinished);
    out.push_back({point, size, replayed.time, prepared.launch, prepared.cost});
  }
  return out;
}

}  // namespace lockstep::app
