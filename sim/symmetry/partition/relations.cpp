#include "sim/symmetry/partition/relations.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/reuse/schedule_step_counts.hpp"
#include "sim/symmetry/partition/block_symmetry.hpp"
#include "sim/symmetry/partition/pair_index.hpp"

namespace lockstep::fold {
namespace {

Key key_of(const Endpoint& endpoint) {
  const auto steps = [](const std::optional<Rate>& rate) { return rate ? rate->steps() : 0; };
  return KeyBuilder{}
      .add(endpoint.message_overhead.ps())
      .add(steps(endpoint.reduce_rate))
      .add(steps(endpoint.copy_rate))
      .key();
}

/// What a call's members have in common.
struct CallFacts {
  const CollectiveCall* call = nullptr;
  ScheduleStepCounts counts;
  Key key;
  std::uint32_t first_member = 0;
  int lanes = 1;
};

CallFacts facts_of(const CollectiveCall& call, std::uint32_t first_member) {
  const Schedule& schedule = *call.schedule;
  CallFacts out{&call, ScheduleStepCounts{schedule.phases()}, {}, first_member, schedule.lanes()};
  KeyBuilder key;
  key.add(out.lanes).add(schedule.slots()).add(call.traffic_weight);
  for (const Phase& phase : out.counts.phases()) key.add(phase.first).add(phase.count);
  out.key = key.key();
  return out;
}

/// A pair as its sender knows it, while the steps are walked.
struct Sent {
  KeyBuilder key;
  std::int32_t last_lane = -1;
  std::int64_t last_step = -1;
  std::uint32_t in_step = 0;
  std::uint32_t before = 0;  // most in a step of the lanes before
};

/// The same as its receiver knows it.
struct Received {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  KeyBuilder key{};
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

/// So many pairs say how many links the others cross.
constexpr std::size_t kFewPairs = 1024;

class Finder {
 public:
  Finder(const Network& network, const Workload& workload, std::uint64_t most,
         std::optional<BlockSymmetry> symmetry)
      : network_{network}, workload_{workload}, most_{most}, symmetry_{symmetry} {
    if (symmetry_) out_.moves = symmetry_->moves();
    out_.symmetry = symmetry_;
  }

  std::optional<Relations> run() {
    out_.memberships.assign(network_.endpoints.size(), 0);
    reserve();
    std::vector<CallFacts> calls;
    for (const CollectiveCall& call : workload_.calls) {
      calls.push_back(facts_of(call, static_cast<std::uint32_t>(out_.members.size())));
      add_members(calls.back(), static_cast<std::uint32_t>(calls.size() - 1));
    }
    for (const CallFacts& call : calls)
      if (!add_steps(call)) return std::nullopt;
    out_.first_pair.push_back(static_cast<std::uint32_t>(out_.pairs.size()));
    if (!settle_pairs()) return std::nullopt;
    sent_to_ = {};
    sent_ = {};
    received_from_ = {};
    received_ = {};
    if (!add_ways()) return std::nullopt;
    out_.transfers *= out_.copies();
    return std::move(out_);
  }

 private:
  void add_members(const CallFacts& facts, std::uint32_t call) {
    out_.first_member.push_back(facts.first_member);
    const auto& endpoints = facts.call->members;
    const std::size_t ranks = ranks_of(*facts.call);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      out_.members.push_back(
          {.call = call, .rank = static_cast<int>(rank), .endpoint = endpoints[rank]});
      out_.ordinal.push_back(out_.memberships[endpoints[rank]]++);
    }
  }

  [[nodiscard]] std::size_t ranks_of(const CollectiveCall& call) const {
    return out_.moves ? static_cast<std::size_t>(out_.moves->block) : call.members.size();
  }

  /// Memory for all members, and a pair for each.
  void reserve() {
    std::size_t members = 0;
    for (const CollectiveCall& call : workload_.calls) members += ranks_of(call);
    out_.members.reserve(members);
    out_.ordinal.reserve(members);
    out_.first_pair.reserve(members + 1);
    out_.pairs.reserve(members);
    sent_to_.reserve(members);
    received_from_.reserve(members);
    sent_.reserve(members);
    received_.reserve(members);
  }

  /// Members' own keys, what they send and what they receive.
  bool add_steps(const CallFacts& facts) {
    const Schedule& schedule = *facts.call->schedule;
    const StepSizes sizes{schedule};
    const int ranks = out_.moves ? out_.moves->block : schedule.ranks();
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint32_t id = facts.first_member + static_cast<std::uint32_t>(rank);
      out_.first_pair.push_back(static_cast<std::uint32_t>(out_.pairs.size()));
      sent_to_.begin_list();
      received_from_.begin_list();
      Member& member = out_.members[id];
      member.single = facts.lanes == 1;
      KeyBuilder key = begin_key(facts, id);
      for (int lane = 0; lane < facts.lanes; ++lane) {
        const std::int64_t steps = schedule.steps(rank, lane);
        key.add(steps);
        const std::int64_t first = first_step(schedule, rank, lane);
        facts.counts.visit(first, steps, [&](std::int64_t index, std::int64_t times) {
          step_.clear();
          sizes.read(rank, lane, index, step_);
          add_own(facts, index, key);
          if (step_.sends.size() > 1 || step_.receives.size() > 1) member.single = false;
          for (std::size_t i = 0; i < step_.sends.size(); ++i)
            add_send(facts, id, lane, index, times, i);
          for (const Receive& receive : step_.receives)
            add_receive(facts, id, lane, index, times, receive);
        });
        if (out_.pairs.size() > most_ || received_.size() > most_) return false;
      }
      member.key = key.key();
    }
    return true;
  }

