#pragma once

#include <cstdint>

namespace lockstep {

/// Tokens per expert relative to the mean over all E experts.
class ExpertLoad {
 public:
  /// One expert has `skew` times the mean load (1 <= skew <= E), the others share the rest evenly;
  /// none exceeds `capacity` times the mean (0: unlimited).
  ExpertLoad(std::int64_t experts, double skew, double capacity);

  /// Mean load of `local` experts (1 .. E) that include the busiest: (busiest + (local - 1) other)
  /// / local. With all E it is 1 unless tokens are dropped.
  [[nodiscard]] double of(std::int64_t local) const;
  /// Load of each expert but the busiest, and so of ranks without it.
  [[nodiscard]] double of_others() const { return other_; }

 private:
  double busiest_ = 1;
  double other_ = 1;
};

}  // namespace lockstep
