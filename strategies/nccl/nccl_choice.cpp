#include "strategies/nccl/nccl_choice.hpp"

#include <algorithm>
#include <cstdint>

#include "sim/base/check.hpp"
#include "strategies/nccl/nccl_case.hpp"

namespace lockstep {
namespace {

/// More pieces than this change a pipeline's time by less than its depth in a thousand, and cost as
/// much more to replay.
constexpr std::int64_t kMostPieces = 1024;

std::int64_t pieces_of(Bytes size, int channels, Bytes chunk) {
  const std::int64_t per_loop = chunk.count() * channels;
  const std::int64_t pieces = size.count() / per_loop + (size.count() % per_loop == 0 ? 0 : 1);
  return std::clamp<std::int64_t>(pieces, 1, kMostPieces);
}

/// Trees with LL128 halve their chunks where a channel would have too few to fill the pipeline.
/// Source: NCCL 2.30.7 src/enqueue.cc.
Bytes tree_chunk(const NcclTuning& tuning, const NcclFacts& facts, const NcclEstimate& chosen,
                 Bytes size) {
  std::int64_t chunk = tuning.chunks.step[chosen.protocol].count();
  if (chosen.protocol != NcclProtocol::ll128) return Bytes{chunk};
  const double per_node = static_cast<double>(facts.ranks) / facts.nodes;
  const double steps = 1 + nccl::floor_log2(facts.nodes) + 0.1 * per_node;
  for (const NcclChunkHalving& halving : tuning.chunks.tree_ll128) {
    const double wanted = steps * static_cast<double>(halving.pieces) / per_node;
    const auto too_few = [&] {
      const std::int64_t whole_chunks = size.count() / (chunk * chosen.channels);
      return static_cast<double>(whole_chunks) < wanted;
    };
    while (too_few() && chunk > halving.least.count()) chunk /= 2;
  }
  return Bytes{chunk};
}

/// Rings that differ in the links they take. Channels beyond these share a ring's links with it,
/// and links that are shared by equals carry what one alone would have: replaying them changes
/// nothing.
/// Between nodes a ring per GPU, so that every NIC is used alike, however many GPUs share one.
int distinct_rings(const NcclFacts& facts) {
  const bool alike = facts.nodes == 1 && facts.same_channels;
  if (alike) return 1;
  if (facts.nodes > 1 && !facts.same_channels) return facts.ranks_per_node();
  return std::max(1, std::min(facts.ring.channels, facts.ranks_per_node()));
}

std::string ring_spec(const NcclFacts& facts, int channels) {
  return "ring:channels=" + std::to_string(std::min(channels, distinct_rings(facts)));
}

/// Whether trees have chains inside nodes, as a hierarchical schedule on equal nodes has.
bool has_chains(const NcclFacts& facts) {
  return facts.nodes > 1 && facts.has_equal_nodes() && facts.ranks_per_node() > 1;
}

/// Trees run over every NIC of a node, one tree a channel, with a chain inside the node: so many
/// small flows take long to replay. What sends the same bytes over the same NICs: a hierarchy, or
/// rings where messages are long.
std::string tree_over_every_nic(const NcclFacts& facts, Bytes size) {
  if (size < 1_MiB * facts.ranks) return "hierarchical";
  return "ring:channels=" + std::to_string(facts.ranks_per_node());
}

std::string pipelined(const char* name, std::int64_t pieces) {
  return std::string{name} + ":chunks=" + std::to_string(pieces);
}

/// NCCL's rings of broadcast and reduce are chains.
bool is_pipelined(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce;
}

/// On nodes of different sizes, which a hierarchy does not have, as many trees over different NICs
/// as racks of whole trays have parts.
std::string unequal_trees(const NcclTuning& tuning, const NcclFacts& facts, Bytes size,
                          const NcclEstimate& chosen) {
  constexpr int kTrees = 4;
  if (size >= 1_MiB * facts.ranks) return "ring:channels=" + std::to_string(facts.ranks_per_node());
  const std::int64_t pieces =
      pieces_of(size, chosen.channels, tree_chunk(tuning, facts, chosen, size));
  return pipelined("double_binary_tree", pieces) +
         ",channels=" + std::to_string(std::min(chosen.channels, kTrees));
}

std::string spec_of(const NcclTuning& tuning, const NcclFacts& facts, Collective collective,
                    Bytes size, const NcclEstimate& chosen) {
  switch (chosen.algorithm) {
    case NcclAlgorithm::tree:
      if (has_chains(facts)) return tree_over_every_nic(facts, size);
      if (!facts.has_equal_nodes()) return unequal_trees(tuning, facts, size, chosen);
      return pipelined("double_binary_tree",
                       pieces_of(size, chosen.channels, tree_chunk(tuning, facts, chosen, size)));
    case NcclAlgorithm::ring:
      if (!is_pipelined(collective)) return ring_spec(facts, chosen.channels);
      return pipelined(
          "chain", pieces_of(size, chosen.channels,
                             tuning.chunks.step[chosen.protocol] * tuning.chunks.pipeline_steps));
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return "sharp";
    case NcclAlgorithm::nvls:  // between nodes by CollNet
      if (facts.nodes == 1) return "nvls";
      return collective == Collective::all_reduce ? "sharp:inside=nvls" : "sharp";
    case NcclAlgorithm::nvls_tree:
      return "nvls";
    case NcclAlgorithm::pat:
      return "pat";
  }
  LOCKSTEP_CHECK(false);
  return {};
}

/// Grouped sends and receives, each of `message` bytes.
NcclChoice grouped(const NcclTuning& tuning, const NcclFacts& facts, const char* spec,
                   Bytes message) {
  const bool small = message <= tuning.chunks.send_recv_ll_up_to;
  return {spec, small ? NcclProtocol::ll : NcclProtocol::simple, facts.channels, std::nullopt};
}

/// One rank copies its buffer; NCCL chooses nothing and sends nothing.
NcclChoice of_one_rank(Collective collective) {
  const char* spec = is_pipelined(collective) ? "chain:chunks=1" : "ring:channels=1";
  return {spec, NcclProtocol::simple, 1, std::nullopt};
}

}  // namespace

NcclChoice nccl_choice_of(const NcclTuning& tuning, const NcclFacts& facts, Collective collective,
                          Bytes size, const NcclEstimate& chosen) {
  LOCKSTEP_CHECK(chosen.channels >= 1);
  return {spec_of(tuning, facts, collective, size, chosen), chosen.protocol, chosen.channels,
          chosen.algorithm};
}

std::optional<NcclChoice> nccl_choice(const NcclTuning& tuning, const NcclFacts& facts,
                                      Collective collective, Bytes size,
                                      const NcclFilters& filters) {
  if (collective == Collective::barrier) return std::nullopt;
  if (facts.ranks == 1 && nccl_chooses(collective)) return of_one_rank(collective);
  if (collective == Collective::send_recv) return grouped(tuning, facts, "shift", size);
  if (!nccl_chooses(collective)) {
    return grouped(tuning, facts, "direct", Bytes{size.count() / facts.ranks});
  }
  const auto pick = nccl_pick(tuning, facts, collective, size, filters);
  if (!pick) return std::nullopt;
  return nccl_choice_of(tuning, facts, collective, size, *pick);
}

}  // namespace lockstep
