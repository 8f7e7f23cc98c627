#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Blocks of one rank to which several lanes add in an undefined order. A schedule permits this,
/// since additions are atomic and commutative; MSCCL's thread blocks would race. So one thread
/// block executes all additions of such lanes.
class MscclContention {
 public:
  MscclContention(const Schedule& schedule, int rank);

  /// The first of the lanes that share such a block; none for other lanes.
  [[nodiscard]] std::optional<int> group_of(int lane) const;
  /// Whether any of these blocks is contended.
  [[nodiscard]] bool contended(std::span<const Chunk> chunks) const;
  /// Depths increase along dependent steps of a rank.
  [[nodiscard]] std::int64_t depth_of(int lane, std::int64_t step) const;

 private:
  struct Addition {
    Buffer buffer = Buffer::data;
    std::int64_t block = 0;
    int lane = 0;
    std::int64_t step = 0;
  };
  struct Moment {
    std::vector<ScheduleStepRef> after;
    std::vector<std::int64_t> known;  // last finished step of every lane when it begins
    std::int64_t depth = 0;
  };

  void add_lane(const Schedule& schedule, int rank, int lane);
  void add(std::span<const Chunk> chunks, int lane, std::int64_t step);
  [[nodiscard]] bool several_lanes_add() const;
  void follow_time();
  bool begin(int lane, std::int64_t step);
  void find_groups();
  void unite(std::span<const Addition> same_block);
  [[nodiscard]] bool unordered(const Addition& a, const Addition& b) const;
  [[nodiscard]] int root_of(int lane) const;

  std::vector<Addition> additions_;
  std::vector<std::vector<Moment>> moments_;             // by lane and step
  std::vector<std::size_t> begun_;                       // by lane
  std::vector<int> group_;                               // by lane, union-find parent
  std::vector<bool> meets_;                              // by lane
  std::vector<std::pair<Buffer, std::int64_t>> blocks_;  // sorted
};

}  // namespace lockstep
