#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/host/program/program_player.hpp"

/// What an execution has to tell: its loss, its weights, and why it cannot go on.
namespace lockstep {

namespace {

constexpr std::size_t kMostBlockedShown = 12;
/// Replicas of the loss may differ by rounding.
constexpr double kSameLoss = 1e-9;

}  // namespace

/// The weight that a tensor is, or is a copy of.
const Tensor& original(const Program& program, const Tensor& tensor) {
  const Tensor* out = &tensor;
  while (out->copy_of) out = &program.tensors[*out->copy_of];
  return *out;
}

bool is_weight(const Program& program, const Tensor& tensor) {
  return original(program, tensor).category == Category::weight &&
         (tensor.copy_of || tensor.category == Category::weight);
}

/// A sum over microbatches and over the ranks that have summands; whoever has it has the same.
double ProgramExecution::loss() const {
  std::map<std::vector<int>, double> found;  // per set of ranks that have it together
  for (const auto& player : players_) {
    for (const RoleOperation& what : player->role->operations) {
      if (what.operation->kind != OperationKind::loss) continue;
      const Tensor& tensor = player->role->tensor(what.writes[0]);
      found[program_.mesh.members(player->rank, tensor.partial)] +=
          player->values[what.writes[0]].at(0);
    }
  }
  if (found.empty()) throw ExecutionError{"no rank computes a loss"};
  const double out = found.begin()->second;
  for (const auto& [ranks, value] : found) {
    if (std::abs(value - out) <= kSameLoss * std::abs(out)) continue;
    throw ExecutionError{
        fmt::format("ranks from {} on have a loss of {}, those from {} on one of {}",
                    found.begin()->first.front(), out, ranks.front(), value)};
  }
  return out;
}

std::vector<HeldWeight> ProgramExecution::weights() {
  std::vector<HeldWeight> out;
  for (const auto& player : players_) {
    for (std::uint32_t i = 0; i < player->values.size(); ++i) {
      const Tensor& tensor = player->role->tensor(i);
      if (!player->kept[i] || !player->read_first[i] || !is_weight(program_, tensor)) continue;
      const TensorInstance& instance = player->role->instances[i];
      out.push_back({player->rank, original(program_, tensor).name, tensor.name, instance.position,
                     &layouts_.of(instance.tensor, player->rank), &player->values[i]});
    }
  }
  return out;
}

std::string ProgramExecution::who(const Player& player, std::uint32_t index) const {
  const bool host = player.rank >= program_.mesh.ranks();
  return fmt::format("{} {}: {}", host ? "host" : "rank",
                     host ? player.rank - program_.mesh.ranks() : player.rank,
                     player.role->name(index));
}

std::string ProgramExecution::waits_for(const Player& player, std::uint32_t index) const {
  for (const std::uint32_t before : player.operation(index).after) {
    if (!player.done[before]) return "its own " + player.role->name(before);
  }
  const Operation& operation = *player.operation(index).operation;
  if (operation.kind == OperationKind::receive) {
    return fmt::format("a message from rank {}", std::get<0>(message_key(player, index)));
  }
  if (operation.kind != OperationKind::collective) return "nothing";
  const Meeting& meeting = *player.meetings[index];
  std::string out = "ranks";
  for (std::size_t i = 0; i < meeting.members.size(); ++i) {
    if (meeting.guests[i].player == nullptr) out += fmt::format(" {}", meeting.members[i]);
  }
  return out;
}

void ProgramExecution::stuck() const {
  std::string text = "the execution cannot go on:";
  std::size_t shown = 0;
  for (const auto& player : players_) {
    for (std::size_t stream = 0; stream < player->streams.size(); ++stream) {
      if (player->next[stream] == player->streams[stream].size()) continue;
      if (++shown > kMostBlockedShown) continue;
      const std::uint32_t index = player->streams[stream][player->next[stream]];
      text += fmt::format("\n  {} (stream {}) waits for {}", who(*player, index),
                          program_.streams[stream], waits_for(*player, index));
    }
  }
  if (shown > kMostBlockedShown) text += fmt::format("\n  and {} more", shown - kMostBlockedShown);
  throw ExecutionError{text};
}

}  // namespace lockstep
