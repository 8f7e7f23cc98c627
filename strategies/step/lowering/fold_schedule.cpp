#include "strategies/step/lowering/fold_schedule.hpp"

#include <algorithm>
#include <cstring>

#include "sim/base/check.hpp"
#include "sim/program/communicator.hpp"
#include "sim/reuse/schedule_step_counts.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {

namespace {

/// std::bit_cast, which the library of the WebAssembly build lacks.
std::uint64_t bits_of(double number) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

}  // namespace

TrainingStepSchedule::TrainingStepSchedule(const Program& program,
                                           const TrainingStepCommunications& communications,
                                           CollectiveChoice& choice,
                                           const std::function<EndpointId(int)>& endpoint,
                                           const RankSpeeds& speeds)
    : program_{program}, communications_{communications} {
  const int ranks = program.mesh.ranks() + hosts_of(program);
  for (int rank = 0; rank < ranks; ++rank) {
    add_rank(rank, role_played(program, rank), endpoint, choice, speed_of(speeds, rank));
  }
  performers_ = ranks;
  add_switches();
}

/// Behind the others, by their end points; each with its parts in the order of groups.
void TrainingStepSchedule::add_switches() {
  for (const auto& [key, group] : chosen_)
    for (const EndpointId each : group.switches) switch_rank_.try_emplace(each, 0);
  for (auto& [endpoint, rank] : switch_rank_) {
    rank = performers_ + static_cast<int>(switches_.size());
    switches_.push_back(endpoint);
  }
  parts_.resize(parts_.size() + switches_.size());
  for (const auto& [key, group] : chosen_)
    for (std::size_t i = 0; i < group.switches.size(); ++i) add_switch_part(key, group, i);
  constexpr std::uint64_t kNoRole = UINT64_MAX;
  for (int rank = performers_; rank < ranks(); ++rank) {
    std::vector<std::uint64_t> kind{kNoRole};
    for (const RankPart& part : parts(rank)) {
      kind.push_back(reinterpret_cast<std::uintptr_t>(part.chosen));
      kind.push_back(part.steps);
    }
    kind_.push_back(
        kinds_.try_emplace(kind, static_cast<std::int64_t>(kinds_.size())).first->second);
  }
}

/// Where the group's ranks leave a part out as one that says nothing new, so do its switches.
void TrainingStepSchedule::add_switch_part(const GroupKey& key, const ChosenGroup& group,
                                           std::size_t index) {
  const auto [communication, first] = key;
  const auto rank = static_cast<std::size_t>(switch_rank_.at(group.switches[index]));
  std::vector<RankPart>& parts = parts_[rank];
  RankPart out{.communication = communication, .chosen = group.chosen, .group_of = first};
  out.position = communications_.group_size(communication) + static_cast<int>(index);
  out.own = &own_steps(*group.chosen, out.position);
  out.first_step = parts.empty() ? 1 : parts.back().first_step + parts.back().steps;
  if (part(first, communication).steps > 0)
    out.steps = static_cast<std::uint32_t>(out.own->steps.size());
  parts.push_back(out);
}

int TrainingStepSchedule::participants(const RankPart& part) const {
  return part.chosen->schedule->ranks();
}

int TrainingStepSchedule::player(const RankPart& part, int position) const {
  const int members = communications_.group_size(part.communication);
  if (position < members)
    return communications_.member(part.communication, part.group_of, position);
  const int first = communications_.member(part.communication, part.group_of, 0);
  const ChosenGroup& group = chosen_.at({part.communication, first});
  return switch_rank_.at(group.switches[static_cast<std::size_t>(position - members)]);
}

void TrainingStepSchedule::add_rank(int rank, std::size_t role,
                                    const std::function<EndpointId(int)>& endpoint,
                                    CollectiveChoice& choice, const RankSpeed& speed) {
  std::vector<RankPart>& parts = parts_.emplace_back();
  std::vector<std::uint64_t> kind{role, bits_of(speed.speed), speed.load, speed.windows.size()};
  for (const SlowWindow& window : speed.windows)
    kind.insert(kind.end(), {static_cast<std::uint64_t>(window.from.ps()),
                             static_cast<std::uint64_t>(window.until.ps()), bits_of(window.speed)});
  std::uint32_t next = 1;
  for (const std::uint32_t id : communications_.of_role(role)) {
    RankPart part{.communication = id, .first_step = next, .steps = 1};
    if (communications_[id].kind == OperationKind::collective) {
      part.chosen = choose(id, rank, endpoint, choice);
      part.group_of = rank;
      part.position = communications_.position(id, rank);
      part.own = &own_steps(*part.chosen, part.position);
      part.steps = static_cast<std::uint32_t>(part.own->steps.size());
      kind.push_back(reinterpret_cast<std::uintptr_t>(part.chosen));
      kind.push_back(part.steps);
      const auto [nothing, is_new] = redundant_.try_emplace({role, id, part.chosen}, false);
      if (is_new) nothing->second = is_redundant(parts, part);
      if (nothing->second) part.steps = 0;
    }
    next += part.steps;
    parts.push_back(part);
  }
  kind_.push_back(kinds_.try_emplace(kind, static_cast<std::int64_t>(kinds_.size())).first->second);
}