  KeyBuilder begin_key(const CallFacts& facts, std::uint32_t id) const {
    const Member& member = out_.members[id];
    const auto& starts = facts.call->starts;
    KeyBuilder key;
    key.add(facts.key).add(starts.empty() ? std::int64_t{0}
                                          : starts[static_cast<std::size_t>(member.rank)].ps());
    key.add(out_.ordinal[id]);
    if (!out_.shares_endpoint(id)) key.add(key_of(network_.endpoints[member.endpoint]));
    return key;
  }

  /// What a step has in addition to its messages.
  void add_own(const CallFacts& facts, std::int64_t index, KeyBuilder& key) const {
    if (step_.locals.empty() && step_.after.empty()) return;
    key.add(index);
    std::int64_t reduced = 0;
    std::int64_t copied = 0;
    for (const LocalOperation& local : step_.locals)
      (local.combine == Combine::reduce ? reduced : copied) += local.to.count;
    const std::int64_t block = facts.call->block.count();
    key.add(reduced * block).add(copied * block);
    for (const ScheduleStepRef& ref : step_.after) key.add(ref.lane).add(ref.step);
  }

  void add_send(const CallFacts& facts, std::uint32_t sender, int lane, std::int64_t index,
                std::int64_t times, std::size_t position) {
    const Send& send = step_.sends[position];
    const std::uint32_t receiver = facts.first_member + static_cast<std::uint32_t>(send.peer);
    const auto next = static_cast<std::uint32_t>(out_.pairs.size());
    const std::uint32_t id = sent_to_.find_or_add(receiver);
    if (id == next) {
      out_.pairs.push_back({.sender = sender,
                            .receiver = out_.member_of(receiver),
                            .parallel = 0,
                            .block = out_.moves ? send.peer / out_.moves->block : 0});
      sent_.emplace_back();
    }
    Pair& pair = out_.pairs[id];
    Sent& sent = sent_[id];
    const std::int64_t bytes = step_.blocks_of(send) * facts.call->block.count();
    sent.key.add(lane).add(index).add(times).add(send.channel).add(bytes);
    // Software lets messages go one by one: then their order in a step matters.
    const Endpoint& endpoint = network_.endpoints[out_.members[sender].endpoint];
    if (endpoint.message_overhead > Duration{}) sent.key.add(static_cast<std::uint64_t>(position));
    pair.bytes += bytes * times;
    pair.messages += times;
    out_.transfers += static_cast<std::uint64_t>(times);
    ++out_.visited;
    out_.channels = std::max(out_.channels, send.channel + 1);
    count_parallel(pair, sent, lane, index);
  }

  static void count_parallel(Pair& pair, Sent& sent, int lane, std::int64_t index) {
    if (sent.last_lane != lane) {
      sent.before = pair.parallel;
      sent.in_step = 0;
    } else if (sent.last_step != index) {
      sent.in_step = 0;
    }
    sent.last_lane = lane;
    sent.last_step = index;
    ++sent.in_step;
    pair.parallel = std::max(pair.parallel, sent.before + sent.in_step);
  }

  /// The order of receives within a step does not matter to anybody.
  void add_receive(const CallFacts& facts, std::uint32_t receiver, int lane, std::int64_t index,
                   std::int64_t times, const Receive& receive) {
    const std::uint32_t sender = facts.first_member + static_cast<std::uint32_t>(receive.peer);
    const std::uint32_t id = received_from_.find_or_add(sender);
    if (id == received_.size()) received_.push_back({.sender = sender, .receiver = receiver});
    const std::int64_t bytes = step_.blocks_of(receive) * facts.call->block.count();
    Received& received = received_[id];
    received.key.add(lane).add(index).add(times).add(receive.channel).add(bytes);
    received.key.add((receive.combine == Combine::reduce ? 1 : 0) + (receive.forwarded ? 2 : 0));
    received.messages += times;
    received.bytes += bytes * times;
  }

  /// Brings both ends of every pair together.
  bool settle_pairs() {
    if (received_.size() != out_.pairs.size()) return false;
    for (const Received& received : received_) {
      const auto [sender, receiver] = moved_to_sender(received);
      const std::uint32_t id = sent_to_.find(sender, receiver);
      if (id == PairIndex::kNone) return false;
      Pair& pair = out_.pairs[id];
      if (received.messages != pair.messages || received.bytes != pair.bytes) return false;
      pair.key = KeyBuilder{}.add(sent_[id].key.key()).add(received.key.key()).key();
    }
    return true;
  }

