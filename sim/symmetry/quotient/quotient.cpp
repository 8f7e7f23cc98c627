#include "sim/symmetry/quotient/quotient.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/network/slack_links.hpp"
#include "sim/symmetry/quotient/folded_peers.hpp"
#include "sim/symmetry/quotient/quotient_schedule.hpp"

namespace lockstep::fold {
namespace {

/// The class_routes of the classes of pairs, by channel.
class QuotientRouter final : public Router {
 public:
  QuotientRouter(std::vector<Route> routes, std::uint32_t channels)
      : routes_{std::move(routes)}, channels_{channels} {}

  [[nodiscard]] bool route(EndpointId, EndpointId, Route&) const override { return false; }
  [[nodiscard]] bool by_channel() const override { return true; }
  [[nodiscard]] bool route_of(EndpointId, EndpointId, std::uint32_t channel,
                              Route& route) const override {
    route = routes_[channel / channels_];
    return true;
  }
  [[nodiscard]] const Route* held_route(std::uint32_t channel) const override {
    return &routes_[channel / channels_];
  }

 private:
  std::vector<Route> routes_;
  std::uint32_t channels_;
};

void set_router(Quotient& quotient) {
  std::vector<Route> routes;
  for (const ClassRoute& way : quotient.class_routes) routes.push_back(way.route);
  quotient.network.router = make_channel_router(std::move(routes), quotient.channels);
}

class Builder {
 public:
  Builder(const Relations& relations, const Partition& partition, const Network& network,
          const Workload& workload, NetworkModel model)
      : relations_{relations},
        partition_{partition},
        network_{network},
        workload_{workload},
        model_{model} {}

  Quotient run() {
    out_.network.may_have_twins = false;
    add_links();
    for (std::uint32_t c = 0; c < partition_.first_pair.size(); ++c) add_way(c);
    add_endpoints();
    out_.channels = static_cast<std::uint32_t>(relations_.channels);
    add_calls();
    set_router(out_);
    return std::move(out_);
  }

 private:
  void add_links() {
    for (const std::uint32_t link : partition_.first_link)
      out_.network.links.push_back(network_.links[relations_.links[link]]);
  }

  /// The rate of a transfer alone on a link.
  [[nodiscard]] std::uint64_t alone(const Crossing& each) const {
    const std::uint64_t capacity = network_.links[relations_.links[each.link]].bandwidth.steps();
    return static_cast<std::uint64_t>(std::min<UInt128>(
        static_cast<UInt128>(capacity) * kWeightUnit / each.weight, Rate::kMaxSteps));
  }

  /// The links of a class that several pairs share are one link; of those that a pair has to itself
  /// only the tightest can ever tell.
  void add_way(std::uint32_t c) {
    const std::uint32_t p = partition_.first_pair[c];
    ClassRoute way;
    way.route.latency = relations_.pairs[p].latency;
    std::map<std::uint32_t, Weight> shared;
    std::uint64_t own = UINT64_MAX;
    std::uint64_t cap = UINT64_MAX;
    for (const Crossing& each : relations_.crossings_of(p)) {
      const std::uint64_t rate = alone(each);
      way.alone = way.alone == 0 ? rate : std::min(way.alone, rate);
      const std::uint32_t link_class = partition_.link_class[each.link];
      if (link_class != Partition::kNoClass) {
        shared[link_class] += each.weight;
      } else {
        std::uint64_t& tightest = is_cap(each) ? cap : own;
        tightest = std::min(tightest, rate);
      }
    }
    for (const auto& [link_class, weight] : shared) {
      const UInt128 all = static_cast<UInt128>(weight) * partition_.pairs_in[c];
      LOCKSTEP_CHECK(all % partition_.links_in[link_class] == 0);
      way.route.hops.push_back(
          {link_class, static_cast<Weight>(all / partition_.links_in[link_class])});
    }
    way.own = own;
    if (own != UINT64_MAX) add_own_link(own, true, way.route);
    if (cap != UINT64_MAX) add_own_link(cap, false, way.route);
    out_.class_routes.push_back(std::move(way));
  }

  /// Where only ports limit, other links cap each transfer for itself.
  [[nodiscard]] bool is_cap(const Crossing& each) const {
    return model_ == NetworkModel::alpha_beta && !network_.links[relations_.links[each.link]].port;
  }

  void add_own_link(std::uint64_t rate, bool port, Route& route) {
    route.hops.push_back({static_cast<LinkId>(out_.network.links.size()), kWeightUnit});
    out_.network.links.push_back({Rate::from_steps(rate), Duration{}, port});
  }

