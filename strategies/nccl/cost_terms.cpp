#include "strategies/nccl/cost_terms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "strategies/nccl/nccl_case.hpp"
#include "strategies/nccl/tuning_data.hpp"

namespace lockstep {

namespace {

bool is_rooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce;
}

/// Times that a rank sends, and of these to another node.
struct Sends {
  double all = 0;
  double between = 0;
};

Sends sends_of(const NcclFacts& facts, const NcclCostKey& key) {
  const double ranks = facts.ranks;
  const double nodes = facts.nodes;
  if (key.kind == NcclCostKind::grouped) {
    if (key.collective == Collective::send_recv) return {1, facts.nodes > 1 ? 1.0 : 0.0};
    return {ranks - 1, ranks - facts.ranks_per_node()};
  }
  const double times = key.collective == Collective::all_reduce ? 2 : 1;
  return {times * (ranks - 1), times * (nodes - 1)};
}

/// Of the message, what a rank sends: a share per send; of broadcast and reduce all of it.
double sent_bytes(const NcclFacts& facts, const NcclCostKey& key, const Sends& sends,
                  double message) {
  if (is_rooted(key.collective) || key.collective == Collective::send_recv) return message;
  return message * sends.all / facts.ranks;
}

/// Of trees: up and down the levels between nodes.
double tree_network_hops(const NcclFacts& facts) {
  return facts.nodes > 1 ? 2.0 * std::max(1, nccl::floor_log2(facts.nodes)) : 0;
}

/// Trees: up and down the chain of a node and the levels between nodes.
void set_tree_hops(const NcclFacts& facts, NcclCostTerms& terms) {
  terms.hops = 2.0 * (facts.ranks_per_node() - 1);
  terms.network_hops = tree_network_hops(facts);
}

/// Messages between nodes of which each waits for the one before: NVLS over several nodes is a
/// tree of them, grouped sends are in flight together.
double messages_in_turn(const NcclFacts& facts, const NcclCostKey& key,
                        const NcclCostTerms& terms) {
  if (key.kind == NcclCostKind::nvls) return tree_network_hops(facts);
  return key.kind == NcclCostKind::grouped ? std::min(1.0, terms.network_hops) : terms.network_hops;
}

/// A channel's chunks, one head after the other. Short messages take smaller ones, so that more
/// overlap. Source: NCCL 2.30.7 src/enqueue.cc.
double nvls_loops(const NcclTuning& tuning, const NcclFacts& facts, double message) {
  const NcclNvlsChunks& chunks = tuning.chunks.nvls;
  const auto channels = chunks.channels[facts.architecture];
  if (!channels || facts.nvls.channels == 0) return 0;
  Bytes chunk = chunks.step;
  const auto of_channel = [&] {
    return message / (static_cast<double>(*channels) * static_cast<double>(chunk.count()));
  };
  for (const NcclShorterChunk& shorter : chunks.shorter)
    if (of_channel() < static_cast<double>(shorter.loops * facts.nvls.channels))
      chunk = std::min(chunk, shorter.chunk);
  return of_channel();
}

/// Of a hop's cost, what the transfer of a rank's part leaves exposed.
double exposed(const NcclCost& cost, const NcclCostTerms& terms) {
  if (!cost.hop_hidden_by) return 1;
  return std::max(0.0, 1 - terms.own_bytes / static_cast<double>(cost.hop_hidden_by->count()));
}

int apart(NcclProtocol a, NcclProtocol b) {
  return std::abs(static_cast<int>(a) - static_cast<int>(b));
}

int apart(NcclArchitecture a, NcclArchitecture b) {
  return std::abs(static_cast<int>(a) - static_cast<int>(b));
}

/// How far another key's cost is from being this one's; none: it says nothing of it.
std::optional<int> distance(const NcclCostKey& of, const NcclCostKey& wanted) {
  const bool grouped = of.kind == NcclCostKind::grouped;
  if (grouped != (wanted.kind == NcclCostKind::grouped)) return std::nullopt;
  if (of.several_nodes != wanted.several_nodes) return std::nullopt;
  const int kinds = of.kind == wanted.kind ? 0 : 1;
  const int versions = of.version == wanted.version ? 0 : 1;
  const int collectives = of.collective == wanted.collective ? 0 : 1;
  return 1000 * kinds + 200 * versions + 40 * apart(of.architecture, wanted.architecture) +
         5 * collectives + apart(of.protocol, wanted.protocol);
}

double seconds_for(double bytes, const std::optional<Rate>& rate) {
  return rate ? bytes / rate->bytes_per_second() : 0;
}

NcclCostKind kind_of(const NcclChoice& choice) {
  if (!choice.algorithm) return NcclCostKind::grouped;
  switch (*choice.algorithm) {
    case NcclAlgorithm::tree:
      return NcclCostKind::tree;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return NcclCostKind::nvls;
    case NcclAlgorithm::ring:
    case NcclAlgorithm::pat:
      break;
  }
  return NcclCostKind::ring;
}

}  // namespace

