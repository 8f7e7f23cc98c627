#include "strategies/step/lowering/lower_folded.hpp"

#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "strategies/step/lowering/call_order.hpp"
#include "strategies/step/lowering/fold_step.hpp"
#include "strategies/step/lowering/role_costs.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// What all ranks of a role have in common.
struct RoleLowering {
  RoleCosts costs;
  std::vector<StreamId> streams{};         // in order of first use
  std::vector<std::uint32_t> stream_of{};  // per operation, an index into these
  std::vector<std::uint32_t> talks{};      // operations that communicate
};

RoleLowering lower_role(const RoleProgram& role, const KernelTimes& kernels) {
  RoleLowering out{role_costs(role, kernels)};
  out.stream_of.reserve(role.operations.size());
  std::vector<std::uint32_t> known(role.program->streams.size(), UINT32_MAX);
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    std::uint32_t& stream = known[operation.stream];
    if (stream == UINT32_MAX) {
      stream = static_cast<std::uint32_t>(out.streams.size());
      out.streams.push_back(operation.stream);
    }
    out.stream_of.push_back(stream);
    const bool talks = operation.kind == Kind::collective || operation.kind == Kind::send ||
                       operation.kind == Kind::receive;
    if (talks) out.talks.push_back(i);
  }
  return out;
}

/// The streams of a rank, for all of its role that compute at one speed and whose collectives take
/// equally long to launch.
struct RankPattern {
  double speed = 1;
  std::vector<std::optional<Duration>> launches{};  // per collective; none: it takes no part
  std::vector<std::shared_ptr<const std::vector<Activity>>> streams{};  // as RoleLowering::streams
  std::shared_ptr<const std::vector<ActivityRef>> places{};             // per operation
};

/// Writes one down.
class PatternWriter {
 public:
  PatternWriter(const RoleProgram& role, const RoleLowering& lowered, RankPattern pattern)
      : role_{role},
        role_lowering_{lowered},
        out_{std::move(pattern)},
        streams_(lowered.streams.size()),
        calls_(lowered.streams.size()),
        messages_(lowered.streams.size()) {}

  RankPattern run() {
    for (std::size_t s = 0; s < streams_.size(); ++s)
      streams_[s].reserve(role_lowering_.costs.longest[role_lowering_.streams[s]]);
    places_.reserve(role_.operations.size());
    for (std::uint32_t i = 0; i < role_.operations.size(); ++i) {
      std::vector<Activity>& stream = streams_[role_lowering_.stream_of[i]];
      const auto begins = static_cast<std::uint32_t>(stream.size());
      add(i, stream);
      issue(stream[begins], role_lowering_.costs.issued[i], role_lowering_.stream_of[i], places_);
      for (const std::uint32_t after : role_.operations[i].after)
        stream[begins].after.push_back(places_[after]);
      places_.push_back(
          {role_lowering_.stream_of[i], static_cast<std::uint32_t>(stream.size() - 1)});
    }
    for (std::vector<Activity>& stream : streams_)
      out_.streams.push_back(std::make_shared<const std::vector<Activity>>(std::move(stream)));
    out_.places = std::make_shared<const std::vector<ActivityRef>>(std::move(places_));
    return std::move(out_);
  }

 private:
  void add(std::uint32_t index, std::vector<Activity>& stream) {
    const RoleOperation& operation = role_.operations[index];
    switch (operation.operation->kind) {
      case Kind::collective:
        return add_collective(index, stream);
      case Kind::send:
        return add_message(index, Activity::Kind::send, stream);
      case Kind::receive:
        return add_message(index, Activity::Kind::receive, stream);
      default:
        stream.emplace_back().duration = at_speed(role_lowering_.costs.kernels[index], out_.speed);
    }
  }

  void add_collective(std::uint32_t index, std::vector<Activity>& stream) {
    const std::optional<Duration> launch = out_.launches[launched_++];
    if (!launch) {
      stream.emplace_back();
      return;
    }
    if (*launch > Duration{}) stream.emplace_back().duration = *launch;
    Activity& call = stream.emplace_back();
    call.kind = Activity::Kind::collective;
    call.call = calls_[role_lowering_.stream_of[index]]++;
  }

  void add_message(std::uint32_t index, Activity::Kind kind, std::vector<Activity>& stream) {
    Activity& message = stream.emplace_back();
    message.kind = kind;
    message.peer = messages_[role_lowering_.stream_of[index]]++;
    message.size = role_lowering_.costs.messages[index];
    message.traffic_weight = role_.operations[index].operation->communication->traffic_weight;
  }

  const RoleProgram& role_;
  const RoleLowering& role_lowering_;
  RankPattern out_;
  std::vector<std::vector<Activity>> streams_;
  std::vector<std::uint32_t> calls_;  // so far, per stream
  std::vector<std::uint32_t> messages_;
  std::vector<ActivityRef> places_;
  std::size_t launched_ = 0;
};

/// What a class calls and sends, per stream.
struct Communications {
  std::vector<std::vector<CallMemberSlot>> calls;
  std::vector<std::vector<Correspondent>> messages;
  std::vector<std::optional<Duration>> launches{};  // per collective
};

class FoldedLowerer {
 public:
  explicit FoldedLowerer(const LoweringInput& input)
      : in_{input}, roles_(input.roles.size()), patterns_(input.roles.size()) {}

  LoweredProgram run() {
    out_.workload.slots = Workload::kNoLimit;
    out_.workload.slowed_permille = std::llround(in_.slowdown * 1000);
    for (const int rank : in_.ranks) add_class(rank);
    const std::vector<std::uint32_t> place = order_.apply(out_.workload.calls);
    for (Stream& stream : out_.workload.streams)
      for (CallMemberSlot& member_slot : stream.calls) member_slot.call = place[member_slot.call];
    for (std::optional<RoleLowering>& lowered : roles_)
      out_.issued.push_back(lowered ? std::move(lowered->costs.issued) : std::vector<HostLaunch>{});
    return std::move(out_);
  }

