#include "tools/app/step/rank_speeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/hash.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

namespace {

void check(int rank, const std::string& field, int ranks) {
  if (rank < ranks) return;
  throw RequestError(field, fmt::format("the scenario has ranks 0 to {}", ranks - 1));
}

/// Those with the least hashes.
std::vector<int> draw(double share, int ranks, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, int>> order;
  for (int rank = 0; rank < ranks; ++rank)
    order.emplace_back(splitmix64(seed ^ mix64(static_cast<std::uint64_t>(rank) + 1)), rank);
  std::sort(order.begin(), order.end());
  const auto many = std::max<std::int64_t>(1, std::llround(share * ranks));
  std::vector<int> out;
  for (std::int64_t i = 0; i < many; ++i) out.push_back(order[static_cast<std::size_t>(i)].second);
  return out;
}

/// A range draws independently of those before.
std::uint64_t seed_of(std::uint64_t seed, std::size_t range) {
  return mix64(seed + range * kGoldenGamma);
}

}  // namespace

std::set<int> drawn_ranks(const std::vector<RankSpeedRange>& ranges, int ranks,
                          std::uint64_t seed) {
  std::set<int> out;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].share) continue;
    const std::vector<int> drawn = draw(*ranges[i].share, ranks, seed_of(seed, i));
    out.insert(drawn.begin(), drawn.end());
  }
  return out;
}

std::map<int, double> rank_speeds(const std::vector<RankSpeedRange>& ranges,
                                  const std::map<int, double>& single, int ranks,
                                  std::uint64_t seed) {
  std::map<int, double> out;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const RankSpeedRange& range = ranges[i];
    if (range.share) {
      for (const int rank : draw(*range.share, ranks, seed_of(seed, i))) out[rank] = range.speed;
      continue;
    }
    const int last = range.last.value_or(ranks - 1);
    const std::string named = range.first == last
                                  ? fmt::format("gpu_speed {}", last)
                                  : fmt::format("gpu_speed {}..{}", range.first, last);
    check(last, named, ranks);
    for (int rank = range.first; rank <= last; ++rank) out[rank] = range.speed;
  }
  for (const auto& [rank, speed] : single) {
    check(rank, fmt::format("set_rank {}", rank), ranks);
    out[rank] = speed;
  }
  return out;
}

}  // namespace lockstep::app
