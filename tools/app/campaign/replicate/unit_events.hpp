#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/app/campaign/file/long_time.hpp"

namespace lockstep::app {

/// Events of one kind that strike units (GPUs, nodes, ...) independently: each unit has a Poisson
/// process in wall time.
struct UnitProcess {
  std::uint64_t key = 0;   // draw_key() of seed and name
  std::int64_t units = 0;  // numbered from 0
  LongTime mean{};         // between events of one unit
};

struct UnitEvent {
  LongTime at{};
  std::size_t process = 0;
  std::int64_t unit = 0;
};

/// The events of several processes in one replicate, merged in order of (time, process). The events
/// of a unit depend on key, replicate, unit and mean alone, whatever the number of units, so that
/// clusters of different sizes share those of their common units. Cost per event O(log of
/// processes and units): unit 0, units 1, 2..3, 4..7, ... are blocks, each a Poisson process of its
/// own whose events strike a random unit of it; those of units beyond the last are dropped
/// (superposition and thinning; Cinlar, Introduction to Stochastic Processes, 1975, chapter 4).
class UnitEvents {
 public:
  UnitEvents(const std::vector<UnitProcess>& processes, std::uint64_t replicate);

  /// The next event; at never() if there is none.
  [[nodiscard]] const UnitEvent& next() const { return next_; }
  void pop();

 private:
  struct Block {
    std::uint64_t key = 0;
    std::uint64_t draws = 0;
    std::size_t process = 0;
    std::int64_t first = 0;
    std::int64_t size = 1;
    std::int64_t units = 0;  // of the process
    double mean_us = 0;      // between events of the block
    LongTime at{};
    std::int64_t unit = 0;
  };
  static void advance(Block& block);
  static bool later(const Block& a, const Block& b);
  void take_first();

  std::vector<Block> heap_;
  UnitEvent next_;
};

/// The events of a replicate, kept for several campaigns that see the same ones.
class EventTrace {
 public:
  EventTrace(const std::vector<UnitProcess>& processes, std::uint64_t replicate)
      : source_{processes, replicate} {}
  /// Valid until the next call.
  [[nodiscard]] const UnitEvent& at(std::size_t index) {
    for (; events_.size() <= index; source_.pop()) events_.push_back(source_.next());
    return events_[index];
  }

 private:
  UnitEvents source_;
  std::vector<UnitEvent> events_{};
};

/// The largest of n independent draws that are uniform in [0, 1): one for each unit, the same units
/// having the same draws whatever n. O(log n), by the records of the sequence: the index of the
/// next is geometrically distributed, its value uniform above the last (Renyi 1962).
[[nodiscard]] double largest_uniform(std::uint64_t key, std::uint64_t replicate, std::int64_t n);

}  // namespace lockstep::app
