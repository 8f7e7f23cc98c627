#include "sim/trace/peers.hpp"

#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// The operation before each in its stream.
[[nodiscard]] std::vector<std::uint32_t> previous_in_stream(const RoleProgram& role) {
  std::vector<std::uint32_t> out;
  std::vector<std::uint32_t> latest(role.program->streams.size(), kNone);
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    out.push_back(std::exchange(latest[role.operations[i].operation->stream], i));
  }
  return out;
}

}  // namespace

Peers::Peers(const TrainingStepTimeline& timeline)
    : timeline_{&timeline}, index_{*timeline.program, timeline.roles} {
  for (const RoleProgram& role : timeline.roles) previous_.push_back(previous_in_stream(role));
  for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
    const RankTimeline& rank = timeline.ranks[i];
    LOCKSTEP_CHECK(rank.operations.size() == timeline.roles[rank.role].operations.size());
    simulated_.try_emplace(rank.rank, i);
    stand_in_.try_emplace(rank.role, i);
  }
}

std::vector<int> Peers::ranks_meant(Place place) const {
  const Mesh& mesh = timeline_->program->mesh;
  const Channel& channel = index_.channel(index_.channel_of(role_of(place.rank), place.operation));
  // A host has no coordinates: it takes part for the group of rank 0.
  const int own = timeline_->ranks[place.rank].rank;
  const int self = own < mesh.ranks() ? own : 0;
  const std::vector<int> group = mesh.members(self, channel.over);
  if (!channel.collective) {
    const int count = static_cast<int>(group.size());
    const bool sends = operation(place).operation->kind == OperationKind::send;
    const int further = sends ? channel.displacement : count - channel.displacement;
    const int position = (mesh.coordinate(self, channel.over) + further) % count;
    return {group[static_cast<std::size_t>(position)]};
  }
  std::vector<int> out = channel.participants.empty() ? group : std::vector<int>{};
  for (const int position : channel.participants)
    out.push_back(group[static_cast<std::size_t>(position)]);
  if (channel.host) out.push_back(mesh.ranks() + *channel.host);
  return out;
}

std::optional<Peers::Member> Peers::resolve(int rank) const {
  const auto exact = simulated_.find(rank);
  if (exact != simulated_.end()) return Member{exact->second, true};
  if (const auto& folded = timeline_->representative_of; !folded.empty())
    return Member{folded[static_cast<std::size_t>(rank)], false};
  const Program& program = *timeline_->program;
  if (rank >= program.mesh.ranks()) return std::nullopt;
  const auto found = stand_in_.find(program.role_of(rank));
  if (found == stand_in_.end()) return std::nullopt;
  return Member{found->second, false};
}

const std::vector<Peers::Member>& Peers::members(Place place) const {
  const std::uint32_t channel = index_.channel_of(role_of(place.rank), place.operation);
  const bool sends = operation(place).operation->kind == OperationKind::send;
  const auto [found, is_new] = members_.try_emplace({place.rank, channel, sends});
  std::vector<Member>& out = found->second;
  if (!is_new) return out;
  std::map<std::size_t, bool> exact;  // by simulated rank
  for (const int meant : ranks_meant(place)) {
    const std::optional<Member> member = resolve(meant);
    if (member) exact[member->rank] = exact[member->rank] || member->exact;
  }
  exact.erase(place.rank);
  for (const auto& [rank, is_exact] : exact) out.push_back({rank, is_exact});
  return out;
}

std::vector<Place> Peers::matched(Place place, bool exact_only) const {
  std::vector<Place> out;
  if (!has_ends(*operation(place).operation)) return out;
  for (const Member& member : members(place)) {
    if (exact_only && !member.exact) continue;
    const std::optional<std::uint32_t> match =
        index_.match(role_of(place.rank), place.operation, role_of(member.rank));
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
    return timeline_->ranks[of.rank].operations.bound_by(of.operation) == OperationWaits::kPeer;
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
  const std::uint32_t previous = previous_[role_of(place.rank)][place.operation];
  if (previous != kNone) consider(previous);
  for (const std::uint32_t each : operation(place).after) consider(each);
  return out;
}

std::optional<Place> Peers::before(Place place) const {
  const std::uint32_t bound = timeline_->ranks[place.rank].operations.bound_by(place.operation);
  // Operations wait for earlier ones alone; so a walk back always ends.
  if (bound < place.operation) return Place{place.rank, bound};
  if (bound == OperationWaits::kHost) return launched_after(place);
  return local_before(place);
}

bool Peers::bound_by_host(Place place) const {
  return timeline_->ranks[place.rank].operations.bound_by(place.operation) == OperationWaits::kHost;
}

std::optional<Place> Peers::launched_after(Place place) const {
  const auto& by_role = timeline_->launched_after;
  const std::size_t role = role_of(place.rank);
  if (role >= by_role.size() || by_role[role].empty()) return std::nullopt;
  const std::uint32_t after = by_role[role][place.operation];
  if (after >= place.operation) return std::nullopt;
  return Place{place.rank, after};
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

Interval Peers::interval(Place place) const {
  return timeline_->ranks[place.rank].operations[place.operation];
}

}  // namespace lockstep
