#pragma once

#include <cstdint>

namespace lockstep {

/// Test data for the verification of schedules: a number for every (seed, rank, element).
class TestNumbers {
 public:
  /// `whole`: positive integers small enough that sums of `ranks` of them are exact in any order;
  /// otherwise numbers in [-1, 1). Both are exact in `significand` bits, including the hidden one.
  TestNumbers(std::uint64_t seed, int ranks, bool whole, int significand = 24);

  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] float at(int rank, std::int64_t element) const;

 private:
  std::uint64_t seed_;
  std::uint64_t range_;
  bool whole_;
  int significand_;
};

}  // namespace lockstep
