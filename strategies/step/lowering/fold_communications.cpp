#include "strategies/step/lowering/fold_communications.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// Without axes of one member, and without a list of all positions.
Communication plain(const Communication& how, const Mesh& mesh) {
  Communication out = how;
  out.over.clear();
  for (const AtomId atom : how.over)
    if (mesh.atoms()[atom].size > 1) out.over.push_back(atom);
  std::vector<int> all(static_cast<std::size_t>(mesh.size(out.over)));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  if (out.participants == all) out.participants.clear();
  return out;
}

bool same_communicator(const Communication& a, const Communication& b) {
  return a.over == b.over && a.participants == b.participants && a.host == b.host;
}

bool same(const TrainingStepCommunication& a, const TrainingStepCommunication& b) {
  return a.kind == b.kind && a.message == b.message && a.skew == b.skew &&
         same_communicator(a.how, b.how) && a.how.collective == b.how.collective &&
         a.how.root == b.how.root && a.how.group == b.how.group && a.how.offset == b.how.offset &&
         a.how.copies == b.how.copies;
}

Bytes bytes_of(const RoleProgram& role, const RoleOperation& operation) {
  if (operation.operation->kind == Kind::collective) return message_of(role, operation);
  return local_bytes(role.program->mesh, role.tensor(carried(operation)));
}

}  // namespace

TrainingStepCommunications::TrainingStepCommunications(const Program& program,
                                                       const std::vector<RoleProgram>& roles)
    : program_{program} {
  for (const RoleProgram& role : roles) {
    std::vector<std::uint32_t>& list = of_role_.emplace_back();
    std::vector<std::uint32_t>& times = times_in_role_.emplace_back();
    for (const RoleOperation& operation : role.operations) {
      if (!row_of(operation.operation->kind).exchange) continue;
      const auto [found, is_new] = of_operation_.try_emplace(operation.operation, kNone);
      if (is_new) found->second = intern(role, operation);
      const std::uint32_t id = found->second;
      if (id == kNone) continue;
      const auto known = std::find(list.begin(), list.end(), id) - list.begin();
      if (known == std::ssize(list)) {
        list.push_back(id);
        times.push_back(0);
      }
      ++times[static_cast<std::size_t>(known)];
    }
  }
}

std::uint32_t TrainingStepCommunications::of(const Operation& operation) const {
  const auto found = of_operation_.find(&operation);
  return found == of_operation_.end() ? kNone : found->second;
}

std::uint32_t TrainingStepCommunications::intern(const RoleProgram& role,
                                                 const RoleOperation& operation) {
  TrainingStepCommunication of{
      operation.operation->kind, plain(*operation.operation->communication, program_.mesh),
      bytes_of(role, operation), token_skew(program_, *operation.operation)};
  const auto known =
      std::find_if(all_.begin(), all_.end(),
                   [&](const TrainingStepCommunication& each) { return same(each, of); });
  if (known != all_.end()) return static_cast<std::uint32_t>(known - all_.begin());
  const auto id = static_cast<std::uint32_t>(all_.size());
  all_.push_back(of);
  const bool empty = of.kind == Kind::collective && (group_size(id) < 2 || of.message == Bytes{});
  if (empty) {
    all_.pop_back();
    return kNone;
  }
  assign_channels(all_.back());
  return id;
}

/// Both ends of a message find each other by how much further the receiver stands.
void TrainingStepCommunications::assign_channels(TrainingStepCommunication& of) {
  of.channel = channels_;
  if (of.kind == Kind::collective) {
    const auto known =
        std::find_if(communicators_.begin(), communicators_.end(),
                     [&](const Communication& each) { return same_communicator(each, of.how); });
    of.communicator = static_cast<std::uint32_t>(known - communicators_.begin());
    if (known == communicators_.end()) communicators_.push_back(of.how);
    ++channels_;
    return;
  }
  const int size = program_.mesh.size(of.how.over);
  const auto further = [&](const TrainingStepCommunication& one) {
    const int offset = one.kind == Kind::send ? one.how.offset : -one.how.offset;
    return (offset % size + size) % size;
  };
  for (const TrainingStepCommunication& each : all_) {
    const bool other_end = &each != &of && each.kind != of.kind && each.kind != Kind::collective &&
                           each.how.over == of.how.over && each.message == of.message &&
                           further(each) == further(of);
    if (!other_end) continue;
    of.channel = each.channel;
    return;
  }
  ++channels_;
}

int TrainingStepCommunications::group_size(std::uint32_t id) const {
  const Communication& how = all_[id].how;
  const int ranks = how.participants.empty() ? program_.mesh.size(how.over)
                                             : static_cast<int>(how.participants.size());
  return ranks + (how.host ? 1 : 0);
}

int TrainingStepCommunications::member(std::uint32_t id, int rank, int position) const {
  const Communication& how = all_[id].how;
  const Mesh& mesh = program_.mesh;
  if (how.host && position == group_size(id) - 1) return mesh.ranks() + *how.host;
  const int at =
      how.participants.empty() ? position : how.participants[static_cast<std::size_t>(position)];
  return mesh.moved(rank < mesh.ranks() ? rank : 0, how.over, at);
}

int TrainingStepCommunications::position(std::uint32_t id, int rank) const {
  const Communication& how = all_[id].how;
  if (rank >= program_.mesh.ranks()) return group_size(id) - 1;
  const int at = program_.mesh.coordinate(rank, how.over);
  if (how.participants.empty()) return at;
  const auto found = std::find(how.participants.begin(), how.participants.end(), at);
  LOCKSTEP_CHECK(found != how.participants.end());
  return static_cast<int>(found - how.participants.begin());
}

int TrainingStepCommunications::peer(std::uint32_t id, int rank) const {
  const Communication& how = all_[id].how;
  const Mesh& mesh = program_.mesh;
  const int size = mesh.size(how.over);
  return mesh.moved(rank, how.over,
                    (mesh.coordinate(rank, how.over) + how.offset % size + size) % size);
}

}  // namespace lockstep
