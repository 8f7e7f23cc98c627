#include "tests/strategies/step/fold/fold_harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "strategies/step/build_program.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/failures/reachability.hpp"
#include "topologies/files/cluster_file.hpp"

namespace lockstep::test {
namespace {

/// 1e12 operations and 1e11 bytes a second.
class Linear final : public CostModel {
 public:
  explicit Linear(double slowdown) : slowdown_{slowdown} {}
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return slowdown_; }

 private:
  double slowdown_;
};

std::string compare(const RankTimeline& folded, const RankTimeline& own, const RoleProgram& role) {
  if (folded.role != own.role) return fmt::format("rank {} plays another role", own.rank);
  for (std::uint32_t i = 0; i < own.operations.size(); ++i) {
    const Interval& a = folded.operations[i];
    const Interval& b = own.operations[i];
    if (a.start == b.start && a.end == b.end) continue;
    return fmt::format("rank {} (of {}): {}: {}..{} ps instead of {}..{}", own.rank, folded.rank,
                       role.name(i), a.start.ps(), a.end.ps(), b.start.ps(), b.end.ps());
  }
  return {};
}

}  // namespace

Cluster cluster_of(const std::string& file, int ranks) {
  return load_cluster(LOCKSTEP_SOURCE_DIR "/configs/clusters/" + file + ".json",
                      ClusterSize{std::nullopt, ranks, 0})
      .cluster;
}

Cluster switched(int ranks) {
  const std::string text = fmt::format(
      R"({{"name": "star", "summary": "test", "device": "host", "ranks": {}, "topology": {{
          "builder": "star", "link": {{"bandwidth": "10 GB/s", "latency": "1 us",
          "source": "by definition"}}}}}})",
      ranks);
  return read_cluster(parse_json(text, "star.json")).cluster;
}

Cluster torus(int rows, int ranks) {
  const int columns = std::max(2, (ranks + rows - 1) / rows);
  const std::string text = fmt::format(
      R"({{"name": "torus", "summary": "test", "device": "host", "topology": {{
          "builder": "torus_2d", "shape": [{}, {}], "link": {{"bandwidth": "10 GB/s",
          "latency": "1 us", "source": "by definition"}}}}}})",
      rows, columns);
  return read_cluster(parse_json(text, "torus.json")).cluster;
}

Cluster with_slow_link(const Cluster& cluster, std::uint64_t seed) {
  const auto link = cluster.link(static_cast<LinkId>(seed % cluster.link_count()));
  LinkChange change;
  change.links =
      fmt::format("{} -> {}", cluster.vertex_name(link.from), cluster.vertex_name(link.to));
  change.bandwidth_factor = 0.5;
  return change_links(cluster, {&change, 1}).cluster;
}

Cluster with_failed_link(const Cluster& cluster, std::uint64_t seed) {
  std::vector<std::string> between;
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    const ClusterLink link = cluster.link(static_cast<LinkId>(i));
    const VertexKind from = cluster.vertex(link.from).kind;
    const VertexKind to = cluster.vertex(link.to).kind;
    const bool gpus = from == VertexKind::gpu && to == VertexKind::gpu;
    if (gpus || (from >= VertexKind::leaf_switch && to >= VertexKind::leaf_switch))
      between.push_back(
          fmt::format("{}--{}", cluster.vertex_name(link.from), cluster.vertex_name(link.to)));
  }
  if (between.empty()) return cluster;
  LinkChange change;
  change.links = between[seed % between.size()];
  change.failed = true;
  Cluster out = change_links(cluster, {&change, 1}).cluster;
  return first_cut_off(out) ? cluster : out;
}

std::string first_difference(const SimulatedTrainingStep& folded,
                             const SimulatedTrainingStep& unfolded) {
  const TrainingStepTimeline& a = folded.timeline;
  const TrainingStepTimeline& b = unfolded.timeline;
  const bool folds = !a.representative_of.empty();
  if ((folds ? a.representative_of.size() : a.ranks.size()) != b.ranks.size())
    return "not all ranks are there";
  for (std::size_t i = 0; i < b.ranks.size(); ++i) {
    const RankTimeline& own = b.ranks[i];
    std::string text = compare(a.ranks[folds ? a.representative_of[i] : i], own, b.roles[own.role]);
    if (!text.empty()) return text;
  }
  if (a.end != b.end) return "the step ends at another time";
  for (std::size_t i = 0; i < b.link_bytes.size(); ++i)
    if (a.link_bytes.at(i) != b.link_bytes[i])
      return fmt::format("link {} carries {} bytes instead of {}", i, a.link_bytes[i].count(),
                         b.link_bytes[i].count());
  if (folded.transfers != unfolded.transfers)
    return fmt::format("{} transfers instead of {}", folded.transfers, unfolded.transfers);
  return folded.algorithms == unfolded.algorithms ? "" : "other algorithms are reported";
}

SimulatedTrainingStep simulated_step(const FoldCase& of, Folding fold) {
  const auto program = std::make_shared<const Program>(
      build_program(of.layout.model, of.layout.parallel, of.cluster.gpus_per_node()));
  SimulationOptions options = of.options;
  options.fidelity = Fidelity::all_ranks;
  options.fold = fold;
  options.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
  return simulate(program, of.layout.parallel, of.cluster, of.device, Linear{of.slowdown}, options);
}

FoldOutcome hold_against_unfolded(const FoldCase& of) {
  const SimulatedTrainingStep folded = simulated_step(of, Folding::always);
  const SimulatedTrainingStep unfolded = simulated_step(of, Folding::off);
  std::string difference = first_difference(folded, unfolded);
  if (difference.empty())
    difference = first_difference(simulated_step(of, Folding::automatic), unfolded);
  return {difference, folded.classes.size(), folded.timeline.representative_of.size()};
}

}  // namespace lockstep::test
