#include "topologies/files/protocol.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/config/reader.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/devices/provenance_key.hpp"
#include "topologies/graph/cluster_data.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostSlots = 1024;

void read_payload(ObjectReader& in, Protocol& protocol) {
  protocol.payload_unit = in.positive_bytes("bytes");
  protocol.wire_unit = in.positive_bytes("of");
  (void)in.string("source");
  (void)optional_provenance(in, kProvenanceKey);
  if (protocol.payload_unit > protocol.wire_unit) {
    in.note("bytes", "there cannot be more data than bytes on the wire");
  }
}

void read_added_latency(ObjectReader& in, Protocol& protocol) {
  for (std::size_t kind = 0; kind < kLinkKindNames.size(); ++kind) {
    protocol.added_latency[kind] = in.duration(kLinkKindNames[kind]);
  }
  (void)in.string("source");
  (void)optional_provenance(in, kProvenanceKey);
}

void read_buffer(ObjectReader& in, Protocol& protocol) {
  const Bytes size = in.positive_bytes("size");
  protocol.slots = in.integer("slots", 1, kMostSlots);
  (void)in.string("source");
  (void)optional_provenance(in, kProvenanceKey);
  if (size.count() % protocol.slots != 0) {
    in.note("size", "expected a multiple of the number of slots");
    return;
  }
  protocol.slot_size = Bytes{size.count() / protocol.slots};
}

Protocol read_protocol_file(ObjectReader& in) {
  Protocol protocol;
  protocol.name = in.string({"name", "Name used by the library"});
  protocol.summary = in.string("summary");
  in.object({"payload", "Payload bytes per bytes on the wire (of); bytes <= of"},
            [&](ObjectReader& payload) { read_payload(payload, protocol); });
  in.object({"added_latency",
             "Additional latency of a hop between two GPUs, by the kind of link on which it "
             "leaves the GPU; network: to another node"},
            [&](ObjectReader& added) { read_added_latency(added, protocol); });
  in.object({"buffer", "Buffer of a connection per channel; its size is a multiple of the slots"},
            [&](ObjectReader& buffer) { read_buffer(buffer, protocol); });
  return protocol;
}

int count_ends(const Graph& graph, const ClusterLink& link, bool (*is)(VertexKind)) {
  return static_cast<int>(is(graph[link.from].kind)) + static_cast<int>(is(graph[link.to].kind));
}

bool is_nic(VertexKind kind) {
  return kind == VertexKind::nic;
}

Duration half(Duration whole) {
  return Duration::picoseconds(whole.ps() / 2);
}

/// The rest of a network hop, whose first and last links are PCIe ones that touch the GPUs. It may
/// be negative: LL128 adds less to a hop over the network than to one over PCIe.
Duration added_at_nic(const Protocol& protocol) {
  return half(protocol.added(LinkKind::network) - protocol.added(LinkKind::pcie));
}

/// No link becomes faster than at once.
Duration bounded(Duration added, const LinkFigures& figures) {
  return std::max(added, Duration{} - figures.latency);
}

Duration added_in_node(const Protocol& protocol, const Graph& graph, const ClusterLink& link) {
  const int nics = link.kind == LinkKind::network ? count_ends(graph, link, is_nic) : 0;
  const Duration added = half(protocol.added(link.kind)) * count_ends(graph, link, holds_a_rank) +
                         added_at_nic(protocol) * nics;
  return bounded(added, link.figures);
}

Duration added_to_host_links(const Protocol& protocol, const ClusterData& data) {
  const VertexKind terminal = (*data.node.graph)[data.terminals.front()].kind;
  const Duration added =
      is_nic(terminal) ? added_at_nic(protocol) : half(protocol.added(LinkKind::network));
  return bounded(added, data.fabric.host_link);
}

/// What the links of a cluster take longer; known per node and per plane, since those are equal.
class AddedLatency {
 public:
  AddedLatency(const Protocol& protocol, std::shared_ptr<const ClusterData> data)
      : data_{std::move(data)} {
    for (std::size_t id = 0; id < data_->links.size(); ++id) {
      in_node_.push_back(added_in_node(protocol, *data_->node.graph, data_->links[id]));
    }
    if (data_->planes != 0) at_hosts_ = added_to_host_links(protocol, *data_);
  }

