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
  players_.reserve(static_cast<std::size_t>(all));
  for (int rank = 0; rank < all; ++rank) add_player(rank);
  plan_messages();
}

void ExecutionState::add_player(int rank) {
  Player& player = players_.emplace_back();
  player.rank = rank;
  player.role = &roles_[role_played(program_, rank)];
  player.streams.resize(program_.streams.size());
  for (std::uint32_t i = 0; i < player.role->operations.size(); ++i) {
    player.streams[player.operation(i).operation->stream].push_back(i);
  }
  plan_meetings(player);
}

void ExecutionState::plan_meetings(Player& player) {
  player.meetings.assign(player.role->operations.size(), nullptr);
  std::map<std::vector<int>, std::size_t> met;
  for (std::uint32_t i = 0; i < player.role->operations.size(); ++i) {
    if (player.kind(i) != OperationKind::collective) continue;
    const Communication& how = *player.operation(i).operation->communication;
    check_members(program_, player.rank, how, who(player, i));
    Communicator with = communicator_of(program_, player.rank, how);
    const std::size_t count = met[with.members]++;
    std::unique_ptr<CollectiveInstance>& meeting = meetings_[{with.members, count}];
    if (meeting == nullptr) {
      meeting = std::make_unique<CollectiveInstance>();
      meeting->root = with.root;
      meeting->operations.assign(with.members.size(), kNoOperation);
      meeting->members = std::move(with.members);
    }
    meeting->operations[meeting->place_of(player.rank)] = i;
    player.meetings[i] = meeting.get();
  }
}

void ExecutionState::begin_step() {
  ended_ = 0;
  for (auto& [key, meeting] : meetings_) {
    meeting->here.assign(meeting->members.size(), false);
    meeting->come = 0;
  }
  for (auto& [key, connection] : connections_) connection.waiting.clear();
  for (const auto& message : messages_) {
    message->sent = false;
    message->payload = nullptr;
  }
  for (Player& player : players_) {
    const std::size_t operations = player.role->operations.size();
    player.next.assign(player.streams.size(), 0);
    player.begun.assign(operations, false);
    player.done.assign(operations, false);
    player.ended_as.assign(operations, 0);
  }
}

void ExecutionState::end(Player& player, std::uint32_t index) {
  player.done[index] = true;
  player.ended_as[index] = ++ended_;
}

std::string ExecutionState::name_of(int rank) const {
  const int ranks = program_.mesh.ranks();
  return rank < ranks ? fmt::format("rank {}", rank) : fmt::format("host {}", rank - ranks);
}

std::string ExecutionState::who(const Player& player, std::uint32_t index) const {
  return fmt::format("{}: {}", name_of(player.rank), player.role->name(index));
}

std::int64_t ExecutionState::operations() const {
  std::int64_t sum = 0;
  for (const Player& player : players_) sum += std::ssize(player.role->operations);
  return sum;
}

}  // namespace lockstep::execution
