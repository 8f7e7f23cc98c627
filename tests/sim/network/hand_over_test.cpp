#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/network/maxmin/sparse_shares.hpp"
#include "sim/network/transport.hpp"

/// Transport::hand_over() and take_over(): flows that one transport carries until some instant and
/// another one afterwards are where one that carries all of them throughout says. The expectation
/// is that other run, to the picosecond.
namespace lockstep {
namespace {

struct CarriedFlow {
  Route route;
  Bytes size;
  TimePoint start;
  TrafficWeight weight = 1;
  int rounds = 1;  // more: kept, and started again so often
  bool eager = false;
};

constexpr std::uint32_t kMarker = 15;  // events of the test

/// A transport with its events, and what it says of flows.
class Carrier {
 public:
  Carrier(std::unique_ptr<Transport> transport, const std::vector<CarriedFlow>& flows)
      : transport_{std::move(transport)}, flows_{flows} {}

  void start(TransferId id) {
    const CarriedFlow& flow = flows_[id];
    rounds_left_[id] = flow.rounds;
    handle_[id] = transport_->start({.transfer = id,
                                     .size = flow.size,
                                     .at = flow.start,
                                     .weight = flow.weight,
                                     .keep = flow.rounds > 1,
                                     .eager = flow.eager},
                                    flow.route, queue_);
  }

  /// All instants up to `until`, which is one; its shares are worked out only if `settles`.
  void carry_until(TimePoint until, bool settles) {
    queue_.push(make_event(kMarker, 0, until));
    for (auto next = queue_.next(); next && *next <= until; next = queue_.next()) {
      handle_instant();
      if (queue_.now() < until || settles) transport_->settle(queue_);
    }
  }

  void carry_to_end() {
    while (!queue_.empty()) {
      handle_instant();
      transport_->settle(queue_);
    }
  }

  /// Both are at the same instant.
  void take_over(Carrier& from) {
    std::unordered_map<std::uint32_t, std::uint32_t> known_as;
    for (const Transport::Transit& each : from.transport_->hand_over(queue_.now())) {
      const TransferId id = each.message.transfer;
      handle_[id] = transport_->take_over(each, flows_[id].route);
      rounds_left_[id] = from.rounds_left_.at(id);
      known_as[each.id] = handle_[id];
    }
    transport_->settle(queue_);
    while (!from.queue_.empty()) {
      from.queue_.advance();
      Event event;
      while (from.queue_.pop_now(event)) {
        const auto kind = static_cast<TransportEvent>(event.kind);
        if (kind == TransportEvent::flow_ends || kind == TransportEvent::group_ends) continue;
        if (kind != TransportEvent::left) event.id = known_as.at(event.id);
        queue_.push(event);
      }
    }
    for (const auto& [id, times] : from.told_)
      told_[id].insert(told_[id].end(), times.begin(), times.end());
    from.told_.clear();
    from.queue_ = {};
  }

  /// When each flow arrived or left, in picoseconds.
  [[nodiscard]] const std::map<TransferId, std::vector<std::int64_t>>& told() const {
    return told_;
  }

 private:
  void handle_instant() {
    queue_.advance();
    Event event;
    while (queue_.pop_now(event)) {
      if (event.kind == kMarker) continue;
      if (event.kind == static_cast<std::uint32_t>(TransportEvent::left)) {
        told_[event.id].push_back(queue_.now().ps());
        continue;
      }
      arrived_.clear();
      transport_->handle(event, queue_, arrived_);
      for (const TransferId id : arrived_) arrive(id);
    }
  }

  void arrive(TransferId id) {
    told_[id].push_back(queue_.now().ps());
    if (flows_[id].rounds == 1) return;
    if (--rounds_left_[id] > 0) return transport_->start_again(handle_[id], queue_.now(), queue_);
    transport_->drop(handle_[id]);
  }

