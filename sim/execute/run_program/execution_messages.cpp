#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/program/execution_state.hpp"
#include "sim/program/communicator.hpp"

/// Which receive takes what a send sends, and the connections that messages wait on.
namespace lockstep::execution {

namespace {

void check_axes(const Program& program, const Communication& how, const std::string& who) {
  for (const AtomId atom : how.over) {
    if (atom < program.mesh.atoms().size()) continue;
    throw ExecutionError{fmt::format("{} is over axis {}; the mesh has {}", who, int{atom},
                                     program.mesh.atoms().size())};
  }
}

void check_only(const Program& program, const Communication& how, const std::string& who) {
  const int size = program.mesh.size(how.over);
  for (const int position : how.only) {
    if (position >= 0 && position < size) continue;
    throw ExecutionError{fmt::format("{} is with position {} along {}, which has {}", who, position,
                                     program.mesh.name(how.over), size)};
  }
}

/// Whether who calls it is a member.
[[nodiscard]] bool takes_part(const Program& program, int rank, const Communication& how) {
  const int ranks = program.mesh.ranks();
  if (rank >= ranks) return how.host && *how.host == rank - ranks;
  const int own = program.mesh.coordinate(rank, how.over);
  return how.only.empty() || std::find(how.only.begin(), how.only.end(), own) != how.only.end();
}

}  // namespace

void check_members(const Program& program, int rank, const Communication& how,
                   const std::string& who) {
  check_axes(program, how, who);
  check_only(program, how, who);
  const int hosts = hosts_of(program);
  if (how.host && (*how.host < 0 || *how.host >= hosts)) {
    throw ExecutionError{
        fmt::format("{} is with host {}; the program has {}", who, *how.host, hosts)};
  }
  if (!takes_part(program, rank, how)) {
    throw ExecutionError{fmt::format("{} is among others; its own rank is no member", who)};
  }
  const int members =
      how.only.empty() ? program.mesh.size(how.over) : static_cast<int>(how.only.size());
  if (how.host || (how.root >= 0 && how.root < members)) return;
  throw ExecutionError{fmt::format("{} has member {} of {} as its root", who, how.root, members)};
}

int peer_of(const Program& program, int rank, const Communication& how, const std::string& who) {
  check_axes(program, how, who);
  if (rank >= program.mesh.ranks()) {
    throw ExecutionError{fmt::format("{}: hosts take part in collectives alone", who)};
  }
  const int size = program.mesh.size(how.over);
  const int position = (program.mesh.coordinate(rank, how.over) + how.offset) % size;
  return program.mesh.moved(rank, how.over, (position + size) % size);
}

/// The kth send of a tensor from one rank to another belongs to the kth receive of it.
void ExecutionState::plan_messages() {
  std::map<MessageKey, std::vector<PlannedMessage*>> known;
  for (Player& player : players_) {
    player.messages.assign(player.role->operations.size(), nullptr);
    for (std::uint32_t i = 0; i < player.role->operations.size(); ++i) {
      const OperationKind kind = player.kind(i);
      if (kind != OperationKind::send && kind != OperationKind::receive) continue;
      plan_message(player, i, known);
    }
  }
  for (const auto& message : messages_) {
    if (message->send != kNoOperation) message->connection = &connection(*message);
  }
}

void ExecutionState::plan_message(Player& player, std::uint32_t index,
                                  std::map<MessageKey, std::vector<PlannedMessage*>>& known) {
  const RoleOperation& what = player.operation(index);
  const bool sends = player.kind(index) == OperationKind::send;
  const int peer =
      peer_of(program_, player.rank, *what.operation->communication, who(player, index));
  const int from = sends ? player.rank : peer;
  const int to = sends ? peer : player.rank;
  const TensorInstance& tensor = player.role->instances[sends ? what.reads[0] : what.writes[0]];
  std::vector<PlannedMessage*>& all = known[{from, to, tensor}];
  const auto open = std::find_if(all.begin(), all.end(), [&](const PlannedMessage* message) {
    return (sends ? message->send : message->receive) == kNoOperation;
  });
  PlannedMessage* message = open == all.end() ? nullptr : *open;
  if (message == nullptr) {
    messages_.push_back(std::make_unique<PlannedMessage>());
    message = messages_.back().get();
    message->from = from;
    message->to = to;
    message->what = tensor;
    all.push_back(message);
  }
  (sends ? message->send : message->receive) = index;
  player.messages[index] = message;
}

Connection& ExecutionState::connection(const PlannedMessage& message) {
  const auto stream_of = [&](int rank, std::uint32_t operation) {
    return int{player(rank).operation(operation).operation->stream};
  };
  constexpr int kNobody = -1;  // receives it
  const int taken_by =
      message.receive == kNoOperation ? kNobody : stream_of(message.to, message.receive);
  return connections_[{message.from, message.to, stream_of(message.from, message.send), taken_by}];
}

bool ExecutionState::has_room(const PlannedMessage& message) const {
  return slots_ == 0 || message.connection->waiting.size() < slots_;
}

void ExecutionState::put(PlannedMessage& message, std::shared_ptr<const void> payload) {
  message.sent = true;
  message.payload = std::move(payload);
  message.connection->waiting.push_back(&message);
}

bool ExecutionState::comes_next(const PlannedMessage& message) const {
  if (!message.sent) return false;
  return slots_ == 0 || message.connection->waiting.front() == &message;
}

std::shared_ptr<const void> ExecutionState::take(PlannedMessage& message) {
  std::deque<PlannedMessage*>& waiting = message.connection->waiting;
  waiting.erase(std::find(waiting.begin(), waiting.end(), &message));
  return std::move(message.payload);
}

}  // namespace lockstep::execution
