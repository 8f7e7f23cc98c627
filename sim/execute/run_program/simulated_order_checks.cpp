#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/run_program/simulated_order.hpp"

/// What a timeline must not have: operations that begin before their inputs exist.
namespace lockstep::execution {

namespace {

[[nodiscard]] bool has(const IndexList& instances, std::uint32_t instance) {
  return std::find(instances.begin(), instances.end(), instance) != instances.end();
}

/// The first operation before `index` for which something holds.
template <class Holds>
[[nodiscard]] std::uint32_t first_before(std::uint32_t index, Holds&& holds) {
  for (std::uint32_t i = 0; i < index; ++i) {
    if (holds(i)) return i;
  }
  return kNoOperation;
}

}  // namespace

std::string SimulatedOrder::starts_text(const Event& event) const {
  return fmt::format("{} starts at {}", state_.who(state_.cursor(event.rank), event.operation),
                     to_string(event.at.since_start()));
}

void SimulatedOrder::check_reads(const Event& event) const {
  const RankCursor& cursor = state_.cursor(event.rank);
  const RoleOperation& what = cursor.operation(event.operation);
  const Progress& of = progress_[static_cast<std::size_t>(event.rank)];
  const auto& before = uses_[cursor.role->role].written_before[event.operation];
  for (std::size_t i = 0; i < what.reads.size(); ++i) {
    const std::uint32_t instance = what.reads[i];
    if (of.written[instance] == before[i]) continue;
    const std::uint32_t writer = first_before(event.operation, [&](std::uint32_t operation) {
      return !cursor.done[operation] && has(cursor.operation(operation).writes, instance);
    });
    LOCKSTEP_CHECK(writer != kNoOperation);  // nobody overwrites what is still to be read
    throw ExecutionError{fmt::format("{}, before {} exists: {} ends at {}", starts_text(event),
                                     cursor.role->tensor(instance).name, cursor.role->name(writer),
                                     to_string(interval(event.rank, writer).end.since_start()))};
  }
}

void SimulatedOrder::check_writes(const Event& event) const {
  const RankCursor& cursor = state_.cursor(event.rank);
  const RoleOperation& what = cursor.operation(event.operation);
  const Progress& of = progress_[static_cast<std::size_t>(event.rank)];
  const auto& before = uses_[cursor.role->role].used_before[event.operation];
  for (std::size_t i = 0; i < what.writes.size(); ++i) {
    const std::uint32_t instance = what.writes[i];
    if (of.used[instance] >= before[i]) continue;
    const std::uint32_t user = first_before(event.operation, [&](std::uint32_t operation) {
      const RoleOperation& other = cursor.operation(operation);
      return !cursor.done[operation] && (has(other.reads, instance) || has(other.writes, instance));
    });
    throw ExecutionError{fmt::format("{} and writes {}, which {} uses until {}", starts_text(event),
                                     cursor.role->tensor(instance).name, cursor.role->name(user),
                                     to_string(interval(event.rank, user).end.since_start()))};
  }
}

/// What comes from others is not there.
void SimulatedOrder::refuse_end(const Event& event) const {
  const RankCursor& cursor = state_.cursor(event.rank);
  std::string text =
      fmt::format("{} ends at {}", state_.who(cursor, event.operation),
                  to_string(interval(event.rank, event.operation).end.since_start()));
  const auto add = [&](int rank, std::uint32_t operation) {
    if (operation == kNoOperation) {
      text += fmt::format(", without {}", state_.name_of(rank));
    } else {
      text += fmt::format(", before {} starts at {}", state_.who(state_.cursor(rank), operation),
                          to_string(interval(rank, operation).start.since_start()));
    }
  };
  if (const ExpectedMessage* message = cursor.messages[event.operation]) {
    add(message->from, message->send);
  } else if (const CollectiveInstance* collective_instance =
                 cursor.collective_instances[event.operation]) {
    for (std::size_t k = 0; k < collective_instance->members.size(); ++k) {
      if (!collective_instance->here[k])
        add(collective_instance->members[k], collective_instance->operations[k]);
    }
  } else {
    text += ", where operations of its instant wait for each other";
  }
  throw ExecutionError{text};
}

}  // namespace lockstep::execution
