#include "sim/engine/held_calls.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/collectives.hpp"
#include "sim/engine/reused_calls.hpp"

namespace lockstep::engine {

namespace {

constexpr TimePoint kNotBegun{Duration::picoseconds(-1)};
/// Per member: times of so few are worked out as fast as they are looked up.
constexpr std::size_t kFewMessages = 4;

}  // namespace

HeldCalls::HeldCalls(const ReplayState& state, const ReusedCalls& reused)
    : possible_{state.model == NetworkModel::fluid && reused.routes() != nullptr},
      kinds_(reused.classes().kinds.size()),
      on_links_(state.network->links.size()) {}

void HeldCalls::join(const Siblings& siblings) {
  state_ = &siblings.state;
  collectives_ = &siblings.collectives;
  reused_ = &siblings.reused;
}

HeldCalls::Kind& HeldCalls::kind_of(std::uint32_t call) {
  Kind& kind = kinds_[reused_->classes().of_call[call]];
  if (!kind.looked_at) {
    kind = look_at(call);
    kind.looked_at = true;
  }
  return kind;
}

const Route& HeldCalls::route(const MessageWay& way) const {
  return reused_->routes()->of(way).route;
}

/// Groups of one schedule have the same course, and times of their own.
std::shared_ptr<const HeldPlan> HeldCalls::plan_for(const CollectiveCall& call) {
  const auto takes = [&](int from, int to, int channel, Bytes bytes) {
    return time_alone(
        *state_->network,
        route({call.members[static_cast<std::size_t>(from)],
               call.members[static_cast<std::size_t>(to)], static_cast<std::uint32_t>(channel)}),
        bytes);
  };
  const auto [first, is_new] = first_plans_.try_emplace({call.schedule.get(), call.block});
  if (!is_new)
    return first->second ? std::make_shared<const HeldPlan>(first->second->with(takes)) : nullptr;
  if (auto found = HeldPlan::of(call, takes, room_)) {
    room_ -= found->messages();
    first->second = std::make_shared<const HeldPlan>(*std::move(found));
  }
  return first->second;
}

/// Members that no stream calls then begin with the first that one calls.
bool HeldCalls::is_called(std::uint32_t call) const {
  for (std::uint32_t i = 0; i < state_->workload->calls[call].members.size(); ++i)
    if (collectives_->caller(call, i) != kNone) return true;
  return false;
}

/// Whether there is a plan for the call. It says the ends if each link carries one message at a
/// time: it has one sender or one receiver, of one message each way at a time; or one connection.
HeldCalls::Kind HeldCalls::look_at(std::uint32_t id) {
  const CollectiveCall& call = state_->workload->calls[id];
  const CallShape& shape = reused_->classes().kinds[reused_->classes().of_call[id]].shape;
  Kind out;
  if (call.members.size() < 2 || shape.works || !is_called(id)) return out;
  std::unordered_map<EndpointId, std::uint32_t> member_at;
  for (std::uint32_t member = 0; member < call.members.size(); ++member)
    if (!member_at.try_emplace(call.members[member], member).second) return out;
  struct Ends {
    EndpointId from = 0;
    EndpointId to = 0;
    bool one_sender = true;
    bool one_receiver = true;
  };
  std::map<LinkId, Ends> ends_of;
  bool one_connection = true;
  for (const MessageWay& way : shape.ways) {
    for (const Hop& hop : route(way).hops) {
      const auto [found, is_new] = ends_of.try_emplace(hop.link, Ends{way.from, way.to});
      one_connection = one_connection && is_new;
      Ends& ends = found->second;
      ends.one_sender = ends.one_sender && ends.from == way.from;
      ends.one_receiver = ends.one_receiver && ends.to == way.to;
    }
  }
  const auto [plan, is_new] = plans_.try_emplace(shape.key);
  if (is_new) plan->second = plan_for(call);
  if (!plan->second) return out;
  out.plan = plan->second;
  out.links_of.resize(call.members.size());
  for (const auto& [link, ends] : ends_of) {
    if (ends.one_sender || ends.one_receiver) {
      out.links_of[member_at.at(ends.one_sender ? ends.from : ends.to)].push_back(link);
    } else {
      out.shared.push_back(link);
    }
  }
  out.all_alone = out.shared.empty() && call.traffic_weight == 1 &&
                  (one_connection || plan->second->one_each_way());
  out.shape = learned_.add_shape(shape.key);
  return out;
}

bool HeldCalls::is_free(const std::vector<LinkId>& links) const {
  return std::all_of(links.begin(), links.end(), [&](LinkId link) {
    return on_links_[link].busy == 0 && on_links_[link].holder == kNone;
  });
}

bool HeldCalls::hold(std::uint32_t call, std::uint32_t member) {
  if (!possible_) return false;
  const Kind& kind = kind_of(call);
  if (kind.plan == nullptr) return false;
  const bool free = is_free(kind.links_of[member]);
  const auto known = calls_.find(call);
  if (known == calls_.end()) {
    if (!free || !is_free(kind.shared)) return false;
    if (!kind.all_alone && !learned_.pays(kind.shape)) return false;
  }
  Call& of = known != calls_.end() ? known->second : calls_[call];
  if (known == calls_.end()) {
    of.generation = generation_++ & kVersionMask;
    of.starts.assign(kind.links_of.size(), kNotBegun);
    for (const LinkId link : kind.shared) on_links_[link].holder = call;
    collectives_->count_held(call, true);
  }
  LOCKSTEP_CHECK(of.starts[member] == kNotBegun);
  of.starts[member] = state_->now();
  ++of.begun;
  if (!free) meet(call);
  for (const LinkId link : kind.links_of[member]) {
    if (on_links_[link].holder != kNone) {
      meet(on_links_[link].holder);
    } else {
      on_links_[link].holder = call;
    }
  }
  if (of.begun < of.starts.size() || of.met) return true;
  const std::optional<std::vector<TimePoint>> known_ends = ends(call, kind, of.starts);
  if (!known_ends) {
    meet(call);
    return true;
  }
  for (std::uint32_t i = 0; i < known_ends->size(); ++i) of.ends.emplace_back((*known_ends)[i], i);
  std::sort(of.ends.begin(), of.ends.end());
  LOCKSTEP_CHECK(of.ends.front().first >= state_->now());
  push_end(call, of);
  return true;
}

/// Of a call that all members have begun. None if it has to be replayed.
std::optional<std::vector<TimePoint>> HeldCalls::ends(std::uint32_t call, const Kind& kind,
                                                      const std::vector<TimePoint>& begins) {
  if (kind.all_alone) {
    const auto by_plan = [&](const std::vector<TimePoint>& from) { return kind.plan->ends(from); };
    if (kind.plan->messages() < kFewMessages * begins.size()) return by_plan(begins);
    if (auto known = learned_.ends(kind.shape, begins, by_plan)) return known;
    return by_plan(begins);
  }
  return learned_.ends(kind.shape, begins, [&](const std::vector<TimePoint>& from_zero) {
    return reused_->replayed_alone(call, from_zero);
  });
}

void HeldCalls::release(std::uint32_t call, const std::vector<LinkId>& links) {
  for (const LinkId link : links)
    if (on_links_[link].holder == call) on_links_[link].holder = kNone;
}

void HeldCalls::push_end(std::uint32_t call, const Call& of) {
  state_->queue.push(make_event(EventKind::held_ends, call, of.ends[of.told].first, of.generation));
}

void HeldCalls::end_members(std::uint32_t call, std::uint32_t generation) {
  const auto found = calls_.find(call);
  if (found == calls_.end() || found->second.generation != generation) return;
  Call& of = found->second;
  const Kind& kind = kind_of(call);
  std::vector<std::uint32_t> ending;
  for (; of.told < of.ends.size() && of.ends[of.told].first == state_->now(); ++of.told)
    ending.push_back(of.ends[of.told].second);
  for (const std::uint32_t member : ending) release(call, kind.links_of[member]);
  if (of.told < of.ends.size()) {
    push_end(call, of);
  } else {
    if (of.met) std::erase(met_, call);
    release(call, kind.shared);
    calls_.erase(found);
    collectives_->count_held(call, false);
    reused_->count_held_use(call);
  }
  for (const std::uint32_t member : ending) collectives_->end_held(call, member);
}

void HeldCalls::count_transfer(const Route& route, bool begins) {
  for (const Hop& hop : route.hops) {
    OnLink& at = on_links_[hop.link];
    at.busy += begins ? 1U : ~0U;
    if (begins && !in_past_ && at.holder != kNone) meet(at.holder);
  }
}

void HeldCalls::meet(std::uint32_t call) {
  if (std::exchange(calls_.at(call).met, true)) return;
  met_.push_back(call);
}

bool HeldCalls::meet_all() {
  std::vector<std::uint32_t> waiting;
  for (const auto& [call, of] : calls_) waiting.push_back(call);
  std::sort(waiting.begin(), waiting.end());
  for (const std::uint32_t call : waiting) meet(call);
  return !waiting.empty();
}

std::vector<HeldCalls::Begin> HeldCalls::release_met() {
  std::vector<Begin> out;
  for (const std::uint32_t call : std::exchange(met_, {})) {
    const Call& of = calls_.at(call);
    const Kind& kind = kind_of(call);
    for (std::uint32_t member = 0; member < of.starts.size(); ++member) {
      if (of.starts[member] != kNotBegun) out.push_back({of.starts[member], call, member});
      release(call, kind.links_of[member]);
    }
    release(call, kind.shared);
    if (!kind.all_alone) learned_.count_met(kind.shape);
    calls_.erase(call);
    collectives_->count_held(call, false);
    collectives_->replay_held(call);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Begin& a, const Begin& b) { return a.at < b.at; });
  in_past_ = true;
  return out;
}

}  // namespace lockstep::engine
