#include "strategies/step/lowering/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "sim/base/check.hpp"
#include "strategies/step/lowering/call_order.hpp"
#include "strategies/step/lowering/coarse_rank_classes.hpp"
#include "strategies/step/lowering/lower_folded.hpp"
#include "strategies/step/lowering/role_costs.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

constexpr std::uint32_t kNowhere = UINT32_MAX;

class Lowerer {
 public:
  explicit Lowerer(const LoweringInput& input) : in_{input} {
    for (std::size_t i = 0; i < in_.ranks.size(); ++i) index_.emplace(in_.ranks[i], i);
    costs_.resize(in_.roles.size());
  }

  [[nodiscard]] LoweredProgram run() {
    out_.workload.slots = Workload::kNoLimit;
    out_.workload.slowed_permille = std::llround(in_.slowdown * 1000);
    for (std::size_t i = 0; i < in_.ranks.size(); ++i) {
      add_rank(in_.ranks[i]);
      report(i + 1);
    }
    if (in_.times == nullptr) order_calls();
    for (std::size_t i = 0; i < in_.ranks.size(); ++i) {
      link(i);
      report(in_.ranks.size() + i + 1);
    }
    for (std::vector<ActivityRef>& places : places_)
      out_.places.push_back(
          {std::make_shared<const std::vector<ActivityRef>>(std::move(places)), 0});
    for (RoleCosts& costs : costs_) out_.issued.push_back(std::move(costs.issued));
    return std::move(out_);
  }

 private:
  /// Ranks are added, then linked.
  void report(std::size_t done) const {
    if (in_.on_progress)
      in_.on_progress(static_cast<double>(done) / static_cast<double>(2 * in_.ranks.size()));
  }

  [[nodiscard]] const RoleProgram& role_of(int rank) const {
    return in_.roles[role_played(in_.program, rank)];
  }

  /// Where a rank's streams run.
  [[nodiscard]] EndpointId place_of(int rank) const { return in_.endpoint(rank); }

  /// Streams without their dependencies.
  void add_rank(int rank) {
    const RoleProgram& role = role_of(rank);
    const auto speed = in_.speeds.find(rank);
    speed_ = speed == in_.speeds.end() ? 1 : speed->second;
    stream_of_.assign(in_.program.streams.size(), kNowhere);
    call_counts_.clear();
    communications_.clear();
    if (costs_[role.role].issued.empty()) costs_[role.role] = role_costs(role, in_.kernels);
    std::vector<ActivityRef> places;
    places.reserve(role.operations.size());
    std::vector<ActivityRef> begins;
    begins.reserve(role.operations.size());
    for (const RoleOperation& operation : role.operations) {
      Stream& stream = stream_for(rank, role, operation.operation->stream);
      begins.push_back({stream_of_[operation.operation->stream],
                        static_cast<std::uint32_t>(stream.operations.size())});
      add_operation(rank, role, operation, stream);
      places.push_back({stream_of_[operation.operation->stream],
                        static_cast<std::uint32_t>(stream.operations.size() - 1)});
      if (operation.operation->kind == Kind::send && in_.times != nullptr) {
        sends_.emplace(message_key(rank, role, operation),
                       timed_send(rank, role, operation, places.back()));
      }
    }
    places_.push_back(std::move(places));
    begins_.push_back(std::move(begins));
  }

  Stream& stream_for(int rank, const RoleProgram& role, StreamId stream) {
    if (stream_of_[stream] == kNowhere) {
      stream_of_[stream] = static_cast<std::uint32_t>(out_.workload.streams.size());
      out_.workload.streams.push_back({place_of(rank), in_.program.streams[stream], {}});
      out_.workload.streams.back().operations.reserve(costs_[role.role].longest[stream]);
    }
    return out_.workload.streams[stream_of_[stream]];
  }

  void add_operation(int rank, const RoleProgram& role, const RoleOperation& operation,
                     Stream& stream) {
    switch (operation.operation->kind) {
      case Kind::collective:
        add_collective(rank, role, operation, stream);
        return;
      case Kind::send:
      case Kind::receive:
        add_transfer(rank, role, operation, stream);
        return;
      default:
        stream.operations.push_back(
            computation(at_speed(costs_[role.role].kernels[index_of(role, operation)], speed_)));
    }
  }

  [[nodiscard]] static std::size_t index_of(const RoleProgram& role,
                                            const RoleOperation& operation) {
    return static_cast<std::size_t>(&operation - role.operations.data());
  }

  [[nodiscard]] static Activity computation(Duration time) {
    Activity out;
    out.duration = time;
    return out;
  }

  // Collectives.

