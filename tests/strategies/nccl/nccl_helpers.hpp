#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "strategies/nccl/facts_of.hpp"
#include "strategies/nccl/tuning.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/files/cluster_file.hpp"

/// Words for tests of NCCL's model.
namespace lockstep {

inline const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

inline const NcclTuning& tuning_of(const std::string& id = "2.30") {
  static const NcclTuning newest = load_nccl_tuning(kConfigs / "nccl/2.30.json");
  static const NcclTuning old = load_nccl_tuning(kConfigs / "nccl/2.12.json");
  return id == "2.12" ? old : newest;
}

/// What NCCL finds on a cluster of ours.
inline NcclFacts facts_of(const std::string& cluster, const ClusterSize& size = {}) {
  const ClusterFile file = load_cluster(kConfigs / "clusters" / (cluster + ".json"), size);
  const Device device = load_device(kConfigs / "devices" / (file.device + ".json"));
  return nccl_facts_of(tuning_of(), file.cluster, device);
}

/// `nodes` HGX H100 as the evaluation that tuning_test.cpp reproduces has them: 12 channels of
/// 30 GB/s in one, 8 of 48 GB/s through several, rings and trees alone.
inline NcclFacts hgx_h100(int nodes, NcclCpu cpu = NcclCpu::amd) {
  NcclFacts facts;
  facts.ranks = 8 * nodes;
  facts.nodes = nodes;
  facts.cpu = cpu;
  facts.ring = nodes == 1 ? NcclGraph{12, 30_GBps, 30_GBps} : NcclGraph{8, 48_GBps, 48_GBps};
  facts.channels = 2 * facts.ring.channels;
  facts.same_channels = nodes == 1;
  return facts;
}

/// Eight A100 on NVSwitches: 240 GB/s.
inline NcclFacts hgx_a100() {
  NcclFacts facts;
  facts.ranks = 8;
  facts.architecture = NcclArchitecture::ampere;
  facts.cpu = NcclCpu::amd;
  facts.ring = {12, 20_GBps, 20_GBps};
  facts.channels = 24;
  return facts;
}

inline const NcclEstimate& of(const std::vector<NcclEstimate>& all, NcclAlgorithm algorithm,
                              NcclProtocol protocol) {
  return all.at(static_cast<std::size_t>(algorithm) * kNcclCount<NcclProtocol> +
                static_cast<std::size_t>(protocol));
}

/// "ring ll128"; "none" where nothing is allowed.
inline std::string text_of(const std::optional<NcclEstimate>& pick) {
  if (!pick) return "none";
  return std::string{nccl_name(pick->algorithm)} + " " + std::string{nccl_name(pick->protocol)};
}

/// What is picked from 8 B to 8 GiB, with the power of two at which each begins to be:
/// "tree ll, 512 KiB tree ll128".
inline std::string picks(const NcclTuning& tuning, const NcclFacts& facts,
                         Collective collective = Collective::all_reduce) {
  std::string all;
  std::string last;
  for (std::int64_t size = 8; size <= std::int64_t{8} << 30; size *= 2) {
    const std::string now = text_of(nccl_pick(tuning, facts, collective, Bytes{size}));
    if (now != last) all += last.empty() ? now : ", " + to_string(Bytes{size}) + " " + now;
    last = now;
  }
  return all;
}

}  // namespace lockstep
