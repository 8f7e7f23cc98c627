#include "sim/execute/program/execution_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/program/communicator.hpp"

namespace lockstep::execution {

std::size_t CollectiveInstance::place_of(int rank) const {
  return static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) -
                                  members.begin());
}

ExecutionState::ExecutionState(const Program& program, std::vector<RoleProgram> roles,
                               int queue_slots)
    : program_{program}, roles_{std::move(roles)}, slots_{static_cast<std::size_t>(queue_slots)} {
  LOCKSTEP_CHECK(queue_slots >= 0);
  const int all = program.mesh.ranks() + hosts_of(program);
  cursors_.reserve(static_cast<std::size_t>(all));
  for (int rank = 0; rank < all; ++rank) add_cursor(rank);
  create_messages();
}

void ExecutionState::add_cursor(int rank) {
  RankCursor& cursor = cursors_.emplace_back();
  cursor.rank = rank;
  cursor.role = &roles_[role_played(program_, rank)];
  cursor.streams.resize(program_.streams.size());
  for (std::uint32_t i = 0; i < cursor.role->operations.size(); ++i) {
    cursor.streams[cursor.operation(i).operation->stream].push_back(i);
  }
  create_instances(cursor);
}

void ExecutionState::create_instances(RankCursor& cursor) {
  cursor.collective_instances.assign(cursor.role->operations.size(), nullptr);
  std::map<std::vector<int>, std::size_t> met;
  for (std::uint32_t i = 0; i < cursor.role->operations.size(); ++i) {
    if (cursor.kind(i) != OperationKind::collective) continue;
    const Communication& how = *cursor.operation(i).operation->communication;
    check_members(program_, cursor.rank, how, who(cursor, i));
    Communicator with = communicator_of(program_, cursor.rank, how);
    const std::size_t count = met[with.members]++;
    std::unique_ptr<CollectiveInstance>& collective_instance =
        collective_instances_[{with.members, count}];
    if (collective_instance == nullptr) {
      collective_instance = std::make_unique<CollectiveInstance>();
      collective_instance->root = with.root;
      collective_instance->operations.assign(with.members.size(), kNoOperation);
      collective_instance->members = std::move(with.members);
    }
    collective_instance->operations[collective_instance->place_of(cursor.rank)] = i;
    cursor.collective_instances[i] = collective_instance.get();
  }
}

void ExecutionState::begin_step() {
  ended_ = 0;
  for (auto& [key, collective_instance] : collective_instances_) {
    collective_instance->here.assign(collective_instance->members.size(), false);
    collective_instance->come = 0;
  }
  for (auto& [key, connection] : connections_) connection.waiting.clear();
  for (const auto& message : messages_) {
    message->sent = false;
    message->payload = nullptr;
  }
  for (RankCursor& cursor : cursors_) {
    const std::size_t operations = cursor.role->operations.size();
    cursor.next.assign(cursor.streams.size(), 0);
    cursor.begun.assign(operations, false);
    cursor.done.assign(operations, false);
    cursor.ended_as.assign(operations, 0);
  }
}

void ExecutionState::end(RankCursor& cursor, std::uint32_t index) {
  cursor.done[index] = true;
  cursor.ended_as[index] = ++ended_;
}

std::string ExecutionState::name_of(int rank) const {
  const int ranks = program_.mesh.ranks();
  return rank < ranks ? fmt::format("rank {}", rank) : fmt::format("host {}", rank - ranks);
}

std::string ExecutionState::who(const RankCursor& cursor, std::uint32_t index) const {
  return fmt::format("{}: {}", name_of(cursor.rank), cursor.role->name(index));
}

std::int64_t ExecutionState::operations() const {
  std::int64_t sum = 0;
  for (const RankCursor& cursor : cursors_) sum += std::ssize(cursor.role->operations);
  return sum;
}

}  // namespace lockstep::execution