 private:
  void add_class(int rank) {
    const RoleProgram& role = in_.roles[role_played(in_.program, rank)];
    std::optional<RoleLowering>& lowered = roles_[role.role];
    if (!lowered) lowered = lower_role(role, in_.kernels);
    Communications talk = talk_of(rank, role, *lowered);
    const RankPattern& pattern = pattern_of(rank, role, *lowered, std::move(talk.launches));
    const auto first = static_cast<std::uint32_t>(out_.workload.streams.size());
    for (std::size_t s = 0; s < lowered->streams.size(); ++s)
      out_.workload.streams.push_back({in_.fold->class_of()[static_cast<std::size_t>(rank)],
                                       in_.program.streams[lowered->streams[s]],
                                       {},
                                       pattern.streams[s],
                                       std::move(talk.calls[s]),
                                       std::move(talk.messages[s]),
                                       first});
    out_.places.push_back({pattern.places, first});
  }

  const RankPattern& pattern_of(int rank, const RoleProgram& role, const RoleLowering& lowered,
                                std::vector<std::optional<Duration>> launches) {
    const auto found = in_.speeds.find(rank);
    const double speed = found == in_.speeds.end() ? 1 : found->second;
    std::vector<RankPattern>& known = patterns_[role.role];
    for (const RankPattern& each : known)
      if (each.speed == speed && each.launches == launches) return each;
    known.push_back(PatternWriter{role, lowered, {speed, std::move(launches)}}.run());
    return known.back();
  }

  Communications talk_of(int rank, const RoleProgram& role, const RoleLowering& lowered) {
    Communications out;
    out.calls.resize(lowered.streams.size());
    out.messages.resize(lowered.streams.size());
    met_.clear();
    slots_.assign(in_.program.routines.size(), {});
    for (const std::uint32_t i : lowered.talks) {
      const RoleOperation& operation = role.operations[i];
      const std::uint32_t stream = lowered.stream_of[i];
      if (operation.operation->kind == Kind::collective) {
        add_call(rank, role, i, out, out.calls[stream]);
        continue;
      }
      const bool sends = operation.operation->kind == Kind::send;
      const std::uint32_t tensor = sends ? operation.reads[0] : operation.writes[0];
      const FoldedTrainingStep::Message message =
          in_.fold->message(rank, *operation.operation, role.instances[tensor]);
      out.messages[stream].push_back({message.peer, message.tag});
    }
    return out;
  }

  /// What a class knows of a collective of its role.
  struct Slot {
    bool known = false;
    std::optional<FoldedTrainingStep::MemberSlot> member_slot{};  // none: it takes no part
    std::vector<std::uint32_t>* calls = nullptr;  // of its groups' classes, in order
    std::size_t* before = nullptr;                // so many of these the class has called
    std::optional<std::uint32_t> alone{};         // the call that stands for all times
  };

  [[nodiscard]] Slot& slot_of(int rank, const RoleOperation& operation) {
    std::vector<Slot>& routine = slots_[operation.call.routine];
    if (routine.empty())
      routine.resize(in_.program.routines[operation.call.routine].operations.size());
    Slot& out = routine[operation.index_in_routine];
    if (std::exchange(out.known, true)) return out;
    out.member_slot = in_.fold->collective(rank, *operation.operation);
    if (!out.member_slot) return out;
    out.calls = &calls_[out.member_slot->collective_instance];
    out.before = &met_[out.member_slot->collective_instance];
    return out;
  }

  /// One call for all groups of the same classes; of those that only one class takes part in, as
  /// often as it likes, one for all times.
  void add_call(int rank, const RoleProgram& role, std::uint32_t index, Communications& talk,
                std::vector<CallMemberSlot>& member_slots) {
    const Operation& operation = *role.operations[index].operation;
    Slot& slot = slot_of(rank, role.operations[index]);
    if (!slot.member_slot) {
      talk.launches.emplace_back();
      return;
    }
    const FoldedTrainingStep::MemberSlot& member_slot = *slot.member_slot;
    in_.fold->count(member_slot);
    talk.launches.emplace_back(member_slot.launch);
    if (slot.alone) {
      member_slots.push_back({*slot.alone, 0});
      return;
    }
    const std::size_t before = (*slot.before)++;
    if (before == slot.calls->size()) {
      slot.calls->push_back(static_cast<std::uint32_t>(out_.workload.calls.size()));
      CollectiveCall& call = out_.workload.calls.emplace_back();
      call.name = operation.name;
      call.schedule = member_slot.group->schedule;
      call.members = member_slot.group->classes;
      call.block = Bytes{1};
      call.traffic_weight = operation.communication->traffic_weight;
    }
    const std::uint32_t call = (*slot.calls)[before];
    order_.note(call, role.role, index);
    member_slots.push_back({call, member_slot.member});
    if (member_slot.group->repeats) slot.alone = call;
  }

  const LoweringInput& in_;
  LoweredProgram out_;
  std::vector<std::optional<RoleLowering>> roles_;  // per role
  std::vector<std::vector<RankPattern>> patterns_;  // likewise
  std::unordered_map<std::uint64_t, std::size_t>
      met_;  // of the class being added, by collective_instance
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> calls_;
  CallOrder order_;
  std::vector<std::vector<Slot>> slots_;  // of the class being added, per routine and operation
};

}  // namespace

LoweredProgram lower_folded(const LoweringInput& input) {
  return FoldedLowerer{input}.run();
}

}  // namespace lockstep