  /// Links may have other latencies than those of the cluster's file: none becomes negative.
  void bound(const std::vector<Link>& links) {
    for (LinkId id = 0; id < links.size(); ++id)
      if (links[id].latency + of(id) < Duration{}) bounds_[id] = Duration{} - links[id].latency;
  }

  [[nodiscard]] Duration of(LinkId id) const {
    if (!bounds_.empty())
      if (const auto bound = bounds_.find(id); bound != bounds_.end()) return bound->second;
    if (id < data_->first_plane_link()) return in_node_[id % data_->node_links()];
    const std::size_t in_plane = (id - data_->first_plane_link()) % data_->plane_links();
    return in_plane < data_->host_links() ? at_hosts_ : Duration{};
  }

 private:
  std::shared_ptr<const ClusterData> data_;
  std::vector<Duration> in_node_;
  Duration at_hosts_;
  std::unordered_map<LinkId, Duration> bounds_;
};

/// The routes of a network whose links take longer.
class SlowerRouter final : public Router {
 public:
  SlowerRouter(std::shared_ptr<const Router> inner, AddedLatency added)
      : inner_{std::move(inner)}, added_{std::move(added)} {}

  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    if (!inner_->route(from, to, route)) return false;
    route.latency += added_to(route);
    return true;
  }

 private:
  /// Over one path; of a split route over the mean of its paths, which are alike by symmetry.
  [[nodiscard]] Duration added_to(const Route& route) const {
    Int128 sum = 0;
    for (const Hop& hop : route.hops) sum += Int128{added_.of(hop.link).ps()} * Int128{hop.weight};
    constexpr Int128 kUnit = kWeightUnit;
    const Int128 rounded = (sum + (sum < 0 ? -kUnit / 2 : kUnit / 2)) / kUnit;
    return Duration::picoseconds(static_cast<std::int64_t>(rounded));
  }

  std::shared_ptr<const Router> inner_;
  AddedLatency added_;
};

bool adds_latency(const Protocol& protocol) {
  return std::any_of(protocol.added_latency.begin(), protocol.added_latency.end(),
                     [](Duration added) { return added != Duration{}; });
}

}  // namespace

Bytes Protocol::slot_payload() const {
  const Int128 data = Int128{slot_size.count()} * payload_unit.count() / wire_unit.count();
  return Bytes{static_cast<std::int64_t>(data)};
}

Rate Protocol::payload_rate(Rate wire) const {
  const UInt128 steps = UInt128{wire.steps()} * static_cast<std::uint64_t>(payload_unit.count()) /
                        static_cast<std::uint64_t>(wire_unit.count());
  return Rate::from_steps(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(steps)));
}

Protocol read_protocol(const JsonDocument& document, std::string id) {
  Protocol out = read_document(document, read_protocol_file);
  out.id = std::move(id);
  return out;
}

JsonValue protocol_schema() {
  return schema_of("protocol",
                   "A wire protocol of a collective library: payload share, additional latency per "
                   "hop, and data in flight.",
                   read_protocol_file);
}

Protocol load_protocol(const std::filesystem::path& path) {
  return read_protocol(read_json(path), path.stem().string());
}

std::vector<std::string> protocol_ids(const std::filesystem::path& folder) {
  return device_ids(folder);  // ids are names of .json files there as well
}

void apply(const Protocol& protocol, const Cluster& cluster, Network& network) {
  LOCKSTEP_CHECK(network.links.size() == cluster.link_count());
  for (Link& link : network.links) link.bandwidth = protocol.payload_rate(link.bandwidth);
  if (!adds_latency(protocol)) return;
  AddedLatency added{protocol, cluster.shared()};
  added.bound(network.links);
  for (LinkId id = 0; id < network.links.size(); ++id) network.links[id].latency += added.of(id);
  network.router = std::make_shared<SlowerRouter>(network.router, std::move(added));
}

}  // namespace lockstep
