#include "sim/trace/peers.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

[[nodiscard]] bool has_ends(const Operation& operation) {
  return operation.communication.has_value() &&
         (operation.kind == OperationKind::collective || operation.kind == OperationKind::send ||
          operation.kind == OperationKind::receive);
}

/// The instance that both ends name where they name the same.
[[nodiscard]] std::optional<TensorInstance> passed(const RoleProgram& role,
                                                   const RoleOperation& operation) {
  const std::vector<std::uint32_t>& operands =
      operation.operation->kind == OperationKind::send ? operation.reads : operation.writes;
  if (operands.empty()) return std::nullopt;
  return role.instances[operands.front()];
}

[[nodiscard]] int modulo(int value, int n) {
  return (value % n + n) % n;
}

}  // namespace

bool is_communication(const Operation& operation) {
  return class_of(operation.kind) == OperationClass::communication;
}

Peers::Peers(const StepTimeline& timeline) : timeline_{&timeline} {
  for (const RoleProgram& role : timeline.roles) roles_.push_back(index_role(role));
  for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
    const RankTimeline& rank = timeline.ranks[i];
    LOCKSTEP_CHECK(rank.operations.size() == timeline.roles[rank.role].operations.size());
    LOCKSTEP_CHECK(rank.bound_by.size() == rank.operations.size());
    simulated_.try_emplace(rank.rank, i);
    stand_in_.try_emplace(rank.role, i);
  }
}

Peers::RoleIndex Peers::index_role(const RoleProgram& role) {
  RoleIndex index;
  const std::size_t count = role.operations.size();
  index.previous.assign(count, kNone);
  index.channel.assign(count, 0);
  index.place.assign(count, 0);
  index.repeat.assign(count, 0);
  std::vector<std::uint32_t> latest(timeline_->program->streams.size(), kNone);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Operation& operation = *role.operations[i].operation;
    index.previous[i] = std::exchange(latest[operation.stream], i);
    if (has_ends(operation)) add_communication(index, role, i);
  }
  return index;
}

void Peers::add_communication(RoleIndex& index, const RoleProgram& role, std::uint32_t operation) {
  const RoleOperation& of = role.operations[operation];
  const End end = of.operation->kind == OperationKind::send      ? End::send
                  : of.operation->kind == OperationKind::receive ? End::receive
                                                                 : End::collective;
  const ChannelId channel = channel_of(*of.operation);
  index.channel[operation] = channel;
  List& list = index.by_order[{end, channel}];
  index.place[operation] = static_cast<std::uint32_t>(list.size());
  list.push_back(operation);
  const std::optional<TensorInstance> instance = passed(role, of);
  if (end == End::collective || !instance) return;
  List& named = index.by_tensor[{end, channel, *instance}];
  index.repeat[operation] = static_cast<std::uint32_t>(named.size());
  named.push_back(operation);
}

Peers::ChannelId Peers::channel_of(const Operation& operation) {
  const Communication& communication = *operation.communication;
  Channel channel{operation.kind == OperationKind::collective,
                  communication.over,
                  communication.only,
                  communication.host,
                  communication.group,
                  0};
  if (!channel.collective) {
    const bool sends = operation.kind == OperationKind::send;
    channel.displacement = modulo(sends ? communication.offset : -communication.offset,
                                  timeline_->program->mesh.size(channel.over));
  }
  const auto [found, is_new] =
      channel_ids_.try_emplace(channel, static_cast<ChannelId>(channels_.size()));
  if (is_new) channels_.push_back(channel);
  return found->second;
}

std::vector<int> Peers::ranks_meant(std::size_t rank, End end, ChannelId id) const {
  const Mesh& mesh = timeline_->program->mesh;
  const Channel& channel = channels_[id];
  // A host has no coordinates: it takes part for the group of rank 0.
  const int own = timeline_->ranks[rank].rank;
  const int self = own < mesh.ranks() ? own : 0;
  const std::vector<int> group = mesh.members(self, channel.over);
  if (end != End::collective) {
    const int further = end == End::send ? channel.displacement : -channel.displacement;
    const int count = static_cast<int>(group.size());
    const int position = modulo(mesh.coordinate(self, channel.over) + further, count);
    return {group[static_cast<std::size_t>(position)]};
  }
  std::vector<int> out = channel.only.empty() ? group : std::vector<int>{};
  for (const int position : channel.only) out.push_back(group[static_cast<std::size_t>(position)]);
  if (channel.host) out.push_back(mesh.ranks() + *channel.host);
  return out;
}

std::optional<Peers::Member> Peers::resolve(int rank) const {
  const auto exact = simulated_.find(rank);
  if (exact != simulated_.end()) return Member{exact->second, true};
  const Program& program = *timeline_->program;
  if (rank >= program.mesh.ranks()) return std::nullopt;
  const auto found = stand_in_.find(program.role_of(rank));
  if (found == stand_in_.end()) return std::nullopt;
  return Member{found->second, false};
}