  std::unique_ptr<Transport> transport_;
  EventQueue queue_;
  const std::vector<CarriedFlow>& flows_;
  std::map<TransferId, std::uint32_t> handle_;
  std::map<TransferId, int> rounds_left_;
  std::vector<TransferId> arrived_;
  std::map<TransferId, std::vector<std::int64_t>> told_;
};

constexpr std::int64_t kLinks = 6;  // of each party
constexpr int kParties = 3;         // the present, and two that are carried in the past
constexpr int kFlows = 24;          // of each

/// Until the past parties are taken over, their flows are on links of their own.
class Parties {
 public:
  explicit Parties(std::uint64_t seed) : draw_{seed} {
    for (std::int64_t i = 0; i < kParties * kLinks; ++i)
      network.links.push_back(
          {Rate::bytes_per_second(static_cast<std::uint64_t>(number(1, 4)) * 1'000'000'000),
           {},
           number(0, 2) > 0});
    network.may_have_twins = number(0, 1) == 1;
    for (int party = 0; party < kParties; ++party) {
      const bool crowded = number(0, 1) == 1;
      for (int i = 0; i < kFlows; ++i) add(party, crowded, TimePoint{});
      if (party == 0) continue;
      // The instant is one at which the party's flows come to their links, or any.
      const CarriedFlow& any = flows[flows.size() - static_cast<std::size_t>(number(1, kFlows))];
      const TimePoint least = until.empty() ? TimePoint{} : until.back();
      const TimePoint at = number(0, 1) == 1 ? any.start + any.route.latency
                                             : TimePoint{Duration::picoseconds(number(0, kLast))};
      until.push_back(std::max(at, least));
    }
    // What comes to the links of all from the second instant on, of the present.
    for (int i = 0; i < kFlows; ++i) add(-1, false, until.back());
  }

  [[nodiscard]] bool pick() { return number(0, 1) == 1; }

  Network network;
  std::vector<CarriedFlow> flows;
  std::vector<int> party_of;
  std::vector<TimePoint> until;  // of the first and second past party

 private:
  static constexpr std::int64_t kLast = 60'000'000;

  std::int64_t number(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(draw_() % static_cast<std::uint64_t>(most - least + 1));
  }

  /// `crowded`: over one link of the party, which more flows cross than are shared sparsely.
  void add(int party, bool crowded, TimePoint least) {
    CarriedFlow flow;
    std::vector<LinkId> links;
    for (std::int64_t i = 0; i < kParties * kLinks; ++i)
      if (party < 0 || i / kLinks == party) links.push_back(static_cast<LinkId>(i));
    std::shuffle(links.begin(), links.end(), draw_);
    links.resize(static_cast<std::size_t>(number(1, 4)));
    if (const auto first = static_cast<LinkId>(party * kLinks);
        crowded && std::find(links.begin(), links.end(), first) == links.end())
      links.push_back(first);
    const auto parts = static_cast<Weight>(number(0, 2) == 0 ? number(1, 4) : 1);
    for (const LinkId link : links) flow.route.hops.push_back({link, kWeightUnit / parts});
    flow.route.latency = Duration::picoseconds(number(0, 2) * 700'000);
    flow.size = Bytes{number(0, 9) == 0 ? 0 : number(1, 40'000)};
    flow.start = least + Duration::picoseconds(number(0, 2) * number(0, kLast / 2));
    flow.weight = static_cast<TrafficWeight>(number(0, 3) == 0 ? number(2, 5) : 1);
    if (number(0, 3) == 0) {
      flow.rounds = static_cast<int>(number(2, 5));
    } else if (flow.size.count() > 0) {
      flow.eager = number(0, 3) == 0;
    }
    flows.push_back(std::move(flow));
    party_of.push_back(std::max(party, 0));
  }

  std::mt19937_64 draw_;
};

}  // namespace

TEST_CASE("flows that another transport takes over end as in one that carries them throughout") {
  for (const bool only_ports : {false, true}) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(only_ports);
      CAPTURE(seed);
      Parties parties{seed};
      const auto make = [&] {
        return only_ports ? make_alpha_beta_transport(parties.network)
                          : make_fluid_transport(parties.network);
      };
      Carrier throughout{make(), parties.flows};
      Carrier present{make(), parties.flows};
      Carrier past{make(), parties.flows};
      const auto start = [&](Carrier& carrier, std::optional<int> party) {
        for (TransferId id = 0; id < parties.flows.size(); ++id)
          if (!party || parties.party_of[id] == *party) carrier.start(id);
      };
      start(throughout, std::nullopt);
      throughout.carry_to_end();
      start(present, 0);
      for (int party = 1; party < kParties; ++party) {
        const TimePoint until = parties.until[static_cast<std::size_t>(party) - 1];
        present.carry_until(until, parties.pick());
        Carrier spare{make(), parties.flows};
        spare.carry_until(until, true);
        // Twice over the same links, from the beginning, which is before it was used last.
        for (Carrier* next : {&spare, &present}) {
          start(past, party);
          past.carry_until(until, parties.pick());
          next->take_over(past);
        }
      }
      present.carry_to_end();
      CHECK(present.told() == throughout.told());
    }
  }
}

}  // namespace lockstep
