#include "strategies/nccl/nccl_communicator.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "strategies/collectives/registry/registry.hpp"
#include "strategies/nccl/facts_of.hpp"
#include "strategies/nccl/tuning.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/routing/node_rings.hpp"

namespace lockstep {
namespace {

/// Whether an algorithm can be played: those of switches are not picked elsewhere, say as links to
/// a switch have failed.
bool can_play(const PlacedCommunicator& placed, Collective collective, std::string_view name) {
  const CollectiveAlgorithm* algorithm = find_algorithm(collective, name);
  return algorithm != nullptr && validate(*algorithm, placed.input({}, 0, std::nullopt)).empty();
}

Duration time_of(double bytes, Rate rate) {
  return Duration::picoseconds(std::llround(bytes / rate.bytes_per_second() * 1e12));
}

NcclFacts facts_of(const NcclTuning& tuning, const Device& device,
                   const PlacedCommunicator& placed) {
  NcclFacts out = nccl_facts_of(tuning, placed.cluster(), device, placed.placement());
  if (out.nvls.channels > 0 && !can_play(placed, Collective::all_reduce, "nvls")) out.nvls = {};
  return out;
}

/// Whether links join the first of them to two others or more: a cycle passes it.
bool has_direct_links(const PlacedCommunicator& placed, const std::vector<EndpointId>& gpus) {
  int direct = 0;
  Route route;
  for (std::size_t i = 1; i < gpus.size() && direct < 2; ++i)
    if (placed.network().router->route(gpus.front(), gpus[i], route) && route.hops.size() == 1)
      ++direct;
  return direct == 2;
}

/// Members of one node without a switch, of the first node where nodes are equal; empty if nodes
/// have a switch, or have different numbers of members.
std::vector<EndpointId> directly_joined(const PlacedCommunicator& placed) {
  std::vector<EndpointId> gpus = placed.placement().fullest;
  if (placed.placement().runs.size() != 1 || !has_direct_links(placed, gpus)) return {};
  const Cluster& cluster = placed.cluster();
  if (has_equal_nodes(cluster)) {
    const int before = first_rank_of_node(cluster, node_of(cluster, gpus.front())) -
                       first_rank_of_node(cluster, 0);
    for (EndpointId& gpu : gpus) gpu = static_cast<EndpointId>(static_cast<int>(gpu) - before);
  }
  return gpus;
}

/// Cycles through members of one node.
std::vector<std::vector<int>> rings_of(const PlacedCommunicator& placed) {
  if (placed.placement().nodes != 1) return {};
  const std::vector<EndpointId> gpus = directly_joined(placed);
  return gpus.empty() ? std::vector<std::vector<int>>{} : nvlink_rings(placed.cluster(), gpus);
}

/// Paths through members of each of several nodes.
std::vector<std::vector<int>> paths_of(const PlacedCommunicator& placed) {
  const MemberPlacement& placement = placed.placement();
  if (placement.nodes == 1 || placement.per_node() != placement.most_per_node) return {};
  const std::vector<EndpointId> gpus = directly_joined(placed);
  return gpus.empty() ? std::vector<std::vector<int>>{} : nvlink_paths(placed.cluster(), gpus);
}

}  // namespace

NcclCommunicator::NcclCommunicator(const NcclTuning& tuning, NcclFilters filters,
                                   const Device& device, PlacedCommunicator placed)
    : tuning_{&tuning},
      filters_{filters},
      placed_{std::move(placed)},
      facts_{facts_of(tuning, device, placed_)},
      node_rings_{rings_of(placed_)},
      node_paths_{paths_of(placed_)} {}

std::optional<NcclPick> NcclCommunicator::pick(Collective collective, Bytes size,
                                               const AutomaticChoice& how) const {
  if (how.symmetric_windows)
    if (auto of_windows = pick_of_windows(collective, size, how.zero_ctas)) return of_windows;
  const NcclFacts facts = facts_for(collective, how);
  auto choice = nccl_choice(*tuning_, facts, collective, size, filters_);
  if (!choice) return std::nullopt;
  ParsedSpecs parsed = parse_specs(choice->spec, collective);
  if (parsed.specs.size() != 1) return std::nullopt;
  NcclPick out;
  out.spec = std::move(parsed.specs.front());
  out.text = fmt::format("{}, {}, {} channel{}", choice->spec, nccl_name(choice->protocol),
                         choice->channels, choice->channels == 1 ? "" : "s");
  if (const auto estimate = nccl_pick(*tuning_, facts, collective, size, filters_))
    out.model = estimate->time;
  out.cost = nccl_cost_key(*tuning_, facts, collective, *choice);
  out.terms = nccl_cost_terms(*tuning_, facts, out.cost, size);
  out.provenance = nccl_cost_provenance(tuning_->costs, out.cost);
  out.launch = nccl_overhead(*tuning_, facts, collective, size, *choice);
  out.choice = *std::move(choice);
  return out;
}

NcclFacts NcclCommunicator::facts_for(Collective collective, const AutomaticChoice& how) const {
  NcclFacts out = facts_;
  out.has_collnet = how.collnet && out.nodes > 1 && can_play(placed_, collective, "sharp");
  return out;
}

std::optional<NcclPick> NcclCommunicator::pick_of_windows(Collective collective, Bytes size,
                                                          bool zero_ctas) const {
  if (!placed_.layout().nvlink_domain) return std::nullopt;
  const bool multicast = facts_.nvls.channels > 0 && can_play(placed_, collective, "nvls");
  const NcclSymmetricCase of{facts_.architecture, facts_.ranks, collective, size, multicast};
  if (nccl_takes_copy_engines(tuning_->windows, of, zero_ctas)) return by_copy_engines(collective);
  const auto kernel = nccl_symmetric_pick(tuning_->windows, of);
  if (!kernel) return std::nullopt;
  return symmetric(*kernel, size);
}

NcclPick NcclCommunicator::by_copy_engines(Collective collective) const {
  NcclPick out;
  out.choice.spec = "copy_engine";
  out.spec = {find_algorithm(collective, out.choice.spec), {}};
  out.text = "copy_engine, 0 CTAs";
  out.launch = copy_engine_launch();
  out.provenance = Provenance::assumed;
  out.windows_kernel = "copy engines";
  return out;
}

/// Beyond the links: the kernel's base latency, the flags of LL, and with switches that add up what
/// these cost NVLS's own kernel per byte.
NcclPick NcclCommunicator::symmetric(const NcclSymmetricEstimate& estimate, Bytes size) const {
  const NcclSymmetricKernel& kernel = estimate.kernel;
  NcclPick out;
  out.choice = {std::string{kernel.spec}, kernel.ll ? NcclProtocol::ll : NcclProtocol::simple,
                estimate.blocks, std::nullopt};
  out.spec = {find_algorithm(kernel.collective, kernel.spec), {}};
  out.windows_kernel = kernel.name;
  out.text = fmt::format("{}, {}, {} CTA{} of {}", kernel.spec, nccl_name(out.choice.protocol),
                         estimate.blocks, estimate.blocks == 1 ? "" : "s", kernel.name);
  out.model = estimate.time;
  out.launch = nccl_symmetric_launch(tuning_->windows, facts_.architecture, kernel);
  const double others = facts_.ranks - 1.0;
  const auto message = static_cast<double>(size.count());
  if (kernel.ll && placed_.hop()) {
    const bool whole = kernel.collective == Collective::all_reduce;
    out.launch += time_of(message * others / (whole ? 1 : facts_.ranks), placed_.hop()->beta);
  }
  if (!kernel.multicast || kernel.ll) return out;
  const NcclCostKey key{tuning_->id,        facts_.architecture,  kernel.collective,
                        NcclCostKind::nvls, NcclProtocol::simple, false};
  const NcclCost* nvls = find_nccl_cost(tuning_->costs, key);
  const bool same = nvls != nullptr && nvls->key.kind == key.kind &&
                    nvls->key.collective == key.collective && nvls->wire;
  if (!same) return out;
  out.launch += time_of(nccl_cost_terms(*tuning_, facts_, key, size).wire_bytes, *nvls->wire);
  out.provenance = Provenance::assumed;
  return out;
}

Duration NcclCommunicator::copy_engine_launch() const {
  return placed_.size() < 2 ? Duration{} : tuning_->windows.copy_engines.launch;
}

AlgorithmInput NcclCommunicator::input(const AlgorithmArguments& arguments, int root,
                                       std::optional<Bytes> size) const {
  AlgorithmInput out = placed_.input(arguments, root, size);
  out.layout.node_rings = node_rings_;
  out.layout.node_paths = node_paths_;
  return out;
}

Duration NcclCommunicator::base_latency(const NcclChoice& choice) const {
  if (!choice.algorithm) return {};
  return tuning_->base_latency[*choice.algorithm][choice.protocol].value_or(Duration{});
}

}  // namespace lockstep
