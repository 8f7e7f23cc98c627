#include "strategies/step/lowering/correspondence.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "strategies/step/lowering/calls_in_turn.hpp"
#include "strategies/step/lowering/coarse_rank_classes.hpp"
#include "strategies/step/lowering/fold_step.hpp"

namespace lockstep {

namespace {

/// Numbers of lists of ranks, in the order in which they are met.
class GroupNumbers {
 public:
  std::uint64_t operator()(const std::vector<int>& members) {
    return numbers_.try_emplace(members, numbers_.size()).first->second;
  }

 private:
  std::map<std::vector<int>, std::uint64_t> numbers_;
};

/// All ranks: each is a class of its own.
class WholeStep final : public Correspondence {
 public:
  explicit WholeStep(const LoweringInput& input) : in_{input} {}

  EndpointId begin(int rank) override {
    rank_ = rank;
    return in_.endpoint(rank);
  }

  /// Found once for the members of a group and role.
  std::optional<Part> collective(const RoleProgram& role, const RoleOperation& operation) override {
    const Communication& how = *operation.operation->communication;
    if (how.host || !how.participants.empty()) return part_of(role, operation);
    const Mesh& mesh = in_.program.mesh;
    const std::pair use{role.role, mesh.moved(rank_, how.over, 0)};
    const auto [found, is_new] = parts_[operation.operation].try_emplace(use);
    if (is_new) found->second = part_of(role, operation);
    std::optional<Part> out = found->second;
    if (out) out->member = static_cast<std::uint32_t>(mesh.coordinate(rank_, how.over));
    return out;
  }

  CollectiveCall call(const RoleProgram& role, const RoleOperation& operation) override {
    const Communicator who = communicator(operation);
    std::vector<EndpointId> members = endpoints(who);
    const ChosenCollective& by = chosen(role, operation, who, members);
    CollectiveCall out;
    out.name = operation.operation->name;
    out.members = in_.choice.participants(by, std::move(members));
    out.schedule = by.schedule;
    out.block = by.block;
    out.traffic_weight = operation.operation->communication->traffic_weight;
    out.on_copy_engines = by.on_copy_engines;
    out.slowed_permille = in_.choice.slowed_permille(*operation.operation->communication);
    return out;
  }

  Correspondent message(const RoleProgram& role, const RoleOperation& operation) override {
    const MessageEnds ends = ends_of(in_, rank_, role, operation);
    const auto tag = tags_.try_emplace(ends.tensor, tags_.size()).first->second;
    return {in_.endpoint(operation.operation->kind == OperationKind::send ? ends.to : ends.from),
            tag};
  }

 private:
  [[nodiscard]] std::optional<Part> part_of(const RoleProgram& role,
                                            const RoleOperation& operation) {
    const Communicator who = communicator(operation);
    if (who.members.size() < 2 || message_of(role, operation) == Bytes{}) return std::nullopt;
    std::vector<EndpointId> members = endpoints(who);
    const ChosenCollective& by = chosen(role, operation, who, members);
    return Part{
        .instance = numbers_(who.members),
        .member = static_cast<std::uint32_t>(who.own),
        .launch = by.launch,
        .in_turn = may_be_in_turn(role, operation, who) && is_plain(by.schedule.get()) &&
                   in_.choice.participants(by, std::move(members)).size() == who.members.size()};
  }

  [[nodiscard]] bool may_be_in_turn(const RoleProgram& role, const RoleOperation& operation,
                                    const Communicator& who) {
    const Communication& how = *operation.operation->communication;
    return in_.calls_in_turn && among_all(how) && of_one_role(role.role, who.members);
  }
  [[nodiscard]] bool of_one_role(std::size_t role, const std::vector<int>& members) {
    const auto [found, is_new] = of_one_role_.try_emplace(numbers_(members));
    if (is_new)
      found->second = std::all_of(members.begin(), members.end(), [&](int member) {
        return role_played(in_.program, member) == role;
      });
    return found->second;
  }
  [[nodiscard]] bool is_plain(const Schedule* schedule) {
    const auto [found, is_new] = plain_.try_emplace(schedule);
    if (is_new) found->second = lockstep::is_plain(*schedule);
    return found->second;
  }
  [[nodiscard]] Communicator communicator(const RoleOperation& operation) const {
    return communicator_of(in_.program, rank_, *operation.operation->communication);
  }
  [[nodiscard]] std::vector<EndpointId> endpoints(const Communicator& who) const {
    std::vector<EndpointId> out;
    for (const int member : who.members) out.push_back(in_.endpoint(member));
    return out;
  }
  [[nodiscard]] const ChosenCollective& chosen(const RoleProgram& role,
                                               const RoleOperation& operation,
                                               const Communicator& who,
                                               const std::vector<EndpointId>& members) const {
    const Communication& how = *operation.operation->communication;
    return in_.choice.choose(how.collective, how.group, members, who.root, how.host.has_value(),
                             message_of(role, operation), how.copies,
                             token_skew(in_.program, *operation.operation));
  }

  const LoweringInput& in_;
  int rank_ = 0;
  GroupNumbers numbers_;
  /// Per operation, by role and first member of the group.
  std::unordered_map<const Operation*, std::map<std::pair<std::size_t, int>, std::optional<Part>>>
      parts_;
  std::map<TensorInstance, std::uint32_t> tags_;
  std::unordered_map<const Schedule*, bool> plain_;
  std::unordered_map<std::uint64_t, bool> of_one_role_;  // per group
};

/// Representatives of the classes of a folded step.
class FoldedRanks final : public Correspondence {
 public:
  explicit FoldedRanks(const LoweringInput& input) : in_{input}, fold_{*input.fold} {}

