#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Blocks of one rank that several lanes add to in no order that the rank itself knows. A schedule
/// may do that, since additions are whole and their order does not matter; MSCCL's thread blocks
/// would lose one of two. So one thread block does all the additions of lanes that meet in a block.
class MscclContention {
 public:
  MscclContention(const Schedule& schedule, int rank);

  /// Of lanes that meet, the first; nothing for a lane that meets no other.
  [[nodiscard]] std::optional<int> group_of(int lane) const;
  /// Whether any of these blocks is such a one.
  [[nodiscard]] bool contended(std::span<const Chunk> chunks) const;
  /// Steps of one rank that come after one another have growing depths.
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
    std::vector<std::int64_t> known;  // when it begins, the last step over of every lane
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
  std::vector<int> group_;                               // by lane, towards the first of its group
  std::vector<bool> meets_;                              // by lane
  std::vector<std::pair<Buffer, std::int64_t>> blocks_;  // sorted
};

}  // namespace lockstep
