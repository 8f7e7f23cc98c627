#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/network/transport.hpp"

namespace lockstep::maxmin {

using FlowId = std::uint32_t;
using ComponentId = std::uint32_t;
inline constexpr std::uint32_t kNone = UINT32_MAX;

/// A flow's crossing of one link, with its index in that link's list.
struct FlowHop {
  LinkId link = 0;
  std::uint32_t position = 0;
  Weight weight = 0;  // in units of FlowTable::unit()
};

/// An entry of a link's list. Most flows cross two links with the plain weight of a single path:
/// `other` is then the second link, so that solvers need not load the flow.
struct Crossing {
  FlowId flow = 0;
  LinkId other = kNone;
};

/// One cache line.
struct alignas(64) Flow {
  enum class State : std::uint8_t { gone, travelling, joining, alone, sharing };

  Int128 work = 0;  // alone: remaining at since_ps; in a group: the service at which it ends
  std::int64_t since_ps = 0;  // alone
  std::uint64_t rate = 0;     // alone, in rate steps
  std::int64_t event_ps = 0;  // SparseShares: time of its queued event, at most its end
  std::int64_t bytes = 0;     // of the whole transfer
  TransferId transfer = 0;
  std::uint32_t first_hop = 0;
  std::uint32_t version = 0;
  std::uint32_t hop_count : 25 = 0;
  bool weighted : 1 = false;    // has a traffic weight above 1
  bool ends_later : 1 = false;  // than at event_ps
  State state : 3 = State::travelling;
  bool keep : 1 = false;   // stays after arrival, to be started again
  bool eager : 1 = false;  // announces its last byte leaving; latency follows
};

/// Flows, the links that they cross, and the flows of every link. Indices only, so it can be
/// copied.
class FlowTable {
 public:
  explicit FlowTable(std::size_t links);

  /// Starts the lists of links; required before attach().
  void begin_lists();

  /// Creates a flow over `hops` that is not attached to its links yet.
  FlowId create(TransferId transfer, std::span<const Hop> hops);
  void destroy(FlowId id);

  /// Makes the flow cross `added` with the same weight as `known`.
  void add_hop(FlowId id, LinkId known, LinkId added);

  [[nodiscard]] bool crosses(FlowId id, LinkId link) const;

  void attach(FlowId id);  // adds it to the lists of its links
  void detach(FlowId id);

  /// Latency of the flow's transfer.
  [[nodiscard]] Duration& latency(FlowId id) { return latency_[id]; }
  /// If Flow::weighted.
  [[nodiscard]] TrafficWeight& traffic_weight(FlowId id) { return traffic_weight_[id]; }
  [[nodiscard]] Flow& flow(FlowId id) { return flows_[id]; }
  [[nodiscard]] const Flow& flow(FlowId id) const { return flows_[id]; }
  [[nodiscard]] std::span<FlowHop> hops(const Flow& flow) {
    return {hops_.data() + flow.first_hop, flow.hop_count};
  }
  [[nodiscard]] std::span<const FlowHop> hops(const Flow& flow) const {
    return {hops_.data() + flow.first_hop, flow.hop_count};
  }
  /// Flows on a link; members of the link's group first.
  [[nodiscard]] const std::vector<Crossing>& on_link(LinkId link) const { return on_link_[link]; }
  /// Prefetches the flows that a walk along `crossings` reaches soon.
  void fetch_ahead(std::span<const Crossing> crossings, std::size_t at) const {
    constexpr std::size_t kFlowsAhead = 16;
    constexpr std::size_t kHopsAhead = 8;
    if (at + kFlowsAhead >= crossings.size()) return;
    __builtin_prefetch(&flows_[crossings[at + kFlowsAhead].flow].first_hop);
    __builtin_prefetch(&hops_[flows_[crossings[at + kHopsAhead].flow].first_hop]);
  }
  [[nodiscard]] std::size_t grouped(LinkId link) const { return grouped_[link]; }
  /// Number of flows that cross the link, attached or not.
  [[nodiscard]] std::uint32_t users(LinkId link) const { return users_[link]; }
  [[nodiscard]] std::size_t size() const { return flows_.size(); }
  [[nodiscard]] std::size_t links() const { return users_.size(); }
  [[nodiscard]] Weight weight(LinkId link) const { return weight_[link]; }
  /// Weight of a single path: 1 until the first split route appears, then kWeightUnit. Shares do
  /// not depend on it; without split routes arithmetic fits 64 bits.
  [[nodiscard]] Weight unit() const { return unit_; }

  void add_link();
  /// The link that limits a shared flow in the latest solve.
  [[nodiscard]] LinkId group(FlowId id) const { return group_[id]; }
  /// Moves the flow to the group of one of its links, or to none.
  void set_group(FlowId id, LinkId group);

 private:
  [[nodiscard]] std::uint32_t take_hops(std::uint32_t count);
  void rescale();
  void put(LinkId link, std::uint32_t position, const Crossing& crossing);
  void swap(LinkId link, std::uint32_t a, std::uint32_t b);

  std::vector<Flow> flows_;
  std::vector<Duration> latency_;              // per flow
  std::vector<TrafficWeight> traffic_weight_;  // per flow
  std::vector<LinkId> group_;                  // per flow: separate, as it is read most often
  std::vector<FlowId> free_flows_;
  std::vector<FlowHop> hops_;
  std::vector<std::vector<std::uint32_t>> free_hops_;  // by count
  std::vector<std::vector<Crossing>> on_link_;
  std::vector<std::uint32_t> grouped_;  // per link
  std::vector<std::uint32_t> users_;    // per link
  std::vector<Weight> weight_;
  bool listed_ = false;
  Weight unit_ = 1;
};

}  // namespace lockstep::maxmin