  EndpointId begin(int rank) override {
    rank_ = rank;
    return fold_.class_of()[static_cast<std::size_t>(rank)];
  }

  std::optional<Part> collective(const RoleProgram& /*role*/,
                                 const RoleOperation& operation) override {
    const auto slot = fold_.collective(rank_, *operation.operation);
    if (!slot) return std::nullopt;
    return Part{.instance = slot->collective_instance,
                .member = slot->member,
                .launch = slot->launch,
                .repeats = slot->group->repeats,
                .in_turn = in_.calls_in_turn && slot->group->in_turn,
                .transfers = slot->transfers};
  }

  CollectiveCall call(const RoleProgram& /*role*/, const RoleOperation& operation) override {
    const FoldedTrainingStep::MemberSlot slot = *fold_.collective(rank_, *operation.operation);
    const FoldedTrainingStep::Group& group = *slot.group;
    CollectiveCall out;
    out.name = operation.operation->name;
    out.schedule = group.schedule;
    out.members = group.classes;
    out.block = Bytes{1};
    out.on_copy_engines = slot.on_copy_engines;
    out.traffic_weight = operation.operation->communication->traffic_weight;
    out.slowed_permille = in_.choice.slowed_permille(*operation.operation->communication);
    return out;
  }

  void count(const Part& part) override { fold_.count(part.transfers); }

  Correspondent message(const RoleProgram& role, const RoleOperation& operation) override {
    const FoldedTrainingStep::Message message =
        fold_.message(rank_, *operation.operation, role.instances[carried(operation)]);
    return {message.peer, message.tag};
  }

 private:
  const LoweringInput& in_;
  FoldedTrainingStep& fold_;
  int rank_ = 0;
};

/// Representatives of roles or kinds: collectives take a given time from the last of the group's
/// members that are simulated.
class TimedRanks final : public Correspondence {
 public:
  explicit TimedRanks(const LoweringInput& input)
      : in_{input}, simulated_{input.ranks.begin(), input.ranks.end()} {
    std::sort(simulated_.begin(), simulated_.end());
  }

  EndpointId begin(int rank) override {
    rank_ = rank;
    return in_.endpoint(rank);
  }

  std::optional<Part> collective(const RoleProgram& role, const RoleOperation& operation) override {
    const std::vector<int> members = members_of(operation);
    if (members.size() < 2 || message_of(role, operation) == Bytes{}) return std::nullopt;
    const std::vector<int> ranks = simulated_of(members);
    const auto own = std::find(ranks.begin(), ranks.end(), rank_);
    LOCKSTEP_CHECK(own != ranks.end());
    return Part{.instance = numbers_(group_of(members, ranks)),
                .member = static_cast<std::uint32_t>(own - ranks.begin())};
  }

  CollectiveCall call(const RoleProgram& role, const RoleOperation& operation) override {
    CollectiveCall out;
    out.name = operation.operation->name;
    for (const int rank : simulated_of(members_of(operation)))
      out.members.push_back(in_.endpoint(rank));
    const TimedCollective taken = in_.times->collective(rank_, role, operation);
    out.takes = taken.time;
    out.on_copy_engines = taken.on_copy_engines;
    out.slowed_permille = in_.choice.slowed_permille(*operation.operation->communication);
    return out;
  }

  Correspondent message(const RoleProgram& /*role*/, const RoleOperation& /*operation*/) override {
    throw InternalError("messages of a given time travel on no network");
  }

 private:
  [[nodiscard]] std::vector<int> members_of(const RoleOperation& operation) const {
    return communicator_of(in_.program, rank_, *operation.operation->communication).members;
  }

  [[nodiscard]] std::vector<int> simulated_of(const std::vector<int>& members) const {
    std::vector<int> out;
    for (const int member : members) {
      const int rank = in_.kinds == nullptr ? member : in_.kinds->representative_of(member);
      if (std::binary_search(simulated_.begin(), simulated_.end(), rank)) out.push_back(rank);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  /// What groups of the same kinds have in common, and those of other communicators have not.
  [[nodiscard]] std::vector<int> group_of(const std::vector<int>& members,
                                          const std::vector<int>& ranks) const {
    if (in_.kinds == nullptr) return members;
    std::vector<int> out;
    for (const int member : members)
      out.push_back(member < in_.program.mesh.ranks() ? member - members.front() : member);
    out.insert(out.end(), ranks.begin(), ranks.end());
    return out;
  }

  const LoweringInput& in_;
  std::vector<int> simulated_;  // ascending
  int rank_ = 0;
  GroupNumbers numbers_;
};

}  // namespace

std::unique_ptr<Correspondence> make_correspondence(const LoweringInput& input) {
  if (input.fold != nullptr) return std::make_unique<FoldedRanks>(input);
  if (input.times != nullptr) return std::make_unique<TimedRanks>(input);
  return std::make_unique<WholeStep>(input);
}

MessageEnds ends_of(const LoweringInput& input, int rank, const RoleProgram& role,
                    const RoleOperation& operation) {
  const Communication& how = *operation.operation->communication;
  const Mesh& mesh = input.program.mesh;
  const int size = mesh.size(how.over);
  const int peer =
      mesh.moved(rank, how.over, (mesh.coordinate(rank, how.over) + how.offset + size) % size);
  const int other = input.kinds == nullptr ? peer : input.kinds->representative_of(peer);
  const bool sends = operation.operation->kind == OperationKind::send;
  return {sends ? rank : other, sends ? other : rank, role.instances[carried(operation)]};
}

}  // namespace lockstep
