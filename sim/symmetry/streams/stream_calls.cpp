#include "sim/symmetry/streams/stream_calls.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/symmetry/quotient/folded_peers.hpp"

namespace lockstep::fold {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

Key key_of(const CollectiveCall& call) {
  KeyBuilder key;
  key.add(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(call.schedule.get())));
  key.add(call.block.count()).add(std::uint64_t{call.traffic_weight}).add(call.slowed_permille);
  key.add(call.on_copy_engines ? 1 : 0);
  for (const EndpointId member : call.members) key.add(member);
  return key.key();
}

}  // namespace

std::string StreamCalls::find() {
  if (std::string why = find_calls(); !why.empty()) return why;
  find_kinds();
  if (!number_calls()) return "ranks call equal collectives in different orders";
  return {};
}

/// Who calls what; every member once, by a stream of its endpoint.
std::string StreamCalls::find_calls() {
  std::vector<std::vector<std::uint32_t>> called;  // per call and member: how often
  for (const CollectiveCall& call : workload_.calls) {
    if (call.takes) return "a collective of a given duration is not folded";
    if (!call.starts.empty()) return "collectives have start times";
    called.emplace_back(call.members.size(), 0);
    std::vector<EndpointId> members = call.members;
    std::sort(members.begin(), members.end());
    if (std::adjacent_find(members.begin(), members.end()) != members.end())
      return "a collective has a rank twice";
  }
  own_.resize(programs_.endpoint.size());
  for (std::uint32_t rank = 0; rank < own_.size(); ++rank) {
    const auto& operations = programs_.operations[rank];
    for (std::uint32_t place = 0; place < operations.size(); ++place) {
      const Activity& of =
          workload_.streams[operations[place].stream].operations[operations[place].index];
      if (of.kind != Activity::Kind::collective) continue;
      if (workload_.calls[of.call].members[of.member] != programs_.endpoint[rank])
        return "streams call collectives for other ranks";
      ++called[of.call][of.member];
      own_[rank].push_back({place, of.call, 0});
    }
    std::vector<std::uint32_t> order(own_[rank].size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return own_[rank][a].call < own_[rank][b].call;
    });
    for (std::uint32_t turn = 0; turn < order.size(); ++turn) own_[rank][order[turn]].turn = turn;
  }
  for (const auto& members : called)
    if (std::any_of(members.begin(), members.end(), [](std::uint32_t n) { return n != 1; }))
      return "collectives are not called once by every member";
  return {};
}

/// In the order of their places, so that equivalent ranks have theirs in the same order.
void StreamCalls::find_kinds() {
  std::map<Key, std::uint32_t> known;
  for (std::uint32_t call = 0; call < workload_.calls.size(); ++call) {
    const auto next = static_cast<std::uint32_t>(kinds_.size());
    const auto [found, is_new] = known.try_emplace(key_of(workload_.calls[call]), next);
    kind_of_.push_back(found->second);
    if (is_new) {
      kinds_.emplace_back();
      for (const OwnCall& own : own_[rank_of(call, 0)])
        if (own.call == call) kinds_.back().place = own.place;
    }
    kinds_[found->second].calls.push_back(call);
  }
  std::vector<std::uint32_t> order(kinds_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return kinds_[a].place < kinds_[b].place;
  });
  std::vector<std::uint32_t> new_number(kinds_.size());
  std::vector<Kind> sorted;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    new_number[order[i]] = i;
    sorted.push_back(std::move(kinds_[order[i]]));
  }
  kinds_ = std::move(sorted);
  for (std::uint32_t& kind : kind_of_) kind = new_number[kind];
}

/// False where members of a kind's calls do not call them in the same order.
bool StreamCalls::number_calls() {
  number_.assign(workload_.calls.size(), kNone);
  for (const std::vector<OwnCall>& own : own_) {
    std::map<std::uint32_t, std::uint32_t> calls;  // of each kind so far
    for (const OwnCall& each : own) {
      const std::uint32_t number = calls[kind_of_[each.call]]++;
      std::uint32_t& known = number_[each.call];
      if (known == kNone) known = number;
      if (known != number) return false;
    }
  }
  return true;
}

void StreamCalls::add_key(std::uint32_t rank, KeyBuilder& key) const {
  std::vector<std::uint32_t> kinds;  // of the rank, in their order
  for (const OwnCall& each : own_[rank]) kinds.push_back(kind_of_[each.call]);
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  for (const OwnCall& each : own_[rank]) {
    const std::uint32_t kind = kind_of_[each.call];
    const CollectiveCall& call = workload_.calls[each.call];
    key.add(each.place).add(each.turn);
    key.add(static_cast<std::int64_t>(std::lower_bound(kinds.begin(), kinds.end(), kind) -
                                      kinds.begin()));
    key.add(call.slowed_permille).add(call.on_copy_engines ? 1 : 0);
  }
}

void StreamCalls::add_kinds(Workload& messages) const {
  for (const Kind& kind : kinds_) messages.calls.push_back(workload_.calls[kind.calls.front()]);
}

