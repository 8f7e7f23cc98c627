#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "strategies/step/lowering/fold_communications.hpp"
#include "strategies/step/lowering/fold_step.hpp"

namespace lockstep {

/// Equivalence classes of ranks for given communication times, independent of other traffic and of
/// rank positions: ranks with the same role and speed that communicate with ranks of the same
/// classes. Coarser than FoldedTrainingStep, because a collective ends for all members at once.
class CoarseRankClasses {
 public:
  /// Keeps references to all arguments.
  CoarseRankClasses(const Program& program, const std::vector<RoleProgram>& roles,
                    const RankSpeeds& speeds);

  /// First rank of each class; hosts last.
  [[nodiscard]] const std::vector<int>& representatives() const { return representatives_; }
  /// Class per rank, then per host.
  [[nodiscard]] const std::vector<std::uint32_t>& class_of() const { return class_of_; }
  /// The representative of the class of a rank or host.
  [[nodiscard]] int representative_of(int rank) const {
    return representatives_[class_of_[static_cast<std::size_t>(rank)]];
  }
  [[nodiscard]] std::vector<RankEquivalenceClass> describe() const;

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  /// Communication partners of one kind: per rank the first member of its group, or the rank it
  /// sends to or receives from; kNobody if it does not take part.
  struct Peering {
    const TrainingStepCommunication* how = nullptr;
    std::vector<std::uint32_t> with;
  };
  void find_touches();
  void add_touches(int rank, std::map<std::vector<int>, std::size_t>& known);
  void refine();
  void number();
  [[nodiscard]] std::vector<std::uint32_t> peers_of(const Peering& touch, std::uint32_t rank) const;
  [[nodiscard]] std::string difference(std::uint32_t of, std::uint32_t usual) const;

  const RankSpeeds& speeds_;
  TrainingStepCommunications communications_;
  std::vector<std::size_t> role_;  // per rank, then per host
  std::vector<Peering> touches_;
  std::size_t colours_ = 0;
  std::vector<std::uint32_t> class_of_;
  std::vector<int> representatives_;
  std::vector<std::int64_t> members_;  // per class
};

}  // namespace lockstep