  void add_collective(int rank, const RoleProgram& role, const RoleOperation& operation,
                      Stream& stream) {
    const Bytes message = costs_[role.role].messages[index_of(role, operation)];
    Activity activity;
    activity.kind = Activity::Kind::collective;
    RankCommunication& communication = communication_of(rank, operation);
    if (communication.who.members.size() < 2 || message == Bytes{}) {
      stream.operations.push_back(computation({}));
      return;
    }
    if (in_.times != nullptr) {
      activity.call = timed_call(rank, role, operation, communication);
      if (!communication.member) communication.member = position_in_call(activity.call, rank);
      activity.member = *communication.member;
    } else {
      activity.call = played_call(operation, communication, message, stream);
      activity.member = static_cast<std::uint32_t>(communication.who.own);
    }
    order_.note(activity.call, role.role, index_of(role, operation));
    stream.operations.push_back(activity);
  }

  /// A communication of the rank that is being added: the same in every microbatch.
  struct RankCommunication {
    Communicator who;
    std::size_t* count = nullptr;                 // calls of its group so far
    std::vector<std::uint32_t>* calls = nullptr;  // of its group, in their order
    std::vector<EndpointId> simulated{};          // of timed calls
    std::optional<std::uint32_t> member{};        // its place among these
  };

  RankCommunication& communication_of(int rank, const RoleOperation& operation) {
    const auto [found, is_new] = communications_.try_emplace(operation.operation);
    RankCommunication& communication = found->second;
    if (!is_new) return communication;
    communication.who = communicator_of(in_.program, rank, *operation.operation->communication);
    if (communication.who.members.size() < 2) return communication;
    const std::vector<int> group =
        in_.times != nullptr ? group_of(communication.who.members) : communication.who.members;
    if (in_.times != nullptr)
      for (const int member : simulated(communication.who.members))
        communication.simulated.push_back(in_.endpoint(member));
    communication.count = &call_counts_[group];
    communication.calls = &calls_[group];
    return communication;
  }

  /// The next call of this group, and whether it is new.
  [[nodiscard]] std::pair<std::uint32_t, bool> next_call(
      const RankCommunication& communication) const {
    const std::size_t count = (*communication.count)++;
    const bool is_new = count == communication.calls->size();
    if (is_new)
      communication.calls->push_back(static_cast<std::uint32_t>(out_.workload.calls.size()));
    return {(*communication.calls)[count], is_new};
  }

  void order_calls() {
    const std::vector<std::uint32_t> place = order_.apply(out_.workload.calls);
    for (Stream& stream : out_.workload.streams)
      for (Activity& activity : stream.operations)
        if (activity.kind == Activity::Kind::collective) activity.call = place[activity.call];
  }

  [[nodiscard]] std::uint32_t position_in_call(std::uint32_t call, int rank) const {
    const auto& members = out_.workload.calls[call].members;
    const auto found = std::find(members.begin(), members.end(), in_.endpoint(rank));
    LOCKSTEP_CHECK(found != members.end());
    return static_cast<std::uint32_t>(found - members.begin());
  }