void StreamCalls::fold(const Relations& relations, const Partition& partition, int channels) {
  relations_ = &relations;
  partition_ = &partition;
  channels_ = channels;
  std::vector<std::uint32_t> first(kinds_.size());  // of those with common classes
  std::iota(first.begin(), first.end(), 0U);
  const auto root = [&](std::uint32_t kind) {
    while (first[kind] != kind) kind = first[kind] = first[first[kind]];
    return kind;
  };
  std::vector<std::uint32_t> kind_of_class(partition.first_member.size(), kNone);
  const auto each_class = [&](std::uint32_t kind, const auto& take) {
    const std::uint32_t call = kinds_[kind].calls.front();
    for (std::uint32_t m = 0; m < workload_.calls[call].members.size(); ++m)
      take(partition.member_class[member_of(call, m)]);
  };
  for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
    each_class(kind, [&](std::uint32_t c) {
      if (kind_of_class[c] == kNone) kind_of_class[c] = kind;
      const std::uint32_t a = root(kind_of_class[c]);
      const std::uint32_t b = root(kind);
      first[std::max(a, b)] = std::min(a, b);
    });
  }
  std::vector<std::uint32_t> joined_of(kinds_.size(), kNone);
  std::uint32_t calls = 0;
  for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
    std::uint32_t& joined = joined_of[root(kind)];
    if (joined == kNone) {
      joined = static_cast<std::uint32_t>(joined_.size());
      const auto own = static_cast<std::uint32_t>(kinds_[kind].calls.size());
      joined_.push_back({{}, calls, own});
      calls += own;
    }
    kinds_[kind].joined = joined;
    LOCKSTEP_CHECK(joined_[joined].calls == kinds_[kind].calls.size());
  }
  for (std::uint32_t c = 0; c < kind_of_class.size(); ++c)
    if (kind_of_class[c] != kNone) joined_[kinds_[kind_of_class[c]].joined].classes.push_back(c);
}

std::uint32_t StreamCalls::slot(std::uint32_t call, std::uint32_t member) const {
  return joined_[kinds_[kind_of_[call]].joined].rank_of(
      partition_->member_class[member_of(call, member)]);
}

std::vector<CollectiveCall> StreamCalls::of_classes() const {
  std::vector<CollectiveCall> out;
  for (const Joined& joined : joined_)
    for (std::uint32_t number = 0; number < joined.calls; ++number)
      out.push_back(call_of_classes(joined, number));
  return out;
}

CollectiveCall StreamCalls::call_of_classes(const Joined& joined, std::uint32_t number) const {
  CollectiveCall out;
  out.block = Bytes{1};
  std::vector<FoldedRank> ranks;
  std::vector<std::uint32_t> turns;
  FoldedPeers peers{*relations_, *partition_};
  const auto rank_of = [&joined](std::uint32_t c) { return joined.rank_of(c); };
  for (const std::uint32_t c : joined.classes) {
    const std::uint32_t id = partition_->first_member[c];
    const Member& member = relations_->members[id];
    const std::uint32_t call = kinds_[member.call - 1].calls[number];
    const CollectiveCall& own = workload_.calls[call];
    const std::uint32_t rank = programs_.rank_of[member.endpoint];
    ranks.push_back({&own, member.rank, peers.to(id, rank_of), peers.from(id, rank_of)});
    for (const OwnCall& each : own_[rank])
      if (each.call == call) turns.push_back(each.turn);
    out.name = own.name;
    out.traffic_weight = own.traffic_weight;
    out.slowed_permille = own.slowed_permille;
    out.on_copy_engines = own.on_copy_engines;
    out.members.push_back(partition_->member_class[rank]);
  }
  out.schedule =
      std::make_shared<QuotientScheduleInTurn>(std::move(ranks), channels_, std::move(turns));
  return out;
}

void StreamCalls::address(Activity& of) const {
  const std::uint32_t call = of.call;
  of.call = joined_[kinds_[kind_of_[call]].joined].first_call + number_[call];
  of.member = slot(call, of.member);
}

std::uint64_t StreamCalls::transfers() const {
  std::uint64_t out = 0;
  for (const auto& kind : kinds_) {
    std::uint64_t messages = 0;
    const std::uint32_t call = kind.calls.front();
    for (std::uint32_t m = 0; m < workload_.calls[call].members.size(); ++m)
      for (const Pair& pair : relations_->sent_by(member_of(call, m)))
        messages += static_cast<std::uint64_t>(pair.messages);
    out += messages * kind.calls.size();
  }
  return out;
}

std::vector<std::vector<TimePoint>> StreamCalls::ends(
    const std::vector<std::vector<TimePoint>>& of_classes) const {
  std::vector<std::vector<TimePoint>> out(workload_.calls.size());
  for (std::uint32_t call = 0; call < out.size(); ++call) {
    const auto& ends =
        of_classes[joined_[kinds_[kind_of_[call]].joined].first_call + number_[call]];
    for (std::uint32_t m = 0; m < workload_.calls[call].members.size(); ++m)
      out[call].push_back(ends[slot(call, m)]);
  }
  return out;
}

}  // namespace lockstep::fold
