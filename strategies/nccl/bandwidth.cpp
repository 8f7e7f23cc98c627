#include "strategies/nccl/bandwidth.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using namespace nccl;

class BandwidthModel {
 public:
  explicit BandwidthModel(const NcclCase& one) : case_{one}, factors_{one.tuning.bandwidth} {}

  /// Bytes of the message per time; 0 where the algorithm does not run.
  [[nodiscard]] double operator()(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return of_bus(algorithm, protocol) * message_share(algorithm);
  }

 private:
  [[nodiscard]] double of_bus(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    switch (algorithm) {
      case NcclAlgorithm::tree:
        return tree(protocol);
      case NcclAlgorithm::ring:
        return ring(protocol);
      case NcclAlgorithm::collnet_direct:
        return collnet_direct();
      case NcclAlgorithm::collnet_chain:
        return channels() * intra(case_.facts.ring);
      case NcclAlgorithm::nvls:
        return nvls();
      case NcclAlgorithm::nvls_tree:
        return nvls_tree();
      case NcclAlgorithm::pat:
        return channels() * channel(case_.facts.ring) * factors_.pat;
    }
    return 0;
  }

  /// Of every byte on the bus, how many the message is done with.
  [[nodiscard]] double message_share(NcclAlgorithm algorithm) const {
    const bool ring = algorithm == NcclAlgorithm::ring;
    if (!ring && case_.by_parts()) return 1;
    const bool nvls = algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
    return ring || nvls ? case_.ranks() / case_.steps() : factors_.round_trip;
  }

  [[nodiscard]] double ring(NcclProtocol protocol) const {
    const double bus = channels() * channel(case_.facts.ring);
    if (protocol == NcclProtocol::ll) return std::min(ll_total(), bus * factors_.ring_ll);
    if (protocol == NcclProtocol::simple) return bus;
    return capped(bus * factors_.ring_ll128, case_.caps().ring_ll128_channel);
  }

  [[nodiscard]] double tree(NcclProtocol protocol) const {
    const double bus =
        capped(channels() * channel(case_.facts.ring) * factors_.tree, case_.caps().tree_channel);
    return tree_protocol(bus, protocol) * (case_.facts.plain_tree ? factors_.plain_tree : 1);
  }

  [[nodiscard]] double tree_protocol(double bus, NcclProtocol protocol) const {
    if (protocol == NcclProtocol::simple) return bus;
    if (protocol == NcclProtocol::ll) return std::min(bus / factors_.tree_ll_divisor, ll_total());
    const double share =
        case_.facts.nodes == 1 ? factors_.tree_ll128_one_node : factors_.tree_ll128;
    return capped(bus * share, case_.caps().tree_ll128_channel);
  }

  /// GPUs share the NICs where there are more of them than channels.
  [[nodiscard]] double collnet_direct() const {
    const double sharing = 1 + (case_.per_node() / channels() - 1) / 2;
    const bool slower = case_.facts.architecture >= factors_.collnet_direct_from;
    return channels() * intra(case_.facts.ring) / sharing * (slower ? factors_.collnet_direct : 1);
  }

  /// NICs limit only where there are several nodes.
  [[nodiscard]] double nvls() const {
    const NcclGraph& graph = case_.facts.nvls;
    const double peers = case_.per_node() - 1;
    const double share = case_.all_reduce() ? 1 : peers / case_.per_node() / 2;
    const double channel = nvls_channel() * share;
    if (case_.facts.nodes == 1) return graph.channels * channel;
    return graph.channels * std::min(channel, gigabytes_per_second(graph.inter));
  }

  /// The caps (57.7 GB/s of Hopper on two nodes) are above any speed of a NIC that the search
  /// finds: it is the channels inside the nodes that they cut, and 8 at the cap give the bus
  /// bandwidth that two HGX H200 reach (459-489 GB/s, NVIDIA/nccl-tests issue 256).
  [[nodiscard]] double nvls_tree() const {
    const auto limit = case_.cap(case_.caps().nvls_tree_channel);
    return limit ? case_.facts.nvls.channels * std::min(nvls_channel(), *limit) : 0;
  }

  /// Of an all-reduce inside a node. The switch reads and writes at once: twice the links' speed.
  [[nodiscard]] double nvls_channel() const {
    const NcclGraph& graph = case_.facts.nvls;
    const double heads = graph.channels;
    return 2 * intra(graph) * case_.caps().nvls_efficiency * (heads - 1) / heads;
  }

  [[nodiscard]] double capped(double bus, const NcclCapRow& per_channel) const {
    const auto limit = case_.cap(per_channel);
    return limit ? std::min(bus, *limit * channels()) : bus;
  }

  /// On several nodes the CPU decides, not the GPU.
  [[nodiscard]] double ll_total() const {
    const NcclArchitecture row = case_.facts.nodes == 1
                                     ? case_.facts.architecture
                                     : case_.tuning.ll_total_row[case_.facts.cpu];
    return case_.cap(case_.tuning.caps[row].ll_total).value_or(0);
  }

  [[nodiscard]] double channels() const { return case_.facts.ring.channels; }
  [[nodiscard]] static double intra(const NcclGraph& graph) {
    return gigabytes_per_second(graph.intra);
  }
  [[nodiscard]] double channel(const NcclGraph& graph) const {
    return case_.facts.nodes <= 2 ? intra(graph) : gigabytes_per_second(graph.inter);
  }

  const NcclCase& case_;
  const NcclBandwidthFactors& factors_;
};

}  // namespace

double nccl_bandwidth(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol) {
  return BandwidthModel{one}(algorithm, protocol);
}

}  // namespace lockstep
