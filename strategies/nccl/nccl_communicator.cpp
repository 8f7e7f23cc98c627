#include "strategies/nccl/nccl_communicator.hpp"

#include <fmt/format.h>

#include <utility>

#include "strategies/collectives/registry/registry.hpp"
#include "strategies/nccl/facts_of.hpp"
#include "strategies/nccl/tuning.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/routing/node_rings.hpp"

namespace lockstep {
namespace {

/// Whether switches can reduce for the communicator: NVLS is not picked where it cannot be played,
/// say as links to a switch have failed.
bool has_reducing_switches(const PlacedCommunicator& placed) {
  const CollectiveAlgorithm* nvls = find_algorithm(Collective::all_reduce, "nvls");
  return validate(*nvls, placed.input({}, 0, std::nullopt)).empty();
}

NcclFacts facts_of(const NcclTuning& tuning, const Device& device,
                   const PlacedCommunicator& placed) {
  NcclFacts out = nccl_facts_of(tuning, placed.cluster(), device, placed.placement());
  if (out.nvls.channels > 0 && !has_reducing_switches(placed)) out.nvls = {};
  return out;
}

std::vector<std::vector<int>> rings_of(const PlacedCommunicator& placed) {
  const auto node = placed.whole_node();
  if (!node) return {};
  return nvlink_rings(placed.cluster(), has_equal_nodes(placed.cluster()) ? 0 : *node);
}

}  // namespace

NcclCommunicator::NcclCommunicator(const NcclTuning& tuning, NcclFilters filters,
                                   const Device& device, PlacedCommunicator placed)
    : tuning_{&tuning},
      filters_{std::move(filters)},
      placed_{std::move(placed)},
      facts_{facts_of(tuning, device, placed_)},
      node_rings_{rings_of(placed_)} {}

std::optional<NcclPick> NcclCommunicator::pick(Collective collective, Bytes size) const {
  auto choice = nccl_choice(*tuning_, facts_, collective, size, filters_);
  if (!choice) return std::nullopt;
  ParsedSpecs parsed = parse_specs(choice->spec, collective);
  if (parsed.specs.size() != 1) return std::nullopt;
  NcclPick out;
  out.spec = std::move(parsed.specs.front());
  out.text = fmt::format("{}, {}, {} channel{}", choice->spec, nccl_name(choice->protocol),
                         choice->channels, choice->channels == 1 ? "" : "s");
  if (const auto estimate = nccl_pick(*tuning_, facts_, collective, size, filters_))
    out.model = estimate->time;
  out.cost = nccl_cost_key(*tuning_, facts_, collective, *choice);
  out.terms = nccl_cost_terms(*tuning_, facts_, out.cost, size);
  out.provenance = nccl_cost_provenance(tuning_->costs, out.cost);
  out.launch = nccl_overhead(*tuning_, facts_, collective, size, *choice);
  out.choice = *std::move(choice);
  return out;
}

AlgorithmInput NcclCommunicator::input(const AlgorithmArguments& arguments, int root,
                                       std::optional<Bytes> size) const {
  AlgorithmInput out = placed_.input(arguments, root, size);
  out.layout.node_rings = node_rings_;
  return out;
}

Duration NcclCommunicator::base_latency(const NcclChoice& choice) const {
  if (!choice.algorithm) return {};
  return tuning_->base_latency[*choice.algorithm][choice.protocol].value_or(Duration{});
}

}  // namespace lockstep
