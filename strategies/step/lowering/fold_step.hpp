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

/// Ranks that do the same at the same time throughout a step.
struct RankEquivalenceClass {
  static constexpr std::size_t kMostDescribed = 1024;  // of more only the ranks are told

  int representative = 0;  // a rank; for a host, ranks + its number
  std::size_t role = 0;
  std::int64_t members = 1;
  std::string difference{};  // from the largest class of the role; empty for that one
};

struct TrainingStepFoldingInput {
  const Program& program;
  const std::vector<RoleProgram>& roles;
  const Network& network;
  NetworkModel model = NetworkModel::fluid;
  CollectiveChoice& choice;
  std::function<EndpointId(int)> endpoint;  // of a rank or host
  std::map<int, double> speeds{};           // of ranks that do not compute like the others
  std::uint64_t most_relations = std::uint64_t{1} << 25U;
};

class PairRouter;

/// A training step with ranks that cannot differ folded into classes. Two ranks are of one class
/// where they play the same role at the same speed and where all their communications are with
/// ranks of the same classes over links of the same classes: sim/symmetry finds the coarsest such
/// partition for all communications of the step together, whatever is in flight at once. Then a
/// network with one end point per class, and on it one stream of each kind per class, has the
/// times of all ranks.
class FoldedTrainingStep {
 public:
  /// Empty where symmetry is not looked for: too many relations, or ends that do not match.
  [[nodiscard]] static std::unique_ptr<FoldedTrainingStep> find(
      const TrainingStepFoldingInput& input);
  FoldedTrainingStep(const FoldedTrainingStep&) = delete;
  FoldedTrainingStep& operator=(const FoldedTrainingStep&) = delete;
  ~FoldedTrainingStep();

  /// Per class, its first rank (hosts last). Class c is end point c of network(); classes of
  /// switches that reduce come behind these.
  [[nodiscard]] const std::vector<int>& representatives() const { return representatives_; }
  /// Per rank, then per host.
  [[nodiscard]] const std::vector<std::uint32_t>& class_of() const { return class_of_; }
  [[nodiscard]] std::size_t classes() const { return representatives_.size(); }
  [[nodiscard]] const Network& network() const { return quotient_.network; }
  /// `differences`: in what they differ, too.
  [[nodiscard]] std::vector<RankEquivalenceClass> describe(bool differences) const;
  /// About how many operations and messages there are to replay of all representatives. Collectives
  /// of groups that fit into a node count once, as their links are mostly theirs alone.
  [[nodiscard]] double work(int per_node) const;

  // What the lowered workload is made of, for representatives.

  /// Classes that have to do with a collective of each other's, and their steps in it.
  struct Group {
    std::shared_ptr<const Schedule> schedule;
    std::vector<EndpointId> classes;     // those of switches, which nobody calls, last
    std::uint64_t switch_transfers = 0;  // that all switches of all its groups send
    /// Of one class whose end points do nothing that another collective could have to wait for:
    /// one call may stand for every time that it happens.
    bool repeats = false;
  };
  struct MemberSlot {
    const Group* group = nullptr;
    std::uint32_t member = 0;  // the rank's class in it
    Duration launch;
    /// Calls of a communicator are the same one on several classes where this is equal, and as many
    /// came before them.
    std::uint64_t collective_instance = 0;
    std::uint64_t transfers = 0;  // of all ranks of the class
  };
  /// None of groups of one, or where nothing is sent.
  [[nodiscard]] std::optional<MemberSlot> collective(int rank, const Operation& operation);
  /// Counts what a collective that a rank has a member_slot in sends when it happens once more.
  void again(const MemberSlot& member_slot) { transfers_ += member_slot.transfers; }
  struct Message {
    EndpointId peer = 0;
    std::uint32_t tag = 0;
  };
  [[nodiscard]] Message message(int rank, const Operation& operation, const TensorInstance& tensor);

  // What its replay says of everybody.

  [[nodiscard]] std::vector<Bytes> link_bytes(const ReplayResult& result) const;
  /// Of all ranks; counted while the workload was made.
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
  [[nodiscard]] fold::FoldedRank folded_rank(const RankPart& part, int rank,
                                             const std::vector<EndpointId>& classes);
  /// The part that a rank or switch has in it, of the groups of that component.
  [[nodiscard]] const RankPart* part_in(int rank, std::uint32_t communication,
                                        std::uint32_t component) const;
  [[nodiscard]] std::uint64_t switch_transfers(std::uint32_t communication,
                                               std::uint32_t component) const;
  [[nodiscard]] bool is_switch(int rank) const { return rank >= schedule_.performers(); }
  [[nodiscard]] const CollectiveCall* call_of(const ChosenCollective& chosen);

  const TrainingStepFoldingInput in_;
  TrainingStepCommunications communications_;
  TrainingStepSchedule schedule_;
  Workload workload_;  // one call of that schedule
  fold::Relations relations_;
  fold::Partition partition_;
  fold::Quotient quotient_;
  std::shared_ptr<PairRouter> router_;
  std::vector<int> representatives_;
  std::vector<std::uint32_t> class_of_;
  /// Per communicator and class: the least class that is in touch with it there.
  std::vector<std::vector<std::uint32_t>> components_;
  std::map<const ChosenCollective*, CollectiveCall> calls_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Group> groups_;
  std::map<std::pair<std::uint32_t, TensorInstance>, std::uint32_t> tags_;
  std::uint64_t transfers_ = 0;
};

}  // namespace lockstep
