#include "sim/trace/communication_index.hpp"

namespace lockstep {

namespace {

/// The instance that both ends name where they name the same.
[[nodiscard]] std::optional<TensorInstance> passed(const RoleProgram& role,
                                                   const RoleOperation& operation) {
  const IndexList& operands =
      operation.operation->kind == OperationKind::send ? operation.reads : operation.writes;
  if (operands.empty()) return std::nullopt;
  return role.instances[operands.front()];
}

[[nodiscard]] int modulo(int value, int n) {
  return (value % n + n) % n;
}

/// Element `i` of the list at `key`; none where either is not there.
template <typename Lists, typename Key>
[[nodiscard]] std::optional<std::uint32_t> element(const Lists& lists, const Key& key,
                                                   std::uint32_t i) {
  const auto found = lists.find(key);
  if (found == lists.end() || i >= found->second.size()) return std::nullopt;
  return found->second[i];
}

}  // namespace

bool is_communication(const Operation& operation) {
  return class_of(operation.kind) == OperationClass::communication;
}

bool has_ends(const Operation& operation) {
  return operation.communication.has_value() && row_of(operation.kind).exchange;
}

CommunicationIndex::CommunicationIndex(const Program& program, std::span<const RoleProgram> roles)
    : program_{&program}, programs_{roles} {
  for (const RoleProgram& role : roles) {
    OfRole index;
    const std::size_t count = role.operations.size();
    index.channel.resize(count);
    index.place.resize(count);
    index.repeat.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (has_ends(*role.operations[i].operation)) add(index, role, i);
    }
    roles_.push_back(std::move(index));
  }
}

CommunicationIndex::End CommunicationIndex::end_of(const Operation& operation) {
  if (operation.kind == OperationKind::send) return End::send;
  return operation.kind == OperationKind::receive ? End::receive : End::collective;
}

CommunicationIndex::End CommunicationIndex::other_end(End end) {
  if (end == End::collective) return end;
  return end == End::send ? End::receive : End::send;
}

void CommunicationIndex::add(OfRole& index, const RoleProgram& role, std::uint32_t operation) {
  const RoleOperation& of = role.operations[operation];
  const End end = end_of(*of.operation);
  const std::uint32_t channel = intern(*of.operation);
  index.channel[operation] = channel;
  List& list = index.by_order[{end, channel}];
  index.place[operation] = static_cast<std::uint32_t>(list.size());
  list.push_back(operation);
  const std::optional<TensorInstance> instance = passed(role, of);
  if (end == End::collective || !instance) return;
  List& named = index.by_tensor[{end, channel, *instance}];
  index.repeat[operation] = static_cast<std::uint32_t>(named.size());
  named.push_back(operation);
}

std::uint32_t CommunicationIndex::intern(const Operation& operation) {
  const Communication& communication = *operation.communication;
  Channel channel{operation.kind == OperationKind::collective,
                  communication.over,
                  communication.participants,
                  communication.host,
                  communication.group,
                  0};
  if (!channel.collective) {
    const bool sends = operation.kind == OperationKind::send;
    channel.displacement = modulo(sends ? communication.offset : -communication.offset,
                                  program_->mesh.size(channel.over));
  }
  const auto [found, is_new] =
      ids_.try_emplace(channel, static_cast<std::uint32_t>(channels_.size()));
  if (is_new) channels_.push_back(channel);
  return found->second;
}

std::optional<std::uint32_t> CommunicationIndex::match(std::size_t role, std::uint32_t operation,
                                                       std::size_t other) const {
  const OfRole& own = roles_[role];
  const OfRole& theirs = roles_[other];
  const RoleOperation& of = programs_[role].operations[operation];
  const End end = other_end(end_of(*of.operation));
  const std::uint32_t channel = own.channel[operation];
  const std::optional<TensorInstance> instance = passed(programs_[role], of);
  if (end != End::collective && instance) {
    const auto named =
        element(theirs.by_tensor, std::tuple{end, channel, *instance}, own.repeat[operation]);
    if (named) return named;
  }
  return element(theirs.by_order, std::pair{end, channel}, own.place[operation]);
}

}  // namespace lockstep