  /// Who is simulated of a group.
  [[nodiscard]] std::vector<int> simulated(const std::vector<int>& members) const {
    std::vector<int> out;
    for (const int member : members) {
      const int rank = representative_of(member);
      if (index_.contains(rank) && std::find(out.begin(), out.end(), rank) == out.end())
        out.push_back(rank);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  [[nodiscard]] int representative_of(int rank) const {
    return in_.kinds == nullptr ? rank : in_.kinds->representative_of(rank);
  }

  /// What groups of the same kinds have in common, and those of other communicators have not.
  [[nodiscard]] std::vector<int> group_of(const std::vector<int>& members) const {
    if (in_.kinds == nullptr) return members;
    std::vector<int> out;
    for (const int member : members)
      out.push_back(member < in_.program.mesh.ranks() ? member - members.front() : member);
    for (const int rank : simulated(members)) out.push_back(rank);
    return out;
  }

  [[nodiscard]] std::uint32_t timed_call(int rank, const RoleProgram& role,
                                         const RoleOperation& operation,
                                         const RankCommunication& communication) {
    const auto [id, is_new] = next_call(communication);
    if (!is_new) return id;
    CollectiveCall call;
    call.name = operation.operation->name;
    call.members = communication.simulated;
    call.takes = in_.times->collective(rank, role, operation);
    out_.workload.calls.push_back(std::move(call));
    return id;
  }

  [[nodiscard]] std::uint32_t played_call(const RoleOperation& operation,
                                          const RankCommunication& communication, Bytes message,
                                          Stream& stream) {
    const Communicator& who = communication.who;
    std::vector<EndpointId> members;
    for (const int member : who.members) members.push_back(in_.endpoint(member));
    const Communication& how = *operation.operation->communication;
    const ChosenCollective& chosen = in_.choice.choose(how.collective, how.group, members, who.root,
                                                       how.host.has_value(), message);
    if (chosen.launch > Duration{}) stream.operations.push_back(computation(chosen.launch));
    const auto [id, is_new] = next_call(communication);
    if (!is_new) return id;
    CollectiveCall call;
    call.name = operation.operation->name;
    call.members = in_.choice.participants(chosen, std::move(members));
    call.schedule = chosen.schedule;
    call.block = chosen.block;
    call.traffic_weight = how.traffic_weight;
    out_.workload.calls.push_back(std::move(call));
    return id;
  }

  // Sends and receives.

  using MessageKey = std::tuple<int, int, TensorInstance>;

  /// From whom to whom, and which tensor.
  [[nodiscard]] MessageKey message_key(int rank, const RoleProgram& role,
                                       const RoleOperation& operation) const {
    const Communication& how = *operation.operation->communication;
    const Mesh& mesh = in_.program.mesh;
    const int size = mesh.size(how.over);
    const int peer =
        mesh.moved(rank, how.over, (mesh.coordinate(rank, how.over) + how.offset + size) % size);
    const bool sends = operation.operation->kind == Kind::send;
    const std::uint32_t tensor = sends ? operation.reads[0] : operation.writes[0];
    return {sends ? rank : representative_of(peer), sends ? representative_of(peer) : rank,
            role.instances[tensor]};
  }

  void add_transfer(int rank, const RoleProgram& role, const RoleOperation& operation,
                    Stream& stream) {
    const bool sends = operation.operation->kind == Kind::send;
    Activity activity;
    if (in_.times != nullptr) {
      stream.operations.push_back(activity);
      return;
    }
    const MessageKey key = message_key(rank, role, operation);
    activity.kind = sends ? Activity::Kind::send : Activity::Kind::receive;
    activity.peer = in_.endpoint(sends ? std::get<1>(key) : std::get<0>(key));
    activity.tag = tags_.try_emplace(std::get<2>(key), tags_.size()).first->second;
    activity.size = costs_[role.role].messages[index_of(role, operation)];
    activity.traffic_weight = operation.operation->communication->traffic_weight;
    stream.operations.push_back(activity);
  }

  /// Gives a send its time; returns where the message has arrived, after the sender has gone on.
  [[nodiscard]] ActivityRef timed_send(int rank, const RoleProgram& role,
                                       const RoleOperation& operation, ActivityRef sent) {
    const MessageTime time = in_.times->message(rank, role, operation);
    out_.workload.streams[sent.stream].operations[sent.index].duration = time.sending;
    Activity flight = computation(time.latency);
    flight.after = {sent};
    const auto stream = static_cast<std::uint32_t>(out_.workload.streams.size());
    out_.workload.streams.push_back({in_.endpoint(rank), "flight", {std::move(flight)}});
    return {stream, 0};
  }

  // Dependencies, once every operation has its place.

  void link(std::size_t index) {
    const int rank = in_.ranks[index];
    const RoleProgram& role = role_of(rank);
    const std::vector<ActivityRef>& places = places_[index];
    for (std::size_t i = 0; i < role.operations.size(); ++i) {
      const ActivityRef begin = begins_[index][i];
      Activity& activity = out_.workload.streams[begin.stream].operations[begin.index];
      activity.after.reserve(role.operations[i].after.size() + 1);
      issue(activity, costs_[role.role].issued[i], begin.stream, places);
      for (const std::uint32_t after : role.operations[i].after) {
        activity.after.push_back(places[after]);
      }
      if (in_.times == nullptr || role.operations[i].operation->kind != Kind::receive) continue;
      const auto sent = sends_.find(message_key(rank, role, role.operations[i]));
      if (sent == sends_.end()) {
        throw InternalError{fmt::format("{} of rank {}: no sender",
                                        role.name(static_cast<std::uint32_t>(i)), rank)};
      }
      activity.after.push_back(sent->second);
    }
  }

  const LoweringInput& in_;
  LoweredProgram out_;
  std::vector<std::vector<ActivityRef>> places_;  // per rank and operation, where it ends
  std::vector<std::vector<ActivityRef>> begins_;  // likewise
  std::map<int, std::size_t> index_;
  double speed_ = 1;                                     // of the rank being added
  std::vector<std::uint32_t> stream_of_;                 // likewise
  std::map<std::vector<int>, std::size_t> call_counts_;  // likewise: calls per group
  std::unordered_map<const Operation*, RankCommunication> communications_;  // likewise
  std::map<std::vector<int>, std::vector<std::uint32_t>> calls_;            // per group
  std::vector<RoleCosts> costs_;                                            // of the roles so far
  CallOrder order_;
  std::map<TensorInstance, std::uint32_t> tags_;
  std::map<MessageKey, ActivityRef> sends_;
};

}  // namespace

Bytes message_of(const RoleProgram& role, const RoleOperation& operation) {
  const auto total = [&](const IndexList& instances) {
    Bytes sum;
    for (const std::uint32_t instance : instances) {
      sum += local_bytes(role.program->mesh, role.tensor(instance));
    }
    return sum;
  };
  return std::max(total(operation.reads), total(operation.writes));
}

LoweredProgram lower_program(const LoweringInput& input) {
  return input.fold != nullptr ? lower_folded(input) : Lowerer{input}.run();
}

}  // namespace lockstep
