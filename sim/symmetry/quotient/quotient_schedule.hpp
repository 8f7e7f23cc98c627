#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/schedule/schedule_traits.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep::fold {

/// A peer of a representative, and their messages in the quotient.
struct FoldedPeer {
  int peer = 0;             // in the schedule of its call
  std::uint32_t rank = 0;   // rank of the peer's class
  std::uint32_t pairs = 0;  // the class of the pair
  std::int64_t times = 1;   // number of such peers
};

/// A rank of a folded schedule: a representative and its peers, one per class of pairs.
struct FoldedRank {
  const CollectiveCall* call = nullptr;
  int rank = 0;                    // of the representative, in that call
  std::vector<FoldedPeer> to{};    // by peer
  std::vector<FoldedPeer> from{};  // by peer
};

/// The steps of representatives, in bytes: a block is one byte. Channel c of the class of pairs p
/// is channel p * channels + c.
class QuotientSchedule : public Schedule, public LateSchedule {
 public:
  QuotientSchedule(std::vector<FoldedRank> ranks, int channels);

  [[nodiscard]] int ranks() const override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int lanes() const override { return lanes_; }
  [[nodiscard]] int slots() const override { return slots_; }
  [[nodiscard]] std::int64_t blocks() const override { return 1; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override;
  [[nodiscard]] std::int64_t first_step(int rank, int lane) const override;
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override;
  [[nodiscard]] std::vector<Phase> phases() const override { return phases_; }

 private:
  std::vector<FoldedRank> ranks_;
  std::vector<StepSizes> sizes_;  // per rank, of its call's schedule
  int channels_;
  int lanes_ = 1;
  int slots_ = 0;
  std::vector<Phase> phases_;
};

/// The same with a turn of each rank at its endpoint: calls of the quotient may come in another
/// order than those they stand for.
class QuotientScheduleInTurn final : public QuotientSchedule, public TurnsAtEndpoints {
 public:
  QuotientScheduleInTurn(std::vector<FoldedRank> ranks, int channels,
                         std::vector<std::uint32_t> turns)
      : QuotientSchedule{std::move(ranks), channels}, turns_{std::move(turns)} {}

  [[nodiscard]] std::uint32_t turn(int rank) const override {
    return turns_[static_cast<std::size_t>(rank)];
  }

 private:
  std::vector<std::uint32_t> turns_;
};

}  // namespace lockstep::fold
