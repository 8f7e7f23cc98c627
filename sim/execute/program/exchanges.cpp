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
void Exchanges<Real>::begin(const RankCursor& cursor, std::uint32_t operation) {
  const OperationKind kind = cursor.kind(operation);
  if (kind == OperationKind::collective) come(cursor, operation);
  if (kind != OperationKind::send) return;
  const std::uint32_t sent = carried(cursor.operation(operation));
  state_.put(*cursor.messages[operation],
             std::make_shared<const std::vector<Real>>(values_.read(cursor, operation, sent)));
}

template <class Real>
bool Exchanges<Real>::end(const RankCursor& cursor, std::uint32_t operation) {
  switch (cursor.kind(operation)) {
    case OperationKind::collective:
      return leave(cursor, operation);
    case OperationKind::receive:
      return receive(cursor, operation);
    default:
      return true;
  }
}

// Collectives.

template <class Real>
const RoleOperation& Exchanges<Real>::operation_of(const CollectiveInstance& collective_instance,
                                                   std::size_t member) const {
  return state_.cursor(collective_instance.members[member])
      .operation(collective_instance.operations[member]);
}

template <class Real>
std::string Exchanges<Real>::who(const CollectiveInstance& collective_instance,
                                 std::size_t member) const {
  return state_.who(state_.cursor(collective_instance.members[member]),
                    collective_instance.operations[member]);
}

template <class Real>
void Exchanges<Real>::come(const RankCursor& cursor, std::uint32_t operation) {
  CollectiveInstance& collective_instance = *cursor.collective_instances[operation];
  Gathering& gathering = gatherings_[&collective_instance];
  gathering.brought.resize(collective_instance.members.size());
  const std::size_t own = collective_instance.place_of(cursor.rank);
  for (const std::uint32_t read : cursor.operation(operation).reads) {
    gathering.brought[own].push_back(values_.read(cursor, operation, read));
  }
  collective_instance.here[own] = true;
  ++collective_instance.come;
}

template <class Real>
bool Exchanges<Real>::leave(const RankCursor& cursor, std::uint32_t operation) {
  const CollectiveInstance& collective_instance = *cursor.collective_instances[operation];
  const Communication& how = *cursor.operation(operation).operation->communication;
  const std::size_t own = collective_instance.place_of(cursor.rank);
  if (!collective_instance.complete() &&
      (all_at_once_ || !has_sources(collective_instance, how, own)))
    return false;
  Gathering& gathering = gatherings_[&collective_instance];
  if (collective_instance.complete()) {
    if (!gathering.held) hold(collective_instance, gathering);
    take(cursor, operation, gathering.results, own);
  } else {
    Parts parts = parts_of(collective_instance, gathering);
    for (auto& tensor : parts) exchange_early(how, collective_instance.root, tensor, own);
    take(cursor, operation, parts, own);
  }
  if (++gathering.left == collective_instance.members.size())
    gatherings_.erase(&collective_instance);
  return true;
}

template <class Real>
bool Exchanges<Real>::has_sources(const CollectiveInstance& collective_instance,
                                  const Communication& how, std::size_t member) const {
  for (std::size_t k = 0; k < collective_instance.members.size(); ++k) {
    const bool needed =
        receives_from(how, collective_instance.root, collective_instance.members.size(), member, k);
    if (needed && !collective_instance.here[k]) return false;
  }
  return true;
}

/// Everyone has come: what they bring is exchanged.
template <class Real>
void Exchanges<Real>::hold(const CollectiveInstance& collective_instance, Gathering& gathering) {
  check_agreement(collective_instance);
  gathering.results = parts_of(collective_instance, gathering);
  gathering.held = true;
  try {
    exchange_all(collective_instance, gathering.results);
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{} with {} others: {}", who(collective_instance, 0),
                                     collective_instance.members.size() - 1, error.what())};
  }
}

template <class Real>
std::shared_ptr<const Schedule> Exchanges<Real>::schedule_of(
    const CollectiveInstance& collective_instance) const {
  return options_.schedule_of(*state_.cursor(collective_instance.members.front()).role,
                              operation_of(collective_instance, 0), collective_instance.members,
                              collective_instance.root);
}

