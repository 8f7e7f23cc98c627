#include "strategies/nccl/facts_of.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/nccl/search.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {
namespace {

constexpr int kMostLooked = 128;

/// A route's links with what they are.
using Way = std::vector<std::pair<LinkId, ClusterLink>>;

/// A NIC as its nearest GPU reaches it.
struct Nic {
  Rate rate = Rate::bytes_per_second(1);
  NcclPath path = NcclPath::pix;
};

class Probe {
 public:
  Probe(const Cluster& cluster, const MemberPlacement& placement)
      : cluster_{cluster},
        router_{make_router(cluster, RoutePolicy::shortest)},
        members_{placement.fullest} {
    if (std::ssize(members_) > kMostLooked) members_.resize(kMostLooked);
    gpus_ = static_cast<int>(members_.size());
    look_inside();
    look_outside(placement.next);
  }

  [[nodiscard]] int gpus() const { return gpus_; }
  /// Whether NVLink joins all GPUs of the node.
  [[nodiscard]] bool nvlink() const { return parts_ == 1; }
  [[nodiscard]] bool nvswitch() const { return nvswitch_; }
  [[nodiscard]] const std::map<LinkId, Nic>& nics() const { return nics_; }

  /// Of every GPU, what its NVLinks carry.
  [[nodiscard]] std::vector<std::vector<Rate>> nvlinks() const {
    std::vector<std::vector<Rate>> rates;
    for (const auto& links : nvlinks_) {
      rates.emplace_back();
      for (const auto& [id, rate] : links) rates.back().push_back(rate);
    }
    return rates;
  }

  /// What one ring through the GPUs in their order gets, where `closed` it returns to the first.
  [[nodiscard]] std::optional<Rate> ring_rate(bool closed) const {
    if (gpus_ < 2) return std::nullopt;
    std::map<LinkId, std::pair<Rate, int>> uses;
    for (int g = 0; g < (closed ? gpus_ : gpus_ - 1); ++g) {
      for (const auto& [id, link] : way(member(g), member((g + 1) % gpus_))) {
        ++uses.try_emplace(id, link.figures.carried(), 0).first->second.second;
      }
    }
    std::optional<Rate> least;
    for (const auto& [id, use] : uses) {
      const Rate share = use.first.scaled(1.0 / use.second);
      least = least ? std::min(*least, share) : share;
    }
    return least;
  }

  /// The link between the node's first two sockets, if there is one.
  [[nodiscard]] std::optional<Rate> socket_link() const {
    const auto first = static_cast<EndpointId>(cluster_.ranks());
    if (cluster_.auxiliary_ranks() < 2 || kind_of(first) != VertexKind::cpu) return std::nullopt;
    const Way found = way(first, first + 1);
    if (found.size() != 1 || found.front().second.kind != LinkKind::cpu) return std::nullopt;
    return found.front().second.figures.carried();
  }

  /// The worst of the ways between GPUs that rings take.
  [[nodiscard]] NcclPath intra_path() const {
    if (gpus_ < 2) return NcclPath::loc;
    if (nvlink()) return NcclPath::nvl;
    NcclPath worst = NcclPath::loc;
    for (int g = 0; g + 1 < gpus_; ++g)
      worst = std::max(worst, path_of(way(member(g), member(g + 1))));
    return worst;
  }

 private:
  [[nodiscard]] EndpointId member(int gpu) const { return members_[static_cast<std::size_t>(gpu)]; }
  [[nodiscard]] VertexKind kind_of(EndpointId endpoint) const {
    return cluster_.vertex(cluster_.vertex_of(endpoint)).kind;
  }

  [[nodiscard]] Way way(EndpointId from, EndpointId to) const {
    Route route;
    Way links;
    if (!router_->route(from, to, route)) return links;
    for (const Hop& hop : route.hops) links.emplace_back(hop.link, cluster_.link(hop.link));
    return links;
  }

  void look_inside() {
    nvlinks_.resize(static_cast<std::size_t>(gpus_));
    std::vector<int> part(static_cast<std::size_t>(gpus_));
    std::iota(part.begin(), part.end(), 0);
    parts_ = gpus_;
    for (int a = 0; a < gpus_; ++a) {
      for (int b = 0; b < gpus_; ++b) {
        if (a != b) look_between(a, b, part);
      }
    }
    if (gpus_ < 2) parts_ = 0;
  }

  void look_between(int from, int to, std::vector<int>& part) {
    const Way found = way(member(from), member(to));
    const auto is_nvlink = [](const auto& hop) { return hop.second.kind == LinkKind::nvlink; };
    if (found.empty() || !std::all_of(found.begin(), found.end(), is_nvlink)) return;
    const auto& [id, link] = found.front();
    nvlinks_[static_cast<std::size_t>(from)].insert_or_assign(id, link.figures.carried());
    nvswitch_ = nvswitch_ || cluster_.vertex(link.to).kind == VertexKind::nvswitch;
    join(part, from, to);
  }

  void join(std::vector<int>& part, int a, int b) {
    const int keep = part[static_cast<std::size_t>(a)];
    const int drop = part[static_cast<std::size_t>(b)];
    if (keep == drop) return;
    std::replace(part.begin(), part.end(), drop, keep);
    --parts_;
  }

  /// From every GPU to its like on another node, or to the last there where there are fewer.
  void look_outside(const std::vector<EndpointId>& next) {
    if (next.empty()) return;
    for (int g = 0; g < gpus_; ++g) {
      const std::size_t peer = std::min(static_cast<std::size_t>(g), next.size() - 1);
      look_at_nic(way(member(g), next[peer]));
    }
  }

