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
  for (const int position : how.participants) {
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
  return how.participants.empty() ||
         std::find(how.participants.begin(), how.participants.end(), own) != how.participants.end();
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
  const int members = how.participants.empty() ? program.mesh.size(how.over)
                                               : static_cast<int>(how.participants.size());
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
void ExecutionState::create_messages() {
  std::map<MessageKey, std::vector<ExpectedMessage*>> known;
  for (RankCursor& cursor : cursors_) {
    cursor.messages.assign(cursor.role->operations.size(), nullptr);
    for (std::uint32_t i = 0; i < cursor.role->operations.size(); ++i) {
      const OperationKind kind = cursor.kind(i);
      if (kind != OperationKind::send && kind != OperationKind::receive) continue;
      create_message(cursor, i, known);
    }
  }
  for (const auto& message : messages_) {
    if (message->send != kNoOperation) message->connection = &connection(*message);
  }
}

void ExecutionState::create_message(RankCursor& cursor, std::uint32_t index,
                                    std::map<MessageKey, std::vector<ExpectedMessage*>>& known) {
  const RoleOperation& what = cursor.operation(index);
  const bool sends = cursor.kind(index) == OperationKind::send;
  const int peer =
      peer_of(program_, cursor.rank, *what.operation->communication, who(cursor, index));
  const int from = sends ? cursor.rank : peer;
  const int to = sends ? peer : cursor.rank;
  const TensorInstance& tensor = cursor.role->instances[carried(what)];
  std::vector<ExpectedMessage*>& all = known[{from, to, tensor}];
  const auto open = std::find_if(all.begin(), all.end(), [&](const ExpectedMessage* message) {
    return (sends ? message->send : message->receive) == kNoOperation;
  });
  ExpectedMessage* message = open == all.end() ? nullptr : *open;
  if (message == nullptr) {
    messages_.push_back(std::make_unique<ExpectedMessage>());
    message = messages_.back().get();
    message->from = from;
    message->to = to;
    message->what = tensor;
    all.push_back(message);
  }
  (sends ? message->send : message->receive) = index;
  cursor.messages[index] = message;
}

Connection& ExecutionState::connection(const ExpectedMessage& message) {
  const auto stream_of = [&](int rank, std::uint32_t operation) {
    return int{cursor(rank).operation(operation).operation->stream};
  };
  constexpr int kNobody = -1;  // receives it
  const int taken_by =
      message.receive == kNoOperation ? kNobody : stream_of(message.to, message.receive);
  return connections_[{message.from, message.to, stream_of(message.from, message.send), taken_by}];
}

bool ExecutionState::has_room(const ExpectedMessage& message) const {
  return slots_ == 0 || message.connection->waiting.size() < slots_;
}

void ExecutionState::put(ExpectedMessage& message, std::shared_ptr<const void> payload) {
  message.sent = true;
  message.payload = std::move(payload);
  message.connection->waiting.push_back(&message);
}

bool ExecutionState::comes_next(const ExpectedMessage& message) const {
  if (!message.sent) return false;
  return slots_ == 0 || message.connection->waiting.front() == &message;
}

std::shared_ptr<const void> ExecutionState::take(ExpectedMessage& message) {
  std::deque<ExpectedMessage*>& waiting = message.connection->waiting;
  waiting.erase(std::find(waiting.begin(), waiting.end(), &message));
  return std::move(message.payload);
}

}  // namespace lockstep::execution