template <class Real>
void Exchanges<Real>::exchange_all(const CollectiveInstance& collective_instance, Parts& parts) {
  const Communication& how = *operation_of(collective_instance, 0).operation->communication;
  for (const auto& tensor : parts) check_order(how, tensor);
  const auto schedule = options_.schedule_of && collective_instance.members.size() > 1
                            ? schedule_of(collective_instance)
                            : nullptr;
  if (schedule != nullptr) {
    draws_ = mixed(draws_, collective_instance.members.size());
    exchange_by(*schedule, how, draws_, parts);
  } else {
    for (auto& tensor : parts) exchange(how, collective_instance.root, tensor);
  }
}

/// All call the same collective.
template <class Real>
void Exchanges<Real>::check_agreement(const CollectiveInstance& collective_instance) const {
  const Communication& how = *operation_of(collective_instance, 0).operation->communication;
  for (std::size_t k = 1; k < collective_instance.members.size(); ++k) {
    const Communication& other = *operation_of(collective_instance, k).operation->communication;
    if (other.collective == how.collective && other.reduction == how.reduction &&
        other.cut == how.cut && other.joined == how.joined) {
      continue;
    }
    throw ExecutionError{
        fmt::format("{} meets {}", who(collective_instance, 0), who(collective_instance, k))};
  }
}

/// What each member that has come brings and takes.
template <class Real>
auto Exchanges<Real>::parts_of(const CollectiveInstance& collective_instance, Gathering& gathering)
    -> Parts {
  std::size_t tensors = 0;
  for (std::size_t k = 0; k < collective_instance.members.size(); ++k) {
    if (!collective_instance.here[k]) continue;
    const RoleOperation& what = operation_of(collective_instance, k);
    tensors = std::max({tensors, what.reads.size(), what.writes.size()});
  }
  Parts out(tensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    for (std::size_t k = 0; k < collective_instance.members.size(); ++k) {
      ExchangePart<Real>& part = out[i].emplace_back();
      if (!collective_instance.here[k]) continue;
      const RankCursor& cursor = state_.cursor(collective_instance.members[k]);
      const std::uint32_t operation = collective_instance.operations[k];
      const RoleOperation& what = cursor.operation(operation);
      if (i < what.reads.size()) {
        part.from = &values_.layout(cursor, operation, what.reads[i]);
        part.brought = &gathering.brought[k][i];
      }
      if (i < what.writes.size()) {
        part.to = &values_.layout(cursor, operation, what.writes[i]);
        part.got.assign(static_cast<std::size_t>(part.to->elements()), 0);
      }
    }
  }
  return out;
}

template <class Real>
void Exchanges<Real>::take(const RankCursor& cursor, std::uint32_t operation, Parts& parts,
                           std::size_t member) {
  const RoleOperation& what = cursor.operation(operation);
  for (std::size_t i = 0; i < what.writes.size(); ++i) {
    values_.store(cursor, operation, what.writes[i], std::move(parts[i][member].got),
                  what.operation->accumulate);
  }
}

// Messages.

template <class Real>
bool Exchanges<Real>::receive(const RankCursor& cursor, std::uint32_t operation) {
  ExpectedMessage& message = *cursor.messages[operation];
  if (!state_.comes_next(message)) return false;
  const auto payload = std::static_pointer_cast<const std::vector<Real>>(state_.take(message));
  const std::uint32_t to = carried(cursor.operation(operation));
  const std::int64_t wanted = values_.layout(cursor, operation, to).elements();
  if (std::ssize(*payload) != wanted) {
    throw ExecutionError{fmt::format("{} gets {} values where {} belong",
                                     state_.who(cursor, operation), payload->size(), wanted)};
  }
  values_.store(cursor, operation, to, *payload, false);
  return true;
}

template class Exchanges<float>;
template class Exchanges<double>;

}  // namespace lockstep::execution
