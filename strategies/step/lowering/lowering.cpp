#include "strategies/step/lowering/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/schedule/own_operations.hpp"
#include "strategies/step/lowering/correspondence.hpp"
#include "strategies/step/lowering/rank_pattern.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// The order of a workload's calls. An endpoint serves simultaneous calls in this order. To be
/// independent of rank numbers, calls are ordered by when the first role among their members issues
/// them.
class CallOrder {
 public:
  /// Operation `operation` of a role issues a call. New calls come in order of their numbers.
  void note(std::uint32_t call, std::size_t role, std::size_t operation) {
    const std::pair of{role, operation};
    if (call == first_.size()) {
      first_.push_back(of);
    } else {
      first_[call] = std::min(first_[call], of);
    }
  }

  /// Sorts the calls; returns the new index of each.
  [[nodiscard]] std::vector<std::uint32_t> apply(std::vector<CollectiveCall>& calls) const {
    std::vector<std::uint32_t> sorted(first_.size());
    std::iota(sorted.begin(), sorted.end(), 0U);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return first_[a] < first_[b]; });
    std::vector<std::uint32_t> place(sorted.size());
    std::vector<CollectiveCall> out;
    out.reserve(calls.size());
    for (const std::uint32_t call : sorted) {
      place[call] = static_cast<std::uint32_t>(out.size());
      out.push_back(std::move(calls[call]));
    }
    calls = std::move(out);
    return place;
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> first_;  // per call: role, operation
};

/// Ranks of a role that compute at one speed and have one load share one pattern of operations,
/// with calls and messages of their own.
class Lowerer {
 public:
  explicit Lowerer(const LoweringInput& input)
      : in_{input},
        with_{make_correspondence(input)},
        roles_(input.roles.size()),
        patterns_(input.roles.size()) {}

  [[nodiscard]] LoweredProgram run() {
    out_.workload.slots = Workload::kNoLimit;
    out_.workload.slowed_permille = std::llround(in_.slowdown * 1000);
    for (std::size_t i = 0; i < in_.ranks.size(); ++i) {
      add_rank(in_.ranks[i]);
      if (in_.on_progress)
        in_.on_progress(static_cast<double>(i + 1) / static_cast<double>(in_.ranks.size()));
    }
    order_calls();
    if (in_.times != nullptr) time_messages();
    for (std::optional<RoleLowering>& lowered : roles_)
      out_.issued.push_back(lowered ? std::move(lowered->costs.issued) : std::vector<HostLaunch>{});
    return std::move(out_);
  }

 private:
  [[nodiscard]] const RoleProgram& role_of(int rank) const {
    return in_.roles[role_played(in_.program, rank)];
  }

  void add_rank(int rank) {
    const RoleProgram& role = role_of(rank);
    std::optional<RoleLowering>& lowered = roles_[role.role];
    if (!lowered) lowered = lower_role(role, in_.kernels);
    const EndpointId endpoint = with_->begin(rank);
    add_windows(rank, endpoint);
    Communications part = communications_of(role, *lowered);
    const RankPattern& pattern = pattern_of(rank, role, *lowered, std::move(part.of_role));
    const auto first = static_cast<std::uint32_t>(out_.workload.streams.size());
    for (std::size_t s = 0; s < lowered->streams.size(); ++s)
      out_.workload.streams.push_back({endpoint,
                                       in_.program.streams[lowered->streams[s]],
                                       {},
                                       pattern.streams[s],
                                       std::move(part.calls[s]),
                                       std::move(part.messages[s]),
                                       first});
    out_.places.push_back({pattern.places, first});
  }

  void add_windows(int rank, EndpointId endpoint) {
    for (const SlowWindow& window : speed_of(in_.speeds, rank).windows) {
      const auto ppm = std::llround(window.speed * SpeedChange::kNormal);
      out_.workload.speed_changes.push_back({endpoint, window.from, ppm});
      if (window.until != SlowWindow::kNoEnd)
        out_.workload.speed_changes.push_back({endpoint, window.until, SpeedChange::kNormal});
    }
  }

  const RankPattern& pattern_of(int rank, const RoleProgram& role, const RoleLowering& lowered,
                                std::vector<std::optional<CallOfRole>> calls) {
    const RankSpeed& of = speed_of(in_.speeds, rank);
    std::vector<RankPattern>& known = patterns_[role.role];
    for (const RankPattern& each : known)
      if (each.speed == of.speed && each.load == of.load && each.calls == calls) return each;
    known.push_back(write_pattern(role, lowered, in_.kernels, {of.speed, of.load, std::move(calls)},
                                  in_.times == nullptr));
    return known.back();
  }

