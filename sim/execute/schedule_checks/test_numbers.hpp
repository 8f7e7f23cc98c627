#pragma once

#include <cstdint>

namespace lockstep {

/// What the ranks hold while a schedule is checked: a number for every (seed, rank, element).
class TestNumbers {
 public:
  /// `whole`: whole numbers from 1 on, so small that any order of adding `ranks` of them is exact;
  /// else numbers in [-1, 1). Both are exact in `significand` bits, the hidden one included.
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
