#include "strategies/step/lowering/rank_pattern.hpp"

#include <utility>

namespace lockstep {

using Kind = OperationKind;

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
    if (row_of(operation.kind).exchange) out.communications.push_back(i);
  }
  return out;
}

namespace {

/// Writes one down.
class PatternWriter {
 public:
  PatternWriter(const RoleProgram& role, const RoleLowering& lowered, const KernelTimes& kernels,
                RankPattern pattern, bool messages)
      : role_{role},
        kernels_{kernels},
        messages_travel_{messages},
        role_lowering_{lowered},
        out_{std::move(pattern)},
        streams_(lowered.streams.size()),
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
        return add_collective(stream);
      case Kind::send:
        return add_message(index, Activity::Kind::send, stream);
      case Kind::receive:
        return add_message(index, Activity::Kind::receive, stream);
      default:
        stream.emplace_back().duration = at_speed(kernel_time(index), out_.speed);
    }
  }

  [[nodiscard]] Duration kernel_time(std::uint32_t index) const {
    const RoleOperation& operation = role_.operations[index];
    return out_.load > 0 && kernels_.differs(operation) ? kernels_.of(role_, operation, out_.load)
                                                        : role_lowering_.costs.kernels[index];
  }

  void add_collective(std::vector<Activity>& stream) {
    const std::optional<CallOfRole>& of = out_.calls[called_++];
    if (!of) {
      stream.emplace_back();
      return;
    }
    if (of->launch > Duration{}) {
      stream.emplace_back().duration = of->launch;
      stream.back().any_speed = true;
    }
    Activity& call = stream.emplace_back();
    call.kind = Activity::Kind::collective;
    call.call = of->number;
  }

  void add_message(std::uint32_t index, Activity::Kind kind, std::vector<Activity>& stream) {
    Activity& message = stream.emplace_back();
    if (!messages_travel_) return;
    message.kind = kind;
    message.peer = messages_[role_lowering_.stream_of[index]]++;
    message.size = role_lowering_.costs.messages[index];
    message.traffic_weight = role_.operations[index].operation->communication->traffic_weight;
  }

  const RoleProgram& role_;
  const KernelTimes& kernels_;
  bool messages_travel_;
  const RoleLowering& role_lowering_;
  RankPattern out_;
  std::vector<std::vector<Activity>> streams_;
  std::vector<std::uint32_t> messages_;  // so far, per stream
  std::vector<ActivityRef> places_;
  std::size_t called_ = 0;
};

}  // namespace

RankPattern write_pattern(const RoleProgram& role, const RoleLowering& lowered,
                          const KernelTimes& kernels, RankPattern pattern, bool messages) {
  return PatternWriter{role, lowered, kernels, std::move(pattern), messages}.run();
}

}  // namespace lockstep