  /// Where members are those of a block: with the sender there, as the pair is known.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> moved_to_sender(
      const Received& received) const {
    if (!out_.moves) return {received.sender, received.receiver};
    const auto block = static_cast<std::uint32_t>(out_.moves->block);
    const int from = static_cast<int>(received.sender / block);
    return {received.sender % block,
            static_cast<std::uint32_t>(out_.moves->seen_from(from, 0)) * block + received.receiver};
  }

  /// Routes, one a pair.
  bool add_ways() {
    const Router& router = *network_.router;
    out_.bundled = bundles_are_alike(router);
    number_.assign(network_.links.size(), PairIndex::kNone);
    out_.first_crossing.reserve(out_.pairs.size() + 1);
    Route route;
    for (Pair& pair : out_.pairs) {
      if (out_.first_crossing.size() == kFewPairs) reserve_crossings();
      out_.first_crossing.push_back(out_.crossings.size());
      const EndpointId from = out_.members[pair.sender].endpoint;
      const EndpointId to = endpoint_of_receiver(pair);
      const bool there =
          out_.bundled ? router.outline(from, to, route) : router.route(from, to, route);
      if (!there) return false;
      add_way(route, pair);
      if (out_.pairs.size() + out_.crossings.size() > most_) return false;
    }
    out_.first_crossing.push_back(out_.crossings.size());
    number_ = {};
    return true;
  }

  /// As many for each pair as for the first, and a few more.
  void reserve_crossings() {
    const std::size_t likely = out_.crossings.size() / kFewPairs * out_.pairs.size();
    out_.crossings.reserve(std::min<std::size_t>(likely + likely / 8, most_));
  }

  [[nodiscard]] EndpointId endpoint_of_receiver(const Pair& pair) const {
    if (!out_.moves) return out_.members[pair.receiver].endpoint;
    return workload_.calls.front().members[static_cast<std::size_t>(out_.receiver_rank(pair))];
  }

  /// Of links of one bundle the first block's has one name, too.
  [[nodiscard]] BlockLink place_of(LinkId link) const {
    if (!symmetry_) return {0, link};
    BlockLink place = symmetry_->place_of(link);
    if (out_.bundled) place.first = network_.router->stands_for(place.first);
    return place;
  }

  void add_way(const Route& route, Pair& pair) {
    Key figures;
    for (const Hop& hop : route.hops) {
      const BlockLink place = place_of(hop.link);
      std::uint32_t& number = number_[place.first];
      if (number == PairIndex::kNone) {
        number = static_cast<std::uint32_t>(out_.links.size());
        out_.links.push_back(place.first);
        out_.users.push_back(0);
        out_.shared_by.push_back(place.shared_by);
      }
      ++out_.users[number];
      out_.crossings.push_back({number, place.block != 0, hop.weight});
      const Link& link = network_.links[hop.link];
      figures += KeyBuilder{}
                     .add(link.bandwidth.steps())
                     .add(link.latency.ps())
                     .add(link.port ? 1 : 0)
                     .add(hop.weight)
                     .key();
    }
    pair.hops = static_cast<std::uint32_t>(route.hops.size());
    pair.paths = route.paths;
    pair.latency = route.latency;
    pair.key = KeyBuilder{}.add(pair.key).add(figures).add(route.latency.ps()).key();
  }

  /// Whether links of one bundle are as wide as each other here, whatever was changed since.
  [[nodiscard]] bool bundles_are_alike(const Router& router) const {
    if (!router.has_outlines()) return false;
    for (std::size_t id = 0; id < network_.links.size(); ++id) {
      const LinkId stands = router.stands_for(static_cast<LinkId>(id));
      if (stands == id) continue;
      const Link& link = network_.links[id];
      const Link& other = network_.links[stands];
      if (link.bandwidth != other.bandwidth || link.latency != other.latency ||
          link.port != other.port)
        return false;
    }
    return true;
  }

  const Network& network_;
  const Workload& workload_;
  std::uint64_t most_;
  std::optional<BlockSymmetry> symmetry_;
  Relations out_;
  PairLists sent_to_;
  std::vector<Sent> sent_;  // per pair
  PairLists received_from_;
  std::vector<Received> received_;
  std::vector<std::uint32_t> number_;  // per link of the network
  ScheduleStep step_;
};

}  // namespace

std::uint64_t Relations::all_links() const {
  std::uint64_t out = 0;
  for (std::uint32_t link = 0; link < links.size(); ++link) out += copies_of(link);
  return out;
}

std::optional<Relations> find_relations(const Network& network, const Workload& workload,
                                        std::uint64_t most, bool by_blocks) {
  std::optional<BlockSymmetry> symmetry;
  if (by_blocks) symmetry = BlockSymmetry::find(network, workload);
  return Finder{network, workload, most, symmetry}.run();
}

std::optional<Relations> find_relations_of_block(const Network& network, const Workload& workload,
                                                 std::uint64_t most,
                                                 const BlockSymmetry& symmetry) {
  return Finder{network, workload, most, symmetry}.run();
}

}  // namespace lockstep::fold
