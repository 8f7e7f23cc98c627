#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/host/kernels/random_bits.hpp"
#include "sim/execute/host/program/program_player.hpp"
#include "sim/execute/host/program/scheduled_exchange.hpp"

/// How ranks of an execution meet in collectives, and send and receive.
namespace lockstep {

void ProgramExecution::arrive(Player& player, std::uint32_t index) {
  Meeting& meeting = *player.meetings[index];
  const auto own = std::find(meeting.members.begin(), meeting.members.end(), player.rank) -
                   meeting.members.begin();
  Meeting::Guest& guest = meeting.guests[static_cast<std::size_t>(own)];
  guest = {&player, index};
  player.arrived[index] = true;
  if (++meeting.come == meeting.members.size()) hold(meeting);
}

/// Everyone has come: what they bring is exchanged, and they may go on.
void ProgramExecution::hold(Meeting& meeting) {
  const Meeting::Guest& first = meeting.guests.front();
  const Communication& how = *first.player->operation(first.operation).operation->communication;
  check_agreement(meeting);
  std::vector<std::vector<ExchangePart>> tensors = parts_of(meeting);
  try {
    for (const std::vector<ExchangePart>& parts : tensors) check_order(how, parts);
    const auto members = static_cast<int>(meeting.members.size());
    const auto schedule = options_.schedule_of && members > 1
                              ? options_.schedule_of(how, members, meeting.root)
                              : nullptr;
    if (schedule != nullptr) {
      draws_ = mixed(draws_, meeting.members.size());
      exchange_by(*schedule, how, draws_, tensors);
    } else {
      for (std::vector<ExchangePart>& parts : tensors) exchange(how, meeting.root, parts);
    }
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{} with {} others: {}", who(*first.player, first.operation),
                                     meeting.members.size() - 1, error.what())};
  }
  for (std::size_t k = 0; k < meeting.guests.size(); ++k) {
    const Meeting::Guest& guest = meeting.guests[k];
    const RoleOperation& what = guest.player->operation(guest.operation);
    for (std::size_t i = 0; i < what.writes.size(); ++i) {
      store(*guest.player, guest.operation, what.writes[i], std::move(tensors[i][k].got),
            what.operation->accumulate);
    }
    guest.player->done[guest.operation] = true;
  }
}

/// All call the same collective.
void ProgramExecution::check_agreement(const Meeting& meeting) const {
  const Meeting::Guest& first = meeting.guests.front();
  const Communication& how = *first.player->operation(first.operation).operation->communication;
  for (const Meeting::Guest& guest : meeting.guests) {
    const Communication& other = *guest.player->operation(guest.operation).operation->communication;
    if (other.collective == how.collective && other.reduction == how.reduction &&
        other.cut == how.cut && other.joined == how.joined) {
      continue;
    }
    throw ExecutionError{fmt::format("{} meets {}", who(*first.player, first.operation),
                                     who(*guest.player, guest.operation))};
  }
}

/// Per tensor and member what is brought and taken.
std::vector<std::vector<ExchangePart>> ProgramExecution::parts_of(const Meeting& meeting) {
  std::size_t tensors = 0;
  for (const Meeting::Guest& guest : meeting.guests) {
    const RoleOperation& what = guest.player->operation(guest.operation);
    tensors = std::max({tensors, what.reads.size(), what.writes.size()});
  }
  std::vector<std::vector<ExchangePart>> out(tensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    for (const Meeting::Guest& guest : meeting.guests) {
      const RoleOperation& what = guest.player->operation(guest.operation);
      ExchangePart part;
      if (i < what.reads.size()) {
        part.from = &layout(*guest.player, guest.operation, what.reads[i]);
        part.brought = &value(*guest.player, guest.operation, what.reads[i]);
      }
      if (i < what.writes.size()) {
        part.to = &layout(*guest.player, guest.operation, what.writes[i]);
        part.got.assign(static_cast<std::size_t>(part.to->elements()), 0.0);
      }
      out[i].push_back(std::move(part));
    }
  }
  return out;
}

ProgramExecution::MessageKey ProgramExecution::message_key(const Player& player,
                                                           std::uint32_t index) const {
  const RoleOperation& what = player.operation(index);
  const Communication& how = *what.operation->communication;
  const int size = program_.mesh.size(how.over);
  const int own = program_.mesh.coordinate(player.rank, how.over);
  const int peer = program_.mesh.moved(player.rank, how.over, (own + how.offset + size) % size);
  const bool sends = what.operation->kind == OperationKind::send;
  const TensorInstance& tensor = player.role->instances[sends ? what.reads[0] : what.writes[0]];
  return {sends ? player.rank : peer, sends ? peer : player.rank, tensor};
}

void ProgramExecution::send(Player& player, std::uint32_t index) {
  messages_[message_key(player, index)].push_back(
      value(player, index, player.operation(index).reads[0]));
}

bool ProgramExecution::receive(Player& player, std::uint32_t index) {
  std::deque<std::vector<double>>& queue = messages_[message_key(player, index)];
  if (queue.empty()) return false;
  const std::uint32_t to = player.operation(index).writes[0];
  const std::int64_t wanted = layout(player, index, to).elements();
  if (static_cast<std::int64_t>(queue.front().size()) != wanted) {
    throw ExecutionError{fmt::format("{} gets {} values where {} belong", who(player, index),
                                     queue.front().size(), wanted)};
  }
  store(player, index, to, std::move(queue.front()), false);
  queue.pop_front();
  return true;
}

}  // namespace lockstep
