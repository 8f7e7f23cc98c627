#pragma once

#include <cstdint>
#include <string>

namespace lockstep::app {

/// Relative speed of ranks: the same for all, or drawn for each.
struct SpeedDraw {
  static constexpr double kSlowest = 0.001;
  static constexpr double kFastest = 1000;
  enum class Kind : std::uint8_t {
    same,
    uniform,  // between two speeds, inclusive
    normal,   // mean and standard deviation
  };
  Kind kind = Kind::same;
  double first = 1;        // the speed, the lowest or the mean
  double second = 0;       // the highest, or the standard deviation
  double most = kFastest;  // faster draws are this fast

  [[nodiscard]] bool draws() const { return kind != Kind::same; }
  /// Draws are whole thousandths, at least one and at most `most`: few speeds make few classes.
  [[nodiscard]] double of(int rank, std::uint64_t seed) const;
  /// The largest that is possible, `most` apart.
  [[nodiscard]] double usual_most() const { return kind == Kind::uniform ? second : first; }
};

}  // namespace lockstep::app