NcclCostKey nccl_cost_key(const NcclTuning& tuning, const NcclFacts& facts, Collective collective,
                          const NcclChoice& choice) {
  return {tuning.id,       facts.architecture, collective,
          kind_of(choice), choice.protocol,    facts.nodes > 1};
}

NcclCostTerms nccl_cost_terms(const NcclTuning& tuning, const NcclFacts& facts,
                              const NcclCostKey& key, Bytes size) {
  const auto message = static_cast<double>(size.count());
  const Sends sends = sends_of(facts, key);
  NcclCostTerms out;
  out.hops = sends.all - sends.between;
  out.network_hops = sends.between;
  if (key.kind == NcclCostKind::tree) set_tree_hops(facts, out);
  const bool alone = key.collective == Collective::send_recv || key.kind == NcclCostKind::grouped;
  const double sharers = facts.nodes > 1 && !alone ? facts.ranks_per_node() : 1;
  out.wire_bytes = sent_bytes(facts, key, sends, message) / sharers;
  if (!is_rooted(key.collective) && key.collective != Collective::send_recv)
    out.own_bytes = message / facts.ranks;
  if (key.kind == NcclCostKind::nvls && !key.several_nodes)
    out.loops = nvls_loops(tuning, facts, message);
  out.transport_s = messages_in_turn(facts, key, out) * facts.transport_latency.seconds();
  return out;
}

const NcclCost* find_nccl_cost(const std::vector<NcclCost>& costs, const NcclCostKey& key) {
  const NcclCost* best = nullptr;
  int least = 0;
  for (const NcclCost& cost : costs) {
    const auto far = distance(cost.key, key);
    if (!far || (best != nullptr && *far >= least)) continue;
    best = &cost;
    least = *far;
  }
  return best;
}

std::optional<Provenance> nccl_cost_provenance(const std::vector<NcclCost>& costs,
                                               const NcclCostKey& key) {
  const NcclCost* cost = find_nccl_cost(costs, key);
  if (cost == nullptr) return std::nullopt;
  const bool own = cost->key.architecture == key.architecture && cost->key.kind == key.kind;
  return own ? cost->provenance : Provenance::assumed;
}

Duration nccl_cost_time(const NcclCost& cost, const NcclCostTerms& terms) {
  const double seconds =
      cost.launch.seconds() + terms.hops * exposed(cost, terms) * cost.hop.seconds() +
      terms.network_hops * cost.network_hop.seconds() + terms.loops * cost.loop.seconds() +
      terms.transport_s + seconds_for(terms.wire_bytes, cost.wire) +
      seconds_for(terms.own_bytes, cost.own);
  constexpr double kLongest = 9e6;  // what 64 bits of picoseconds hold
  if (!(seconds < kLongest)) detail::throw_overflow("Duration");
  return Duration::picoseconds(std::llround(seconds * 1e12));
}

Duration nccl_overhead(const NcclTuning& tuning, const NcclFacts& facts, Collective collective,
                       Bytes size, const NcclChoice& choice) {
  if (facts.ranks < 2) return {};
  const NcclCostKey key = nccl_cost_key(tuning, facts, collective, choice);
  const NcclCostTerms terms = nccl_cost_terms(tuning, facts, key, size);
  if (const NcclCost* cost = find_nccl_cost(tuning.costs, key)) return nccl_cost_time(*cost, terms);
  NcclCost launch_alone;
  if (choice.algorithm)
    launch_alone.launch =
        tuning.base_latency[*choice.algorithm][choice.protocol].value_or(Duration{});
  return nccl_cost_time(launch_alone, terms);
}

}  // namespace lockstep