  /// What a rank calls and sends, per stream.
  struct Communications {
    std::vector<std::vector<CallMemberSlot>> calls;
    std::vector<std::vector<Correspondent>> messages;
    std::vector<std::optional<CallOfRole>> of_role{};  // per collective
  };

  Communications communications_of(const RoleProgram& role, const RoleLowering& lowered) {
    Communications out;
    out.calls.resize(lowered.streams.size());
    out.messages.resize(lowered.streams.size());
    calls_before_.clear();
    uses_.assign(in_.program.routines.size(), {});
    ++added_;
    for (const std::uint32_t i : lowered.communications) {
      const std::uint32_t stream = lowered.stream_of[i];
      if (role.operations[i].operation->kind == Kind::collective) {
        out.of_role.push_back(call_of_role(role, i, stream, out.calls[stream]));
      } else if (in_.times == nullptr) {
        out.messages[stream].push_back(with_->message(role, role.operations[i]));
      }
    }
    return out;
  }

  /// Two calls that take turns, as often as their members come to them.
  struct Turns {
    CollectiveCall call;
    std::uint32_t stream = 0;
    std::vector<std::uint32_t> calls{};
    std::size_t uses = 0;
  };
  struct Instance {
    std::vector<std::uint32_t> calls{};  // in the order in which members come to them
    std::vector<Turns> turns{};
  };

  /// The rank's use of a collective of its role.
  struct Use {
    bool known = false;
    std::optional<Correspondence::Part> part{};
    Instance* instance = nullptr;
    std::size_t* before = nullptr;         // so many of its calls the rank has come to
    std::optional<std::uint32_t> alone{};  // the call that stands for all times
    std::optional<std::size_t> turns{};
  };

  [[nodiscard]] Use& use_of(const RoleProgram& role, const RoleOperation& operation) {
    std::vector<Use>& routine = uses_[operation.call.routine];
    if (routine.empty())
      routine.resize(in_.program.routines[operation.call.routine].operations.size());
    Use& out = routine[operation.index_in_routine];
    if (std::exchange(out.known, true)) return out;
    out.part = with_->collective(role, operation);
    if (!out.part) return out;
    out.instance = &instances_[out.part->instance];
    out.before = &calls_before_[out.part->instance];
    return out;
  }

  std::optional<CallOfRole> call_of_role(const RoleProgram& role, std::uint32_t index,
                                         std::uint32_t stream, std::vector<CallMemberSlot>& slots) {
    Use& use = use_of(role, role.operations[index]);
    if (!use.part) return std::nullopt;
    with_->count(*use.part);
    if (use.alone) return CallOfRole{use.part->launch, number_of({*use.alone, 0}, stream, slots)};
    std::vector<std::uint32_t>& calls = use.instance->calls;
    const std::size_t before = (*use.before)++;
    if (before == calls.size()) calls.push_back(next_call(role, index, stream, use));
    const std::uint32_t call = calls[before];
    order_.note(call, role.role, index);
    if (use.part->repeats) use.alone = call;
    return CallOfRole{use.part->launch, number_of({call, use.part->member}, stream, slots)};
  }

  /// A call that no rank of the instance has come to.
  std::uint32_t next_call(const RoleProgram& role, std::uint32_t index, std::uint32_t stream,
                          Use& use) {
    const RoleOperation& operation = role.operations[index];
    if (!use.part->in_turn) return add_call(with_->call(role, operation));
    if (!use.turns) use.turns = turns_of(*use.instance, with_->call(role, operation), stream);
    Turns& turns = use.instance->turns[*use.turns];
    const std::size_t turn = turns.uses++ % 2;
    if (turn == turns.calls.size()) turns.calls.push_back(add_call(turns.call));
    return turns.calls[turn];
  }

  std::uint32_t add_call(CollectiveCall call) {
    out_.workload.calls.push_back(std::move(call));
    number_in_.emplace_back();
    return static_cast<std::uint32_t>(out_.workload.calls.size() - 1);
  }

  static std::size_t turns_of(Instance& of, CollectiveCall call, std::uint32_t stream) {
    const auto found = std::find_if(of.turns.begin(), of.turns.end(), [&](const Turns& each) {
      return each.stream == stream && each.call.schedule == call.schedule &&
             each.call.block == call.block && each.call.traffic_weight == call.traffic_weight &&
             each.call.on_copy_engines == call.on_copy_engines &&
             each.call.slowed_permille == call.slowed_permille;
    });
    const auto index = static_cast<std::size_t>(found - of.turns.begin());
    if (index == of.turns.size()) of.turns.push_back({std::move(call), stream});
    return index;
  }