  /// One for every class of members, or for several classes that sit at the same end points.
  void add_endpoints() {
    std::map<EndpointId, EndpointId> known;
    for (const std::uint32_t member : partition_.first_member) {
      const EndpointId endpoint = relations_.members[member].endpoint;
      const auto next = static_cast<EndpointId>(out_.network.endpoints.size());
      const EndpointId at = relations_.shares_endpoint(member)
                                ? known.try_emplace(key(endpoint), next).first->second
                                : next;
      if (at == next) out_.network.endpoints.push_back(network_.endpoints[endpoint]);
      endpoint_of_class_.push_back(at);
    }
  }

  /// End points are alike whose first members are.
  [[nodiscard]] EndpointId key(EndpointId endpoint) {
    if (first_at_.empty()) {
      first_at_.assign(network_.endpoints.size(), UINT32_MAX);
      for (std::uint32_t m = static_cast<std::uint32_t>(relations_.members.size()); m-- > 0;)
        first_at_[relations_.members[m].endpoint] = m;
    }
    return partition_.member_class[first_at_[endpoint]];
  }

  /// Classes by slots and traffic weight, in the order of the calls at an end point: what it does
  /// for several calls keeps its order.
  void add_calls() {
    std::map<std::pair<int, TrafficWeight>, std::vector<std::uint32_t>> alike;
    std::vector<std::uint32_t> order(partition_.first_member.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return relations_.ordinal[partition_.first_member[a]] <
             relations_.ordinal[partition_.first_member[b]];
    });
    out_.member_slots.resize(order.size());
    for (const std::uint32_t c : order) {
      const Member& member = relations_.members[partition_.first_member[c]];
      const CollectiveCall& call = workload_.calls[member.call];
      auto& list = alike[{call.schedule->slots(), call.traffic_weight}];
      out_.member_slots[c] = {0, static_cast<std::uint32_t>(list.size())};
      list.push_back(c);
    }
    for (const auto& [key, list] : alike) {
      for (const std::uint32_t c : list)
        out_.member_slots[c].call = static_cast<std::uint32_t>(out_.workload.calls.size());
      add_call(list);
    }
  }

  void add_call(const std::vector<std::uint32_t>& classes) {
    CollectiveCall call;
    call.block = Bytes{1};
    std::vector<FoldedRank> ranks;
    std::vector<std::uint32_t> turns;
    bool any_start = false;
    FoldedPeers peers{relations_, partition_};
    const auto rank_of = [this](std::uint32_t c) { return out_.member_slots[c].rank; };
    for (const std::uint32_t c : classes) {
      const std::uint32_t id = partition_.first_member[c];
      const Member& member = relations_.members[id];
      const CollectiveCall& own = workload_.calls[member.call];
      ranks.push_back({&own, member.rank, peers.to(id, rank_of), peers.from(id, rank_of)});
      turns.push_back(relations_.ordinal[id]);
      call.name = own.name;
      call.traffic_weight = own.traffic_weight;
      call.members.push_back(endpoint_of_class_[c]);
      call.starts.push_back(own.starts.empty() ? TimePoint{}
                                               : own.starts[static_cast<std::size_t>(member.rank)]);
      any_start = any_start || call.starts.back() != TimePoint{};
    }
    if (!any_start) call.starts.clear();
    call.schedule = std::make_shared<QuotientScheduleInTurn>(
        std::move(ranks), static_cast<int>(out_.channels), std::move(turns));
    out_.workload.calls.push_back(std::move(call));
  }

  const Relations& relations_;
  const Partition& partition_;
  const Network& network_;
  const Workload& workload_;
  NetworkModel model_;
  std::vector<EndpointId> endpoint_of_class_;
  std::vector<std::uint32_t> first_at_;  // per end point, its first member
  Quotient out_;
};

}  // namespace

Quotient make_quotient(const Relations& relations, const Partition& partition,
                       const Network& network, const Workload& workload, NetworkModel model) {
  return Builder{relations, partition, network, workload, model}.run();
}

std::shared_ptr<const Router> make_channel_router(std::vector<Route> routes,
                                                  std::uint32_t channels) {
  return std::make_shared<QuotientRouter>(std::move(routes), channels);
}

void leave_out_slack_links(Quotient& quotient, NetworkModel model) {
  std::vector<Route*> routes;
  for (ClassRoute& way : quotient.class_routes) routes.push_back(&way.route);
  drop_slack_links(routes, quotient.network.links, model == NetworkModel::alpha_beta);
  set_router(quotient);
}

}  // namespace lockstep::fold
