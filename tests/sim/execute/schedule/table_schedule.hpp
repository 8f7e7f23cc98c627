#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// A schedule written down step by step, for tests: steps[rank][lane][index].
class TableSchedule final : public Schedule {
 public:
  using Lane = std::vector<ScheduleStep>;
  using Rank = std::vector<Lane>;

  explicit TableSchedule(std::vector<Rank> ranks, std::int64_t block_count = 1, int slot_count = 0,
                         std::int64_t scratch = 0, Buffer result_buffer = Buffer::data)
      : ranks_{std::move(ranks)},
        blocks_{block_count},
        slots_{slot_count},
        scratch_{scratch},
        result_{result_buffer} {}

  [[nodiscard]] int ranks() const override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int lanes() const override {
    std::size_t most = 1;
    for (const Rank& rank : ranks_) most = std::max(most, rank.size());
    return static_cast<int>(most);
  }
  [[nodiscard]] int slots() const override { return slots_; }
  [[nodiscard]] std::int64_t blocks() const override { return blocks_; }
  [[nodiscard]] std::int64_t scratch_blocks(int) const override { return scratch_; }
  [[nodiscard]] Buffer result() const override { return result_; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    const Rank& lanes = ranks_[static_cast<std::size_t>(rank)];
    const auto index = static_cast<std::size_t>(lane);
    return index < lanes.size() ? std::ssize(lanes[index]) : 0;
  }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    step = ranks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(lane)]
                 [static_cast<std::size_t>(index)];
  }

 private:
  std::vector<Rank> ranks_;
  std::int64_t blocks_;
  int slots_;
  std::int64_t scratch_;
  Buffer result_;
};

}  // namespace lockstep
