#include "sim/cost/gemm_time.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/math.hpp"

namespace lockstep {

namespace {

constexpr double kPartialSumBytes = 2 * 4;  // fp32, written and read

class Gemm {
 public:
  Gemm(const GemmShape& shape, const GemmParameters& figures, FlopRate peak,
       std::int64_t multiprocessors, double memory)
      : shape_{shape},
        figures_{figures},
        multiprocessors_{multiprocessors},
        rate_{peak.per_second() / static_cast<double>(multiprocessors) *
              loss(shape, figures, peak)},
        memory_{memory} {}

  [[nodiscard]] double fastest() const {
    double best = std::numeric_limits<double>::infinity();
    for (const TileShape& tile : figures_.tiles) {
      best = std::min(best, with_any_parts(tile));
      if (tile.rows == tile.columns) continue;
      best = std::min(best, with_any_parts({tile.columns, tile.rows, tile.efficiency}));
    }
    return best;
  }

 private:
  /// What is left of the rate under load and with rows that begin anywhere.
  static double loss(const GemmShape& shape, const GemmParameters& figures, FlopRate peak) {
    const double at_peak = 2.0 * static_cast<double>(shape.batches) *
                           static_cast<double>(shape.rows) * static_cast<double>(shape.columns) *
                           static_cast<double>(shape.depth) / peak.per_second();
    const double load = at_peak / (at_peak + figures.throttling_half_time.seconds());
    const bool aligned = shape.columns % figures.alignment == 0 &&
                         (shape.over_tokens || shape.depth % figures.alignment == 0);
    const Share unaligned = shape.batches > 1 ? figures.unaligned_batches : figures.unaligned;
    return (1 - figures.throttling_loss * load) * (aligned ? 1 : unaligned);
  }

  [[nodiscard]] double with_any_parts(const TileShape& tile) const {
    double best = with_parts(tile, 1);
    for (std::int64_t parts = 2; parts <= figures_.max_split_k; parts *= 2) {
      if (shape_.depth < parts * figures_.min_k_per_split) break;
      best = std::min(best, with_parts(tile, parts));
    }
    return best;
  }

  [[nodiscard]] double with_parts(const TileShape& tile, std::int64_t parts) const {
    const std::int64_t tiles = shape_.batches * ceil_div(shape_.rows, tile.rows) *
                               ceil_div(shape_.columns, tile.columns) * parts;
    const auto waves = static_cast<double>(ceil_div(tiles, multiprocessors_));
    const std::int64_t depth = round_up(ceil_div(shape_.depth, parts), figures_.k_granularity);
    const double flops =
        2.0 * static_cast<double>(tile.rows * tile.columns) * static_cast<double>(depth);
    const double tile_time = flops / (rate_ * tile.efficiency) + figures_.tile_start.seconds();
    return waves * tile_time + adding_up(parts);
  }

  [[nodiscard]] double adding_up(std::int64_t parts) const {
    if (parts == 1) return 0;
    const double results = static_cast<double>(shape_.batches) * static_cast<double>(shape_.rows) *
                           static_cast<double>(shape_.columns);
    return static_cast<double>(parts) * results * kPartialSumBytes * figures_.split_k_traffic /
           memory_;
  }

  const GemmShape& shape_;
  const GemmParameters& figures_;
  std::int64_t multiprocessors_;
  double rate_;    // of one multiprocessor
  double memory_;  // bytes per second
};

}  // namespace

double gemm_seconds(const GemmShape& shape, const GemmParameters& figures, FlopRate peak,
                    std::int64_t multiprocessors, double memory) {
  return Gemm{shape, figures, peak, multiprocessors, memory}.fastest();
}

}  // namespace lockstep
