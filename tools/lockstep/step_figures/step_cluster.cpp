#include "tools/lockstep/step_figures/step_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tools/figures/axis.hpp"
#include "tools/lockstep/step_figures/link_loads.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostLinksDrawn = 3000;

/// From the core of the fabric down to the GPUs, whose switches stand below them.
constexpr std::array kOrder = {
    VertexKind::core_switch, VertexKind::spine_switch, VertexKind::leaf_switch,
    VertexKind::nic,         VertexKind::cpu,          VertexKind::pcie_switch,
    VertexKind::host,        VertexKind::gpu,          VertexKind::nvswitch};

std::string_view word_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::core_switch:
      return "core";
    case VertexKind::spine_switch:
      return "spines";
    case VertexKind::leaf_switch:
      return "leaves";
    case VertexKind::nic:
      return "NICs";
    case VertexKind::cpu:
      return "CPUs";
    case VertexKind::pcie_switch:
      return "PCIe switches";
    case VertexKind::host:
      return "hosts";
    case VertexKind::gpu:
      return "GPUs";
    case VertexKind::nvswitch:
      return "NVSwitches";
  }
  return "";
}

class ClusterBuilder {
 public:
  ClusterBuilder(const TrainingStepResult& result, figures::Heading heading)
      : cluster_{result.scenario.cluster.cluster},
        bytes_{result.step.timeline.link_bytes},
        step_{result.step.timeline.end.since_start().seconds()} {
    out_.heading = std::move(heading);
  }

  figures::ClusterFigure build() {
    find_used();
    add_elements();
    for (std::size_t i = 0; i < cluster_.link_count(); ++i) add_cable(static_cast<LinkId>(i));
    arrange();
    out_.notes.emplace_back(
        "Colors and widths: bytes / (bandwidth x step time), of each direction of a cable. Links "
        "without traffic are gray.");
    if (omits_cpus_) out_.notes.emplace_back("CPUs have no traffic and are omitted.");
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool carries(LinkId link) const {
    return link < bytes_.size() && bytes_[link] > Bytes{};
  }

  /// CPUs whose links carry nothing are left out.
  void find_used() {
    bool cpus_carry = false;
    bool has_cpus = false;
    for (std::size_t i = 0; i < cluster_.link_count(); ++i) {
      const auto id = static_cast<LinkId>(i);
      const ClusterLink link = cluster_.built_link(id);
      const bool of_cpu = cluster_.vertex(link.from).kind == VertexKind::cpu ||
                          cluster_.vertex(link.to).kind == VertexKind::cpu;
      has_cpus = has_cpus || of_cpu;
      cpus_carry = cpus_carry || (of_cpu && carries(id));
    }
    omits_cpus_ = has_cpus && !cpus_carry;
  }

  void add_elements() {
    place_.assign(cluster_.vertex_count(), kNone);
    for (const VertexKind kind : kOrder) {
      if (kind == VertexKind::cpu && omits_cpus_) continue;
      const std::size_t row = out_.rows.size();
      bool any = false;
      for (std::size_t i = 0; i < cluster_.vertex_count(); ++i) {
        const auto id = static_cast<VertexId>(i);
        const Vertex vertex = cluster_.vertex(id);
        if (vertex.kind != kind || is_absent(cluster_, id)) continue;
        any = true;
        place_[i] = out_.elements.size();
        const std::string name = cluster_.vertex_name(id);
        out_.elements.push_back({name, label_of(vertex, name), row, vertex.node});
      }
      if (any) out_.rows.emplace_back(word_of(kind));
    }
  }

  /// Within nodes a number, of ranks that are nodes the rank, in the fabric the name.
  [[nodiscard]] std::string label_of(const Vertex& vertex, const std::string& name) const {
    if (vertex.node < 0) return name;
    return std::to_string(
        holds_a_rank(vertex.kind) && cluster_.gpus_per_node() == 1 ? vertex.node : vertex.local);
  }

  void add_cable(LinkId id) {
    const ClusterLink link = cluster_.built_link(id);
    const std::size_t from = place_[link.from];
    const std::size_t to = place_[link.to];
    if (from == kNone || to == kNone) return;
    figures::ClusterCable cable{from, to, 0, carries(id), id, {}};
    if (cable.carries) {
      const double seconds = static_cast<double>(bytes_[id].count()) /
                             cluster_.link(id).figures.carried().bytes_per_second();
      cable.use = step_ > 0 ? std::min(1.0, seconds / step_) : 0;
      cable.text = fmt::format("{}: {}", cluster_.link_name(id),
                               figures::value_text(cable.use, figures::Unit::share, 3));
    }
    out_.cables.push_back(std::move(cable));
  }

  /// A torus on its grid, other clusters without switches on a circle.
  void arrange() {
    if (out_.rows.size() != 1) return;
    const std::vector<int> dimensions = cluster_.dimensions();
    const bool own_nodes = static_cast<std::size_t>(cluster_.nodes()) == out_.elements.size();
    if (!own_nodes) {
      return;
    }
    if (dimensions.size() >= 2)
      out_.grid = {static_cast<std::size_t>(dimensions[0]),
                   static_cast<std::size_t>(dimensions[1])};
    else
      out_.circle = true;
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const Cluster& cluster_;
  const std::vector<Bytes>& bytes_;
  double step_;
  bool omits_cpus_ = false;
  std::vector<std::size_t> place_{};  // of a vertex among the elements
  figures::ClusterFigure out_{};
};

}  // namespace

std::optional<figures::ClusterFigure> cluster_of(const TrainingStepResult& result,
                                                 figures::Heading heading) {
  const Cluster& cluster = result.scenario.cluster.cluster;
  if (result.scenario.parallel.ranks() > kMostLinkRanks || cluster.link_count() > kMostLinksDrawn)
    return std::nullopt;
  return ClusterBuilder{result, std::move(heading)}.build();
}

}  // namespace lockstep::cli