namespace {

/// Whether all of its members play one role.
bool within_roles(const Program& program, const Communication& how) {
  if (how.host) return false;
  return std::none_of(program.roles.begin(), program.roles.end(), [&](const Role& role) {
    return std::any_of(role.fixed.begin(), role.fixed.end(), [&](const auto& fixed) {
      return std::find(how.over.begin(), how.over.end(), fixed.first) != how.over.end();
    });
  });
}

}  // namespace

/// Whether an earlier part of the rank, and so of its whole group, is the same but for the amounts:
/// then it distinguishes nobody whom that one does not.
bool TrainingStepSchedule::is_redundant(const std::vector<RankPart>& before, const RankPart& part) {
  if (!within_roles(program_, communications_[part.communication].how)) return false;
  const std::uint32_t communicator = communications_[part.communication].communicator;
  return std::any_of(before.begin(), before.end(), [&](const RankPart& earlier) {
    return earlier.chosen != nullptr && earlier.steps > 0 &&
           communications_[earlier.communication].communicator == communicator &&
           alike(*earlier.chosen, *part.chosen);
  });
}

namespace {

template <typename Message>
bool same_but_for_amounts(const std::vector<Message>& a, std::int64_t block_a,
                          const std::vector<Message>& b, std::int64_t block_b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Message& x, const Message& y) {
                      return x.peer == y.peer && x.channel == y.channel &&
                             Int128{x.chunk.count} * block_b == Int128{y.chunk.count} * block_a;
                    });
}

/// Steps with work of their own in memory count as different.
bool same_but_for_amounts(const ScheduleStep& a, std::int64_t block_a, const ScheduleStep& b,
                          std::int64_t block_b) {
  const bool plain = a.locals.empty() && b.locals.empty() && a.after.empty() && b.after.empty();
  return plain && same_but_for_amounts(a.sends, block_a, b.sends, block_b) &&
         same_but_for_amounts(a.receives, block_a, b.receives, block_b) &&
         std::equal(a.receives.begin(), a.receives.end(), b.receives.begin(),
                    [](const Receive& x, const Receive& y) { return x.combine == y.combine; });
}

}  // namespace

/// On all positions.
bool TrainingStepSchedule::alike(const ChosenCollective& a, const ChosenCollective& b) {
  const auto [found, is_new] = alike_.try_emplace({&a, &b}, false);
  if (!is_new) return found->second;
  if (a.schedule->ranks() != b.schedule->ranks()) return false;
  const std::int64_t block_a = a.block.count();
  const std::int64_t block_b = b.block.count();
  for (int position = 0; position < a.schedule->ranks(); ++position) {
    const std::vector<ScheduleStep>& x = own_steps(a, position).steps;
    const std::vector<ScheduleStep>& y = own_steps(b, position).steps;
    if (!std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [&](const ScheduleStep& s, const ScheduleStep& t) {
                      return same_but_for_amounts(s, block_a, t, block_b);
                    }))
      return false;
  }
  return found->second = true;
}

/// Of one group, for every caller.
const ChosenCollective* TrainingStepSchedule::choose(std::uint32_t id, int rank,
                                                     const std::function<EndpointId(int)>& endpoint,
                                                     CollectiveChoice& choice) {
  const auto [found, is_new] = chosen_.try_emplace({id, communications_.member(id, rank, 0)});
  if (!is_new) return found->second.chosen;
  const Communication& how = communications_[id].how;
  std::vector<EndpointId> members;
  for (int i = 0; i < communications_.group_size(id); ++i)
    members.push_back(endpoint(communications_.member(id, rank, i)));
  const int root = how.host ? static_cast<int>(members.size()) - 1 : how.root;
  ChosenGroup& group = found->second;
  group.chosen = &choice.choose(how.collective, how.group, members, root, how.host.has_value(),
                                communications_[id].message, how.copies, communications_[id].skew);
  const std::size_t count = members.size();
  const std::vector<EndpointId> participants =
      choice.participants(*group.chosen, std::move(members));
  group.switches.assign(participants.begin() + static_cast<std::ptrdiff_t>(count),
                        participants.end());
  return group.chosen;
}