  void look_at_nic(const Way& found) {
    const auto is_network = [](const auto& hop) { return hop.second.kind == LinkKind::network; };
    const auto last = std::find_if(found.begin(), found.end(), is_network);
    if (last == found.end()) return;
    const Way leaving{found.begin(), last + 1};
    const Nic nic{slowest(leaving), path_of({found.begin(), last})};
    const auto [at, is_new] = nics_.try_emplace(last->first, nic);
    if (!is_new && nic.path < at->second.path) at->second = nic;
  }

  static Rate slowest(const Way& links) {
    Rate least = links.front().second.figures.carried();
    for (const auto& [id, link] : links) least = std::min(least, link.figures.carried());
    return least;
  }

  [[nodiscard]] bool is(VertexId id, VertexKind kind) const {
    return cluster_.vertex(id).kind == kind;
  }

  /// NCCL's word for a way inside a node.
  [[nodiscard]] NcclPath path_of(const Way& links) const {
    const auto is_nvlink = [](const auto& hop) { return hop.second.kind == LinkKind::nvlink; };
    if (links.empty()) return NcclPath::pix;
    if (std::all_of(links.begin(), links.end(), is_nvlink)) return NcclPath::nvl;
    int sockets = 0;
    int switches = 0;
    for (const auto& [id, link] : links) {
      sockets += is(link.to, VertexKind::cpu) ? 1 : 0;
      switches += is(link.to, VertexKind::pcie_switch) ? 1 : 0;
    }
    if (sockets > 1) return NcclPath::sys;
    const ClusterLink& first = links.front().second;
    const bool to_cpu = is(first.to, VertexKind::cpu);
    if (first.kind == LinkKind::nvlink && !to_cpu) return NcclPath::pxn;
    if (sockets == 1) return first.kind == LinkKind::pcie ? NcclPath::phb : NcclPath::p2c;
    return switches > 1 ? NcclPath::pxb : NcclPath::pix;
  }

  const Cluster& cluster_;
  std::shared_ptr<const Router> router_;
  std::vector<EndpointId> members_;  // that are looked at, on one node
  int gpus_ = 0;                     // how many these are
  int parts_ = 0;                    // into which the GPUs fall without other links than NVLink
  bool nvswitch_ = false;
  std::vector<std::map<LinkId, Rate>> nvlinks_;
  std::map<LinkId, Nic> nics_;
};

bool begins_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning &&
         (text.size() == beginning.size() || text[beginning.size()] == '-');
}

NcclArchitecture architecture_of(const NcclRecognition& recognition, std::string_view device) {
  for (const NcclArchitecture architecture : nccl_values<NcclArchitecture>()) {
    for (const std::string& beginning : recognition.devices[architecture]) {
      if (begins_with(device, beginning)) return architecture;
    }
  }
  return recognition.otherwise;
}

NcclCpu cpu_of(const NcclRecognition& recognition, std::optional<Rate> between_sockets) {
  for (const NcclSocket& socket : recognition.sockets) {
    if (between_sockets == socket.bandwidth) return socket.cpu;
  }
  return NcclCpu::other;
}

NcclNode node_of(const Probe& probe, bool several_nodes) {
  NcclNode node;
  node.gpus = probe.gpus();
  node.nvswitch = probe.nvswitch();
  if (probe.nvlink()) {
    node.nvlinks = probe.nvlinks();
  } else {
    node.pcie_ring = probe.ring_rate(!several_nodes);
  }
  for (const auto& [id, nic] : probe.nics()) node.nics.push_back(nic.rate);
  return node;
}

NcclPath worst_nic(const Probe& probe) {
  NcclPath worst = NcclPath::pix;
  for (const auto& [id, nic] : probe.nics()) worst = std::max(worst, nic.path);
  return worst;
}

}  // namespace

NcclFacts nccl_facts_of(const NcclTuning& tuning, const Cluster& cluster, const Device& device,
                        const MemberPlacement& placement) {
  const Probe probe{cluster, placement};
  const bool several = placement.nodes > 1;
  const NcclNode node = node_of(probe, several);

  NcclFacts facts;
  facts.ranks = placement.ranks;
  facts.nodes = placement.nodes;
  if (!placement.equal_nodes) facts.most_per_node = placement.most_per_node;
  facts.architecture = architecture_of(tuning.recognition, device.id);
  facts.cpu = cpu_of(tuning.recognition, probe.socket_link());
  facts.nvlink = probe.nvlink();
  facts.intra_path = probe.intra_path();
  facts.inter_path = worst_nic(probe);
  if (several) facts.transport_latency = transport_latency(cluster);
  const NcclLadder& ladder = tuning.ladders[facts.architecture];
  facts.ring = search_rings(ladder, tuning.channels, node, several);
  if (facts.architecture >= tuning.rules.nvls_from) {
    facts.nvls = search_nvls(ladder, tuning.channels, node, several);
  }
  facts.channels = channels_used(tuning.channels, facts.ring, facts.architecture, several);
  // One NIC, or a switch that makes any order as good as any other.
  facts.same_channels =
      facts.ring.channels <= 1 || (several ? probe.nics().size() <= 1 : probe.nvswitch());
  return facts;
}

NcclFacts nccl_facts_of(const NcclTuning& tuning, const Cluster& cluster, const Device& device) {
  return nccl_facts_of(tuning, cluster, device, placement_of(cluster));
}

}  // namespace lockstep
