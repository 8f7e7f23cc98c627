#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "strategies/step/lowering/fold_communications.hpp"
#include "strategies/step/lowering/fold_step.hpp"

namespace lockstep {

/// Ranks that do the same at the same time where every communication takes as long as is said of
/// it, whatever else is in flight and wherever its ranks are: those that play one role at one speed
/// and are in touch with ranks of the same kinds. Coarser than FoldedTrainingStep: ends of a
/// collective are those of all its members, so its ranks need not be distinguished by their
/// positions.
class CoarseRankClasses {
 public:
  /// `speeds`: of ranks that do not compute like the others. All must outlive it.
  CoarseRankClasses(const Program& program, const std::vector<RoleProgram>& roles,
                    const std::map<int, double>& speeds);

  /// Per kind, its first rank; hosts last.
  [[nodiscard]] const std::vector<int>& representatives() const { return representatives_; }
  /// Per rank, then per host.
  [[nodiscard]] const std::vector<std::uint32_t>& kind_of() const { return kind_of_; }
  /// The representative of a rank's, or host's, kind.
  [[nodiscard]] int stand_in(int rank) const {
    return representatives_[kind_of_[static_cast<std::size_t>(rank)]];
  }
  [[nodiscard]] std::vector<RankEquivalenceClass> describe() const;

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  /// One way in which ranks are in touch: per rank, the first of its group, or whom it sends to or
  /// receives from; kNobody where it is not in touch so.
  struct Peering {
    const TrainingStepCommunication* how = nullptr;
    std::vector<std::uint32_t> with;
  };
  void find_touches();
  void add_touches(int rank, std::map<std::vector<int>, std::size_t>& known);
  void begin();
  bool refine();
  void number();
  [[nodiscard]] std::vector<std::uint32_t> peers_of(const Peering& touch, std::uint32_t rank) const;
  [[nodiscard]] std::string difference(std::uint32_t of, std::uint32_t usual) const;
  [[nodiscard]] double speed(int rank) const;

  const Program& program_;
  const std::map<int, double>& speeds_;
  TrainingStepCommunications communications_;
  std::vector<std::size_t> role_;  // per rank, then per host
  std::vector<Peering> touches_;
  std::size_t colours_ = 0;
  std::vector<std::uint32_t> kind_of_;
  std::vector<int> representatives_;
  std::vector<std::int64_t> members_;  // per kind
};

}  // namespace lockstep
