#include "sim/execute/program/exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/random_bits.hpp"
#include "sim/execute/program/scheduled_exchange.hpp"

namespace lockstep::execution {

template <class Real>
Exchanges<Real>::Exchanges(ExecutionState& state, const ExecutionOptions& options,
                           ValueStore<Real>& values, bool all_at_once)
    : state_{state},
      options_{options},
      values_{values},
      all_at_once_{all_at_once},
      draws_{options.order_seed} {}

template <class Real>
void Exchanges<Real>::begin(const Player& player, std::uint32_t operation) {
  const OperationKind kind = player.kind(operation);
  if (kind == OperationKind::collective) come(player, operation);
  if (kind != OperationKind::send) return;
  const std::uint32_t sent = player.operation(operation).reads[0];
  state_.put(*player.messages[operation],
             std::make_shared<const std::vector<Real>>(values_.read(player, operation, sent)));
}

template <class Real>
bool Exchanges<Real>::end(const Player& player, std::uint32_t operation) {
  switch (player.kind(operation)) {
    case OperationKind::collective:
      return leave(player, operation);
    case OperationKind::receive:
      return receive(player, operation);
    default:
      return true;
  }
}

// Collectives.

template <class Real>
const RoleOperation& Exchanges<Real>::operation_of(const CollectiveInstance& meeting,
                                                   std::size_t member) const {
  return state_.player(meeting.members[member]).operation(meeting.operations[member]);
}

template <class Real>
std::string Exchanges<Real>::who(const CollectiveInstance& meeting, std::size_t member) const {
  return state_.who(state_.player(meeting.members[member]), meeting.operations[member]);
}

template <class Real>
void Exchanges<Real>::come(const Player& player, std::uint32_t operation) {
  CollectiveInstance& meeting = *player.meetings[operation];
  Gathering& gathering = gatherings_[&meeting];
  gathering.brought.resize(meeting.members.size());
  const std::size_t own = meeting.place_of(player.rank);
  for (const std::uint32_t read : player.operation(operation).reads) {
    gathering.brought[own].push_back(values_.read(player, operation, read));
  }
  meeting.here[own] = true;
  ++meeting.come;
}

template <class Real>
bool Exchanges<Real>::leave(const Player& player, std::uint32_t operation) {
  const CollectiveInstance& meeting = *player.meetings[operation];
  const Communication& how = *player.operation(operation).operation->communication;
  const std::size_t own = meeting.place_of(player.rank);
  if (!meeting.complete() && (all_at_once_ || !has_sources(meeting, how, own))) return false;
  Gathering& gathering = gatherings_[&meeting];
  if (meeting.complete()) {
    if (!gathering.held) hold(meeting, gathering);
    take(player, operation, gathering.results, own);
  } else {
    Parts parts = parts_of(meeting, gathering);
    for (auto& tensor : parts) exchange_early(how, meeting.root, tensor, own);
    take(player, operation, parts, own);
  }
  if (++gathering.left == meeting.members.size()) gatherings_.erase(&meeting);
  return true;
}

template <class Real>
bool Exchanges<Real>::has_sources(const CollectiveInstance& meeting, const Communication& how,
                                  std::size_t member) const {
  for (std::size_t k = 0; k < meeting.members.size(); ++k) {
    const bool needed = gets_from(how, meeting.root, meeting.members.size(), member, k);
    if (needed && !meeting.here[k]) return false;
  }
  return true;
}

/// Everyone has come: what they bring is exchanged.
template <class Real>
void Exchanges<Real>::hold(const CollectiveInstance& meeting, Gathering& gathering) {
  check_agreement(meeting);
  gathering.results = parts_of(meeting, gathering);
  gathering.held = true;
  try {
    exchange_all(meeting, gathering.results);
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{} with {} others: {}", who(meeting, 0),
                                     meeting.members.size() - 1, error.what())};
  }
}

