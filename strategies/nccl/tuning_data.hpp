#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "strategies/nccl/cost/cost_data.hpp"
#include "strategies/nccl/cost/names.hpp"

/// The figures by which one version of NCCL estimates and chooses, as configs/nccl/*.json has them
/// with their sources. The formulas that they enter are in tuning.cpp, search.cpp and choice.cpp.
namespace lockstep {

/// One time per protocol; none where the algorithm does not run with it.
using NcclLatencyRow = NcclTable<NcclProtocol, std::optional<Duration>>;
/// One limit per column; none: the algorithm does not run there.
using NcclCapRow = NcclTable<NcclSpan, std::optional<Rate>>;

/// What an architecture reaches at most.
struct NcclCaps {
  NcclCapRow ll_total;
  NcclCapRow ring_ll128_channel;
  NcclCapRow tree_ll128_channel;
  NcclCapRow tree_channel;
  NcclCapRow nvls_tree_channel;
  double nvls_efficiency = 0;  // of the NVLinks; 0: no NVLS
};

/// Times that the CPU spends per step of a ring between nodes.
struct NcclNetOverhead {
  NcclTable<NcclCpu, Duration> per_step;
  double simple_factor = 1;
};

/// What an algorithm makes of the bandwidth of its channels.
struct NcclBandwidthFactors {
  double ring_ll = 1;
  double ring_ll128 = 1;
  double tree = 1;
  double tree_ll_divisor = 1;
  double tree_ll128_one_node = 1;
  double tree_ll128 = 1;
  double plain_tree = 1;
  double pat = 1;
  double collnet_direct = 1;
  NcclArchitecture collnet_direct_from = NcclArchitecture::hopper;
  double round_trip = 1;  // of algorithms that pass everything up and down again
};

struct NcclLatencyTerms {
  Duration collnet_direct_per_peer;
  double pat_network_divisor = 1;
  Duration pat_per_rank;
};

/// Rings with Simple between nodes have a longer latency from some size on.
struct NcclRingPlateau {
  Bytes from;  // per channel and rank
  NcclTable<NcclArchitecture, double> factor;
};

/// Factors on the bandwidth of a tree all-reduce by size: entry i is for sizes from `from`*2^i to
/// below twice that.
struct NcclTreeCorrection {
  Bytes from{1};
  NcclTable<NcclProtocol, std::vector<double>> factors;
};

/// A channel is used where every thread has this much to do; of a ring with LL, times the ranks.
struct NcclThreads {
  NcclTable<NcclProtocol, std::int64_t> per_channel;
  std::int64_t simple_slow = 1;  // where all channels of a ring together are not above `slow`
  Rate slow = Rate::bytes_per_second(1);
  NcclTable<NcclProtocol, Bytes> least_bytes;
};

/// What the search of graphs tries, per architecture: speeds of a channel, fastest first.
struct NcclLadder {
  std::vector<Rate> intra;
  std::vector<Rate> inter;
  Rate split_from = Rate::bytes_per_second(1);  // channels this fast become two of half the speed
};

struct NcclChannelCounts {
  std::int64_t most_found = 1;
  std::int64_t most_used = 1;
  std::int64_t factor = 1;  // used per channel found
  /// Between nodes, fast channels are doubled once more where there are fewer than so many.
  NcclArchitecture double_from = NcclArchitecture::hopper;
  Rate double_above = Rate::bytes_per_second(1);
  std::int64_t double_below = 1;
};

/// What is on by default.
struct NcclRules {
  NcclPath ll128_intra = NcclPath::nvb;               // at most this far inside a node
  NcclTable<NcclArchitecture, NcclPath> ll128_inter;  // and to the NIC
  NcclArchitecture nvls_from = NcclArchitecture::hopper;
  std::int64_t nvls_least_channels = 1;
  std::int64_t pat_ranks_per_node = 1;  // at most
};

/// While a channel has fewer than `pieces` chunks per step of a tree, chunks are halved, to no less
/// than `least`.
struct NcclChunkHalving {
  std::int64_t pieces = 1;
  Bytes least{1};
};

struct NcclChunks {
  NcclTable<NcclProtocol, Bytes> step;  // data
  std::int64_t pipeline_steps = 1;      // of a chunk of broadcast and reduce
  std::vector<NcclChunkHalving> tree_ll128;
  Bytes send_recv_ll_up_to;  // grouped sends of no more use LL, larger ones Simple
};

/// How devices and sockets of ours are recognised.
struct NcclSocket {
  Rate bandwidth = Rate::bytes_per_second(1);  // usable, between two CPUs
  NcclCpu cpu = NcclCpu::other;
};
struct NcclRecognition {
  NcclTable<NcclArchitecture, std::vector<std::string>> devices;  // beginnings of ids
  NcclArchitecture otherwise = NcclArchitecture::hopper;
  std::vector<NcclSocket> sockets;
};

struct NcclTuning {
  std::string id;  // the file's name without .json
  std::string version;
  std::string summary;
  NcclTable<NcclAlgorithm, bool> has;
  NcclTable<NcclAlgorithm, NcclLatencyRow> base_latency;
  NcclTable<NcclHop, NcclTable<NcclAlgorithm, NcclLatencyRow>> hop_latency;
  NcclTable<NcclArchitecture, NcclCaps> caps;
  NcclTable<NcclCpu, NcclArchitecture> ll_total_row;  // on several nodes; on one the GPUs' own
  NcclNetOverhead net_overhead;
  NcclBandwidthFactors bandwidth;
  NcclLatencyTerms latency;
  NcclRingPlateau ring_plateau;
  NcclTreeCorrection tree_correction;
  NcclThreads threads;
  NcclTable<NcclArchitecture, NcclLadder> ladders;
  NcclChannelCounts channels;
  NcclRules rules;
  NcclChunks chunks;
  NcclRecognition recognition;
  /// Costs of collectives in addition to their links; not of the file itself (tuning_file.hpp).
  std::vector<NcclCost> costs{};
};

}  // namespace lockstep
