#include "sim/execute/program_order/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::execution {

WaitGraph::WaitGraph(const ExecutionState& state)
    : state_{state},
      streams_{state.program().streams.size()},
      waits_(state.cursors().size() * streams_) {
  for (const RankCursor& cursor : state.cursors()) {
    for (std::size_t stream = 0; stream < streams_; ++stream) {
      const std::uint32_t operation = cursor.head(stream);
      if (operation == kNoOperation) continue;
      heads_.push_back(head_of(cursor.rank, operation));
      add_waits(cursor, operation, waits_[heads_.back()]);
    }
  }
}

std::size_t WaitGraph::head_of(int rank, std::uint32_t operation) const {
  return static_cast<std::size_t>(rank) * streams_ +
         state_.cursor(rank).operation(operation).operation->stream;
}

std::string WaitGraph::name(std::size_t head, bool with_stream) const {
  const RankCursor& cursor = state_.cursors()[head / streams_];
  const std::string who = state_.who(cursor, cursor.head(head % streams_));
  if (!with_stream) return who;
  return fmt::format("{} (stream {})", who, state_.program().streams[head % streams_]);
}

void WaitGraph::add_waits(const RankCursor& cursor, std::uint32_t operation,
                          std::vector<HeadWait>& out) const {
  for (const std::uint32_t before : cursor.operation(operation).after) {
    if (cursor.done[before]) continue;
    out.push_back({"its own " + cursor.role->name(before), head_of(cursor.rank, before)});
  }
  if (!out.empty()) return;
  switch (cursor.kind(operation)) {
    case OperationKind::receive:
      out.push_back(for_message(*cursor.messages[operation]));
      return;
    case OperationKind::send:
      out.push_back(for_room(*cursor.messages[operation]));
      return;
    case OperationKind::collective: {
      const CollectiveInstance& collective_instance = *cursor.collective_instances[operation];
      for (std::size_t k = 0; k < collective_instance.members.size(); ++k) {
        if (!collective_instance.here[k]) out.push_back(for_member(collective_instance, k));
      }
      return;
    }
    default:
      return;
  }
}

HeadWait WaitGraph::for_message(const ExpectedMessage& message) const {
  const std::string from = state_.name_of(message.from);
  const std::string what = "a message from " + from;
  if (message.send == kNoOperation) {
    return {what, std::nullopt,
            fmt::format("no operation of {} sends {}{}", from, text_of(message.what),
                        other_sends(message))};
  }
  if (!message.sent) return {what, head_of(message.from, message.send)};
  const ExpectedMessage& first = *message.connection->waiting.front();
  return behind(first, fmt::format("{} behind {}", what, text_of(first.what)));
}

/// What stands before a message on its connection has to be taken first.
HeadWait WaitGraph::behind(const ExpectedMessage& other, std::string what) const {
  if (other.receive != kNoOperation) return {std::move(what), head_of(other.to, other.receive)};
  return {
      std::move(what), std::nullopt,
      fmt::format("no operation of {} receives {}", state_.name_of(other.to), text_of(other.what))};
}

HeadWait WaitGraph::for_room(const ExpectedMessage& message) const {
  const ExpectedMessage& first = *message.connection->waiting.front();
  return behind(first, fmt::format("room on its connection to {}, where {} waits",
                                   state_.name_of(message.to), text_of(first.what)));
}

HeadWait WaitGraph::for_member(const CollectiveInstance& collective_instance,
                               std::size_t member) const {
  const std::string name = state_.name_of(collective_instance.members[member]);
  const std::uint32_t operation = collective_instance.operations[member];
  if (operation != kNoOperation)
    return {name, head_of(collective_instance.members[member], operation)};
  return {name, std::nullopt, name + " has no collective left that these ranks call together"};
}

/// What the peer sends instead, to nobody's use.
std::string WaitGraph::other_sends(const ExpectedMessage& wanted) const {
  const RankCursor& peer = state_.cursor(wanted.from);
  for (const ExpectedMessage* message : peer.messages) {
    if (message == nullptr || message->from != wanted.from || message->to != wanted.to ||
        message->receive != kNoOperation) {
      continue;
    }
    const auto elements = [&](const TensorInstance& instance) {
      return local_elements(state_.program().mesh, state_.program().tensors[instance.tensor]);
    };
    return fmt::format("; it sends {} of {} elements, where {} are to come", text_of(message->what),
                       elements(message->what), elements(wanted.what));
  }
  return "";
}

/// "x (block 3 microbatch 1)".
std::string WaitGraph::text_of(const TensorInstance& instance) const {
  return fmt::format("{} (block {} microbatch {})", state_.program().tensors[instance.tensor].name,
                     instance.position, instance.microbatch);
}

}  // namespace lockstep::execution
