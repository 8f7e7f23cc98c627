#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "strategies/calibration/cost_data.hpp"
#include "strategies/calibration/nccl_names.hpp"
#include "strategies/nccl/symmetric/windows_data.hpp"

/// Parameters of one version of NCCL's tuning model, from configs/nccl/*.json with their sources.
/// Formulas are in tuning.cpp, search.cpp and nccl_choice.cpp.
namespace lockstep {

/// One time per protocol; none if the algorithm does not support it.
using NcclLatencyRow = NcclTable<NcclProtocol, std::optional<Duration>>;
/// One limit per column; none if the algorithm does not run there.
using NcclCapRow = NcclTable<NcclSpan, std::optional<Rate>>;

/// Bandwidth limits of an architecture.
struct NcclCaps {
  NcclCapRow ll_total;
  NcclCapRow ring_ll128_channel;
  NcclCapRow tree_ll128_channel;
  NcclCapRow tree_channel;
  NcclCapRow nvls_tree_channel;
  double nvls_efficiency = 0;  // fraction of the NVLinks; 0: no NVLS
};

/// CPU time per step of a ring between nodes.
struct NcclNetOverhead {
  NcclTable<NcclCpu, Duration> per_step;
  double simple_factor = 1;
};

/// Factors on the bandwidth of an algorithm's channels.
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
  double round_trip = 1;  // of algorithms that pass all data up and down
};

struct NcclLatencyTerms {
  Duration collnet_direct_per_peer;
  double pat_network_divisor = 1;
  Duration pat_per_rank;
};

/// Ring with Simple between nodes has a higher latency above some size.
struct NcclRingPlateau {
  Bytes from;  // size per channel and rank
  NcclTable<NcclArchitecture, double> factor;
};

/// Factors on the bandwidth of tree all-reduce by size: entry i applies from `from`*2^i to twice
/// that.
struct NcclTreeCorrection {
  Bytes from{1};
  NcclTable<NcclProtocol, std::vector<double>> factors;
};

/// Minimum bytes per thread for a channel to be used; ring with LL: times the ranks.
struct NcclThreads {
  NcclTable<NcclProtocol, std::int64_t> per_channel;
  std::int64_t simple_slow = 1;  // if all channels of a ring together do not exceed `slow`
  Rate slow = Rate::bytes_per_second(1);
  NcclTable<NcclProtocol, Bytes> least_bytes;
};

/// Channel speeds that the graph search tries per architecture, fastest first.
struct NcclLadder {
  std::vector<Rate> intra;
  std::vector<Rate> inter;
  Rate split_from =
      Rate::bytes_per_second(1);  // faster channels are split into two of half the speed
};

struct NcclChannelCounts {
  std::int64_t most_found = 1;
  std::int64_t most_used = 1;
  std::int64_t factor = 1;  // channels used per channel found
  /// Between nodes, fast channels are doubled again while there are fewer than this many.
  NcclArchitecture double_from = NcclArchitecture::hopper;
  Rate double_above = Rate::bytes_per_second(1);
  std::int64_t double_below = 1;
};

/// What is enabled by default.
struct NcclRules {
  NcclPath ll128_intra = NcclPath::nvb;               // longest path inside a node
  NcclTable<NcclArchitecture, NcclPath> ll128_inter;  // longest path to the NIC
  NcclArchitecture nvls_from = NcclArchitecture::hopper;
  std::int64_t nvls_least_channels = 1;
  std::int64_t pat_ranks_per_node = 1;  // at most
};

/// While a channel has fewer than `pieces` chunks per tree step, chunks are halved, down to
/// `least`.
struct NcclChunkHalving {
  std::int64_t pieces = 1;
  Bytes least{1};
};

/// Messages of fewer than `loops` loops over the chunks so far take chunks of `chunk`.
struct NcclShorterChunk {
  std::int64_t loops = 1;
  Bytes chunk{1};
};

/// NVLS inside a node moves one chunk per channel and head in a loop.
struct NcclNvlsChunks {
  Bytes step{1};                                                        // the largest chunk
  std::vector<NcclShorterChunk> shorter{};                              // applied in turn
  NcclTable<NcclArchitecture, std::optional<std::int64_t>> channels{};  // none: no NVLS
};

struct NcclChunks {
  NcclTable<NcclProtocol, Bytes> step;  // data
  std::int64_t pipeline_steps = 1;      // of a chunk of broadcast and reduce
  std::vector<NcclChunkHalving> tree_ll128;
  NcclNvlsChunks nvls;
  Bytes send_recv_ll_up_to;  // grouped sends use LL up to this size, Simple above
};

/// How devices and sockets of a cluster are recognized.
struct NcclSocket {
  Rate bandwidth = Rate::bytes_per_second(1);  // usable bandwidth between two CPUs
  NcclCpu cpu = NcclCpu::other;
};
struct NcclRecognition {
  NcclTable<NcclArchitecture, std::vector<std::string>> devices;  // prefixes of device ids
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
  NcclTable<NcclCpu, NcclArchitecture>
      ll_total_row;  // across nodes; inside one node the GPUs' own row
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
  NcclWindows windows;
  NcclRecognition recognition;
  /// Costs of collectives beyond their links; not part of the file (tuning_file.hpp).
  std::vector<NcclCost> costs{};
};

}  // namespace lockstep
