#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/partition/partition.hpp"
#include "sim/symmetry/partition/relations.hpp"
#include "sim/symmetry/quotient/quotient.hpp"
#include "sim/symmetry/quotient/quotient_schedule.hpp"
#include "strategies/step/lowering/fold_communications.hpp"
#include "strategies/step/lowering/fold_schedule.hpp"

namespace lockstep {

/// When the times of a class part from those of the largest class of its role.
struct ClassParting {
  TimePoint at;                 // the earlier end of the first operation that ends at another time
  std::uint32_t operation = 0;  // of the role
  std::int64_t later_ps = 0;    // of its last operation than that of the other; negative: earlier
  /// The end of the operation from which on all ends are later by this; none: only the last is.
  std::optional<TimePoint> again{};
};

/// Ranks with identical behavior throughout a step.
struct RankEquivalenceClass {
  static constexpr std::size_t kMaxDescribed = 1024;  // larger classes list only their ranks

  int representative = 0;  // a rank; for a host, ranks + host number
  std::size_t role = 0;
  std::int64_t members = 1;
  std::string difference{};               // to the largest class of the role; empty for that class
  std::optional<ClassParting> parting{};  // from it, where described; none: times are the same
};

struct TrainingStepFoldingInput {
  const Program& program;
  const std::vector<RoleProgram>& roles;
  const Network& network;
  NetworkModel model = NetworkModel::fluid;
  CollectiveChoice& choice;
  std::function<EndpointId(int)> endpoint;  // of a rank or host
  RankSpeeds speeds{};
  std::uint64_t most_relations = std::uint64_t{1} << 25U;
};

class PairRouter;

/// A training step folded by equivalence classes. Two ranks are equivalent if they have the same
/// role and speed and all their communications are with ranks of equal classes over links of equal
/// classes. sim/symmetry finds the coarsest such partition for all communications of the step
/// together, so it holds whatever is in flight at once. A network with one endpoint per class then
/// gives the times of all ranks exactly.
class FoldedTrainingStep {
 public:
  /// Null if folding is not possible: too many relations, or sends without matching receives.
  [[nodiscard]] static std::unique_ptr<FoldedTrainingStep> find(
      const TrainingStepFoldingInput& input);
  FoldedTrainingStep(const FoldedTrainingStep&) = delete;
  FoldedTrainingStep& operator=(const FoldedTrainingStep&) = delete;
  ~FoldedTrainingStep();

  /// First rank of each class, hosts last. Class c is endpoint c of network(); classes of reducing
  /// switches follow.
  [[nodiscard]] const std::vector<int>& representatives() const { return representatives_; }
  /// Class per rank, then per host.
  [[nodiscard]] const std::vector<std::uint32_t>& class_of() const { return class_of_; }
  [[nodiscard]] std::size_t classes() const { return representatives_.size(); }
  [[nodiscard]] const Network& network() const { return quotient_.network; }
  /// `differences`: also describe how classes differ.
  [[nodiscard]] std::vector<RankEquivalenceClass> describe(bool differences) const;
  /// Estimated number of operations and messages to replay for all representatives. Collectives
  /// within a node count once, as their links are mostly private.
  [[nodiscard]] double work(int per_node) const;

  // Parts of the lowered workload of the representatives.

  /// Classes connected through a collective, and their steps in it.
  struct Group {
    std::shared_ptr<const Schedule> schedule;
    std::vector<EndpointId> classes;     // those of switches, which no stream calls, come last
    std::uint64_t switch_transfers = 0;  // sent by all switches of all groups
    /// The group has one class, whose endpoints serve no other collective: one call may represent
    /// all repetitions.
    bool repeats = false;
    /// Two calls in turn may represent all repetitions, if the order of calls is free: all members
    /// play one role, the result of each contains data of all, and nothing is copied.
    bool in_turn = false;
  };
  struct MemberSlot {
    const Group* group = nullptr;
    std::uint32_t member = 0;  // index of the rank's class in the group
    Duration launch;
    bool on_copy_engines = false;
    /// Calls of a communicator on several classes are the same instance if this and their count so
    /// far are equal.
    std::uint64_t collective_instance = 0;
    std::uint64_t transfers = 0;  // of all ranks of the class
  };
  /// None for groups of one and empty messages.
  [[nodiscard]] std::optional<MemberSlot> collective(int rank, const Operation& operation);
  /// Counts what a collective sends when it happens: MemberSlot::transfers.
  void count(std::uint64_t transfers) { transfers_ += transfers; }
  struct Message {
    EndpointId peer = 0;
    std::uint32_t tag = 0;
  };
  [[nodiscard]] Message message(int rank, const Operation& operation, const TensorInstance& tensor);

  // Results of the replay, for all ranks.

  [[nodiscard]] std::vector<Bytes> link_bytes(const ReplayResult& result) const;
  /// Transfers of all ranks; counted while the workload was built.
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }

 private:
  explicit FoldedTrainingStep(const TrainingStepFoldingInput& input);
  bool run();
  void find_components();
  [[nodiscard]] std::uint32_t pair_of(int from, int to) const;
  [[nodiscard]] std::size_t role_of(int rank) const;
  [[nodiscard]] std::string difference(std::size_t of, std::size_t usual) const;
  [[nodiscard]] const Group& group(std::uint32_t communication, std::uint32_t component);
  [[nodiscard]] bool leaves_alone(const Group& group) const;
  [[nodiscard]] bool may_take_turns(const Group& group, std::uint32_t communication) const;
  [[nodiscard]] fold::FoldedRank folded_rank(const RankPart& part, int rank,
                                             const std::vector<EndpointId>& classes);
  /// The part of a rank or switch in the component's group.
  [[nodiscard]] const RankPart* part_in(int rank, std::uint32_t communication,
                                        std::uint32_t component) const;
  [[nodiscard]] std::uint64_t switch_transfers(std::uint32_t communication,
                                               std::uint32_t component) const;
  [[nodiscard]] bool is_switch(int rank) const { return rank >= schedule_.performers(); }
  [[nodiscard]] const CollectiveCall* call_of(const ChosenCollective& chosen);

  const TrainingStepFoldingInput in_;
  TrainingStepCommunications communications_;
  TrainingStepSchedule schedule_;
  Workload workload_;  // one call of the schedule
  fold::Relations relations_;
  fold::Partition partition_;
  fold::Quotient quotient_;
  std::shared_ptr<PairRouter> router_;
  std::vector<int> representatives_;
  std::vector<std::uint32_t> class_of_;
  /// Per communicator and class: the lowest class connected with it.
  std::vector<std::vector<std::uint32_t>> components_;
  std::map<const ChosenCollective*, CollectiveCall> calls_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Group> groups_;
  std::map<std::pair<std::uint32_t, TensorInstance>, std::uint32_t> tags_;
  std::uint64_t transfers_ = 0;
};

}  // namespace lockstep
