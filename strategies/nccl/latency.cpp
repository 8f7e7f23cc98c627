#include "strategies/nccl/latency.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using namespace nccl;

class LatencyModel {
 public:
  LatencyModel(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol)
      : case_{one}, algorithm_{algorithm}, protocol_{protocol} {}

  [[nodiscard]] double operator()() const { return of_row(case_.tuning.base_latency) + hops(); }

 private:
  using Rows = NcclTable<NcclAlgorithm, NcclLatencyRow>;

  [[nodiscard]] double hops() const {
    const double peers = case_.facts.ranks_per_node() - 1;
    const int levels = floor_log2(case_.facts.nodes);
    switch (algorithm_) {
      case NcclAlgorithm::ring:
        return ring();
      case NcclAlgorithm::tree:
        return 2 * (peers * intra() + levels * inter());
      case NcclAlgorithm::collnet_direct:
        return 2 * (std::min(1.0, peers) * intra() + peers * per_peer()) + inter();
      case NcclAlgorithm::collnet_chain:
        return 2 * peers * intra() + inter();
      case NcclAlgorithm::nvls:
        return intra() + (case_.facts.nodes > 1 ? inter() : 0);
      case NcclAlgorithm::nvls_tree:
        return intra() + 2 * levels * inter();
      case NcclAlgorithm::pat:
        return levels * inter() / case_.tuning.latency.pat_network_divisor +
               case_.ranks() * microseconds(case_.tuning.latency.pat_per_rank);
    }
    return 0;
  }

  [[nodiscard]] double ring() const {
    if (case_.collective == Collective::broadcast || case_.collective == Collective::reduce) {
      return of_hop(case_.facts.nodes == 1 ? intra_hop() : NcclHop::net) *
             (case_.facts.same_channels ? 1 : case_.steps());
    }
    const double between = case_.facts.nodes == 1 ? 0
                           : case_.all_reduce()   ? 2 * (case_.facts.nodes - 1)
                                                  : case_.facts.nodes - 1;
    return (case_.steps() - between) * std::max(intra(), overhead()) + between * inter();
  }

  /// Rings between nodes have every step posted by the CPU.
  [[nodiscard]] double overhead() const {
    if (case_.facts.nodes == 1) return 0;
    const NcclNetOverhead& overhead = case_.tuning.net_overhead;
    return microseconds(overhead.per_step[case_.facts.cpu]) *
           (protocol_ == NcclProtocol::simple ? overhead.simple_factor : 1);
  }

  [[nodiscard]] double intra() const { return of_hop(intra_hop()); }

  /// With one GPU per node nothing hides the network: the tree's figure counts. Simple flushes what
  /// a NIC has written, which takes its latency once more.
  [[nodiscard]] double inter() const {
    const bool exposed = case_.facts.ranks_per_node() == 1;
    const Rows& net = case_.tuning.hop_latency[NcclHop::net];
    const double hop = exposed ? of_protocol(net[NcclAlgorithm::tree]) : of_row(net);
    return hop +
           microseconds(case_.facts.nic_latency) * (protocol_ == NcclProtocol::simple ? 2 : 1);
  }

  [[nodiscard]] double per_peer() const {
    return microseconds(case_.tuning.latency.collnet_direct_per_peer);
  }
  [[nodiscard]] NcclHop intra_hop() const {
    return case_.facts.nvlink ? NcclHop::nvlink : NcclHop::pci;
  }
  [[nodiscard]] double of_hop(NcclHop hop) const { return of_row(case_.tuning.hop_latency[hop]); }
  [[nodiscard]] double of_row(const Rows& rows) const { return of_protocol(rows[algorithm_]); }
  [[nodiscard]] double of_protocol(const NcclLatencyRow& row) const {
    return microseconds(row[protocol_].value_or(Duration{}));
  }

  const NcclCase& case_;
  NcclAlgorithm algorithm_;
  NcclProtocol protocol_;
};

}  // namespace

double nccl_latency(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol) {
  return LatencyModel{one, algorithm, protocol}();
}

}  // namespace lockstep