template <class Real>
std::shared_ptr<const Schedule> Exchanges<Real>::schedule_of(
    const CollectiveInstance& meeting) const {
  return options_.schedule_of(*state_.player(meeting.members.front()).role,
                              operation_of(meeting, 0), meeting.members, meeting.root);
}

template <class Real>
void Exchanges<Real>::exchange_all(const CollectiveInstance& meeting, Parts& parts) {
  const Communication& how = *operation_of(meeting, 0).operation->communication;
  for (const auto& tensor : parts) check_order(how, tensor);
  const auto schedule =
      options_.schedule_of && meeting.members.size() > 1 ? schedule_of(meeting) : nullptr;
  if (schedule != nullptr) {
    draws_ = mixed(draws_, meeting.members.size());
    exchange_by(*schedule, how, draws_, parts);
  } else {
    for (auto& tensor : parts) exchange(how, meeting.root, tensor);
  }
}

/// All call the same collective.
template <class Real>
void Exchanges<Real>::check_agreement(const CollectiveInstance& meeting) const {
  const Communication& how = *operation_of(meeting, 0).operation->communication;
  for (std::size_t k = 1; k < meeting.members.size(); ++k) {
    const Communication& other = *operation_of(meeting, k).operation->communication;
    if (other.collective == how.collective && other.reduction == how.reduction &&
        other.cut == how.cut && other.joined == how.joined) {
      continue;
    }
    throw ExecutionError{fmt::format("{} meets {}", who(meeting, 0), who(meeting, k))};
  }
}

/// What each member that has come brings and takes.
template <class Real>
auto Exchanges<Real>::parts_of(const CollectiveInstance& meeting, Gathering& gathering) -> Parts {
  std::size_t tensors = 0;
  for (std::size_t k = 0; k < meeting.members.size(); ++k) {
    if (!meeting.here[k]) continue;
    const RoleOperation& what = operation_of(meeting, k);
    tensors = std::max({tensors, what.reads.size(), what.writes.size()});
  }
  Parts out(tensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    for (std::size_t k = 0; k < meeting.members.size(); ++k) {
      ExchangePart<Real>& part = out[i].emplace_back();
      if (!meeting.here[k]) continue;
      const Player& player = state_.player(meeting.members[k]);
      const std::uint32_t operation = meeting.operations[k];
      const RoleOperation& what = player.operation(operation);
      if (i < what.reads.size()) {
        part.from = &values_.layout(player, operation, what.reads[i]);
        part.brought = &gathering.brought[k][i];
      }
      if (i < what.writes.size()) {
        part.to = &values_.layout(player, operation, what.writes[i]);
        part.got.assign(static_cast<std::size_t>(part.to->elements()), 0);
      }
    }
  }
  return out;
}

template <class Real>
void Exchanges<Real>::take(const Player& player, std::uint32_t operation, Parts& parts,
                           std::size_t member) {
  const RoleOperation& what = player.operation(operation);
  for (std::size_t i = 0; i < what.writes.size(); ++i) {
    values_.store(player, operation, what.writes[i], std::move(parts[i][member].got),
                  what.operation->accumulate);
  }
}

// Messages.

template <class Real>
bool Exchanges<Real>::receive(const Player& player, std::uint32_t operation) {
  PlannedMessage& message = *player.messages[operation];
  if (!state_.comes_next(message)) return false;
  const auto payload = std::static_pointer_cast<const std::vector<Real>>(state_.take(message));
  const std::uint32_t to = player.operation(operation).writes[0];
  const std::int64_t wanted = values_.layout(player, operation, to).elements();
  if (std::ssize(*payload) != wanted) {
    throw ExecutionError{fmt::format("{} gets {} values where {} belong",
                                     state_.who(player, operation), payload->size(), wanted)};
  }
  values_.store(player, operation, to, *payload, false);
  return true;
}

template class Exchanges<float>;
template class Exchanges<double>;

}  // namespace lockstep::execution
