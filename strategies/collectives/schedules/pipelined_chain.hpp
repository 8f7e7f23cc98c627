#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Chunks pipelined along a chain of positions 0, 1, ...: in round p + c chunk c moves from
/// position p to p + 1.
class PipelinedChain {
 public:
  PipelinedChain(int places, std::int64_t chunks) : places_{places}, chunks_{chunks} {}

  [[nodiscard]] std::int64_t rounds() const { return places_ > 1 ? places_ - 2 + chunks_ : 0; }
  /// Rounds until a position is done.
  [[nodiscard]] std::int64_t rounds_of(int place) const {
    return places_ > 1 ? std::min<std::int64_t>(place, places_ - 2) + chunks_ : 0;
  }
  /// The first round in which a position is active.
  [[nodiscard]] std::int64_t first_round_of(int place) const {
    return places_ > 1 ? std::max(0, place - 1) : 0;
  }
  /// The chunk that leaves (reaches) a position in this round, if any.
  [[nodiscard]] std::optional<std::int64_t> leaving(int place, std::int64_t round) const {
    return place + 1 < places_ ? chunk(round - place) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> reaching(int place, std::int64_t round) const {
    return place > 0 ? chunk(round - (place - 1)) : std::nullopt;
  }
  /// While the chain is full, all rounds are equal.
  [[nodiscard]] std::vector<Phase> phases() const {
    if (places_ < 2 || chunks_ <= places_ - 2) return {};
    return {{places_ - 2, chunks_ - (places_ - 2)}};
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> chunk(std::int64_t index) const {
    return 0 <= index && index < chunks_ ? std::optional{index} : std::nullopt;
  }

  int places_;
  std::int64_t chunks_;
};

}  // namespace lockstep