namespace {

ScheduleStep in_bytes(const ScheduleStep& step, std::int64_t block) {
  ScheduleStep out;
  for (const Send& send : step.sends)
    out.sends.push_back(
        {send.peer, {send.chunk.buffer, 0, step.blocks_of(send) * block}, send.channel});
  for (const Receive& receive : step.receives)
    out.receives.push_back({receive.peer,
                            {receive.chunk.buffer, 0, step.blocks_of(receive) * block},
                            receive.combine,
                            receive.channel});
  for (LocalOperation local : step.locals) {
    local.from.count *= block;
    local.to.count *= block;
    out.locals.push_back(local);
  }
  out.after = step.after;
  return out;
}

}  // namespace

const OwnScheduleSteps& TrainingStepSchedule::own_steps(const ChosenCollective& chosen,
                                                        int position) {
  const auto [found, is_new] = own_steps_.try_emplace({&chosen, position});
  OwnScheduleSteps& own = found->second;
  if (!is_new) return own;
  const Schedule& schedule = *chosen.schedule;
  const StepSizes sizes{schedule};
  const fold::ScheduleStepCounts counts{schedule.phases()};
  const std::int64_t block = chosen.block.count();
  ScheduleStep step;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    counts.visit(schedule.steps(position, lane), [&](std::int64_t index, std::int64_t times) {
      step.clear();
      sizes.read(position, lane, index, step);
      own.messages += std::ssize(step.sends) * times;
      for (const Send& send : step.sends) channels_ = std::max(channels_, send.channel + 1);
      own.steps.push_back(in_bytes(step, block));
    });
  }
  return own;
}

std::int64_t TrainingStepSchedule::steps(int rank, int) const {
  const std::vector<RankPart>& own = parts(rank);
  return own.empty() ? 1 : own.back().first_step + own.back().steps;
}

/// The first step distinguishes kinds of ranks: by how much each copies.
void TrainingStepSchedule::step(int rank, int, std::int64_t index, ScheduleStep& step) const {
  const std::vector<RankPart>& own = parts(rank);
  if (index == 0) {
    const Chunk chunk{Buffer::data, 0, kind_[static_cast<std::size_t>(rank)] + 1};
    step.locals.push_back({chunk, chunk, Combine::copy});
    return;
  }
  const auto after = std::upper_bound(
      own.begin(), own.end(), index,
      [](std::int64_t wanted, const RankPart& part) { return wanted < part.first_step; });
  const RankPart& part = *std::prev(after);
  const TrainingStepCommunication& of = communications_[part.communication];
  const auto channel = static_cast<int>(of.channel) * channels_;
  const Chunk all{Buffer::data, 0, of.message.count()};
  if (of.kind == OperationKind::collective) {
    add_inner(part, index - part.first_step, step);
  } else if (of.kind == OperationKind::send) {
    step.sends.push_back({communications_.peer(part.communication, rank), all, channel});
  } else {
    step.receives.push_back(
        {communications_.peer(part.communication, rank), all, Combine::copy, channel});
  }
}

/// A step of a collective, peers by their ranks.
void TrainingStepSchedule::add_inner(const RankPart& part, std::int64_t index,
                                     ScheduleStep& step) const {
  const ScheduleStep& own = part.own->steps[static_cast<std::size_t>(index)];
  const auto channel = static_cast<int>(communications_[part.communication].channel) * channels_;
  const auto put = [&](const auto& messages, auto& out) {
    for (auto message : messages) {
      message.peer = player(part, message.peer);
      message.channel += channel;
      out.push_back(message);
    }
  };
  put(own.sends, step.sends);
  put(own.receives, step.receives);
  step.locals.insert(step.locals.end(), own.locals.begin(), own.locals.end());
  step.after = own.after;
}

const RankPart& TrainingStepSchedule::part(int rank, std::uint32_t communication) const {
  const std::vector<RankPart>& own = parts(rank);
  const auto found = std::find_if(own.begin(), own.end(), [communication](const RankPart& part) {
    return part.communication == communication;
  });
  LOCKSTEP_CHECK(found != own.end());
  return *found;
}

}  // namespace lockstep