const std::vector<Peers::Member>& Peers::members(std::size_t rank, End end,
                                                 ChannelId channel) const {
  const auto [found, is_new] = members_.try_emplace({rank, end, channel});
  std::vector<Member>& out = found->second;
  if (!is_new) return out;
  std::map<std::size_t, bool> exact;  // by simulated rank
  for (const int meant : ranks_meant(rank, end, channel)) {
    const std::optional<Member> member = resolve(meant);
    if (member) exact[member->rank] = exact[member->rank] || member->exact;
  }
  for (const auto& [index, is_exact] : exact) {
    if (index != rank) out.push_back({index, is_exact});
  }
  return out;
}

const Peers::RoleIndex& Peers::index_of(std::size_t rank) const {
  return roles_[timeline_->ranks[rank].role];
}

std::optional<std::uint32_t> Peers::matching(Place place, std::size_t other) const {
  const RoleIndex& own = index_of(place.rank);
  const RoleIndex& theirs = index_of(other);
  const RoleOperation& of = operation(place);
  const ChannelId channel = own.channel[place.operation];
  End end = End::collective;
  if (of.operation->kind == OperationKind::send) end = End::receive;
  if (of.operation->kind == OperationKind::receive) end = End::send;
  const auto instance = passed(timeline_->roles[timeline_->ranks[place.rank].role], of);
  if (end != End::collective && instance) {
    const auto named = theirs.by_tensor.find({end, channel, *instance});
    const std::uint32_t repeat = own.repeat[place.operation];
    if (named != theirs.by_tensor.end() && repeat < named->second.size()) {
      return named->second[repeat];
    }
  }
  const auto ordered = theirs.by_order.find({end, channel});
  const std::uint32_t number = own.place[place.operation];
  if (ordered == theirs.by_order.end() || number >= ordered->second.size()) return std::nullopt;
  return ordered->second[number];
}

std::vector<Place> Peers::matched(Place place, bool exact_only) const {
  const Operation& of = *operation(place).operation;
  std::vector<Place> out;
  if (!has_ends(of)) return out;
  const End end = of.kind == OperationKind::send      ? End::send
                  : of.kind == OperationKind::receive ? End::receive
                                                      : End::collective;
  for (const Member& member :
       members(place.rank, end, index_of(place.rank).channel[place.operation])) {
    if (exact_only && !member.exact) continue;
    const std::optional<std::uint32_t> match = matching(place, member.rank);
    if (match) out.push_back({member.rank, *match});
  }
  return out;
}

std::vector<Place> Peers::others(Place place) const {
  return matched(place, false);
}

std::vector<Place> Peers::exact_others(Place place) const {
  return matched(place, true);
}

Place Peers::latest(Place place) const {
  Place latest = place;
  // Of those that came at the same time, one that was held up by work of its own and not by peers.
  const auto held_by_peer = [&](Place of) {
    return timeline_->ranks[of.rank].bound_by[of.operation] == RankTimeline::kPeer;
  };
  for (const Place& other : others(place)) {
    const TimePoint start = interval(other).start;
    // A send that was over before the receiver came had room in a buffer and waited for nobody.
    if (start >= interval(place).end) continue;
    const TimePoint known = interval(latest).start;
    if (start > known || (start == known && held_by_peer(latest) && !held_by_peer(other))) {
      latest = other;
    }
  }
  return latest;
}

TimePoint Peers::transfer_start(Place place) const {
  return interval(latest(place)).start;
}

std::optional<Place> Peers::local_before(Place place) const {
  std::optional<Place> out;
  const auto consider = [&](std::uint32_t operation) {
    const Place candidate{place.rank, operation};
    if (!out || interval(candidate).end > interval(*out).end) out = candidate;
  };
  const std::uint32_t previous = index_of(place.rank).previous[place.operation];
  if (previous != kNone) consider(previous);
  for (const std::uint32_t each : operation(place).after) consider(each);
  return out;
}

std::optional<Place> Peers::before(Place place) const {
  const std::uint32_t bound = timeline_->ranks[place.rank].bound_by[place.operation];
  // Operations wait for earlier ones alone; so a walk back always ends.
  if (bound < place.operation) return Place{place.rank, bound};
  return local_before(place);
}

bool Peers::other_stage(std::size_t rank, std::size_t other) const {
  const std::size_t own = timeline_->ranks[rank].role;
  const std::size_t theirs = timeline_->ranks[other].role;
  const std::vector<Role>& roles = timeline_->program->roles;
  return own != theirs && !roles[own].host && !roles[theirs].host;
}

std::string Peers::group(const Operation& operation) const {
  if (!operation.communication) return "host";
  const Communication& communication = *operation.communication;
  if (!communication.group.empty()) return communication.group;
  return timeline_->program->mesh.name(communication.over);
}

const RoleOperation& Peers::operation(Place place) const {
  return timeline_->roles[timeline_->ranks[place.rank].role].operations[place.operation];
}

const Interval& Peers::interval(Place place) const {
  return timeline_->ranks[place.rank].operations[place.operation];
}

}  // namespace lockstep