  /// Of a call among those of the rank's stream: new where it has not come to it before.
  std::uint32_t number_of(const CallMemberSlot& slot, std::uint32_t stream,
                          std::vector<CallMemberSlot>& slots) {
    NumberInStream& known = number_in_[slot.call];
    if (known.rank != added_ || known.stream != stream) {
      known = {added_, stream, static_cast<std::uint32_t>(slots.size())};
      slots.push_back(slot);
    }
    return known.number;
  }

  void order_calls() {
    const std::vector<std::uint32_t> place = order_.apply(out_.workload.calls);
    for (Stream& stream : out_.workload.streams)
      for (CallMemberSlot& slot : stream.calls) slot.call = place[slot.call];
  }

  // Messages of a given time: they travel on no network, and receivers wait for them.

  void time_messages() {
    for (Stream& stream : out_.workload.streams) stream = with_own_operations(stream);
    for (std::size_t i = 0; i < in_.ranks.size(); ++i)
      for_messages(i, Kind::send, [this](auto... of) { time_send(of...); });
    for (std::size_t i = 0; i < in_.ranks.size(); ++i)
      for_messages(i, Kind::receive, [this](auto... of) { time_receive(of...); });
  }

  template <typename Visit>
  void for_messages(std::size_t index, Kind kind, Visit visit) {
    const int rank = in_.ranks[index];
    const RoleProgram& role = role_of(rank);
    for (const std::uint32_t i : roles_[role.role]->communications)
      if (role.operations[i].operation->kind == kind)
        visit(rank, &role, i, out_.places[index].of(i));
  }

  Activity& activity(ActivityRef at) {
    return out_.workload.streams[at.stream].operations[at.index];
  }

  /// Gives a send its time, and the message a stream on which it arrives later.
  void time_send(int rank, const RoleProgram* role, std::uint32_t index, ActivityRef at) {
    const RoleOperation& operation = role->operations[index];
    const MessageTime time = in_.times->message(rank, *role, operation);
    activity(at).duration = time.sending;
    activity(at).any_speed = true;
    Activity flight;
    flight.any_speed = true;
    flight.duration = time.latency;
    flight.after = {at};
    const auto stream = static_cast<std::uint32_t>(out_.workload.streams.size());
    out_.workload.streams.push_back({in_.endpoint(rank), "flight", {std::move(flight)}});
    arrivals_.emplace(ends_of(in_, rank, *role, operation), ActivityRef{stream, 0});
  }

  void time_receive(int rank, const RoleProgram* role, std::uint32_t index, ActivityRef at) {
    const auto found = arrivals_.find(ends_of(in_, rank, *role, role->operations[index]));
    if (found == arrivals_.end())
      throw InternalError{fmt::format("{} of rank {}: no sender", role->name(index), rank)};
    activity(at).after.push_back(found->second);
  }

  const LoweringInput& in_;
  std::unique_ptr<Correspondence> with_;
  LoweredProgram out_;
  std::vector<std::optional<RoleLowering>> roles_;  // per role
  std::vector<std::vector<RankPattern>> patterns_;  // likewise
  std::unordered_map<std::uint64_t, Instance> instances_;
  CallOrder order_;
  // Of the rank being added.
  std::unordered_map<std::uint64_t, std::size_t> calls_before_;  // by instance
  std::vector<std::vector<Use>> uses_;                           // per routine and operation of it
  std::uint32_t added_ = 0;                                      // ranks, with it
  struct NumberInStream {
    std::uint32_t rank = 0;  // as `added_`
    std::uint32_t stream = 0;
    std::uint32_t number = 0;
  };
  std::vector<NumberInStream> number_in_;  // per call: where a rank came to it last
  std::map<MessageEnds, ActivityRef> arrivals_;
};

}  // namespace

Bytes message_of(const RoleProgram& role, const RoleOperation& operation) {
  const auto& how = operation.operation->communication;
  const auto total = [&](const IndexList& instances) {
    Bytes sum;
    for (const std::uint32_t instance : instances) {
      sum += local_bytes(role.program->mesh, role.tensor(instance));
      if (how && how->copies) break;
    }
    return sum;
  };
  return std::max(total(operation.reads), total(operation.writes));
}

bool order_of_calls_is_free(const Network& network, NetworkModel model) {
  return model != NetworkModel::queue &&
         std::none_of(network.endpoints.begin(), network.endpoints.end(), [](const Endpoint& each) {
           return each.message_overhead > Duration{} || each.reduce_rate;
         });
}

LoweredProgram lower_program(const LoweringInput& input) {
  return Lowerer{input}.run();
}

}  // namespace lockstep
