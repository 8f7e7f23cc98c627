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

/// Those with the least hashes, without those that are `taken`.
std::vector<int> draw(const RankSpeedRange& range, int ranks, std::uint64_t seed,
                      const std::set<int>& taken) {
  std::vector<std::pair<std::uint64_t, int>> order;
  for (int rank = 0; rank < ranks; ++rank)
    if (!taken.contains(rank))
      order.emplace_back(splitmix64(seed ^ mix64(static_cast<std::uint64_t>(rank) + 1)), rank);
  std::sort(order.begin(), order.end());
  const double share = *range.share;
  const auto many = std::max<std::int64_t>(1, std::llround(share * ranks));
  if (many > static_cast<std::int64_t>(order.size()))
    throw RequestError(fmt::format("{} random:{}%", range.option, 100 * share),
                       fmt::format("{} of the {} ranks are drawn before, which leaves {}",
                                   taken.size(), ranks, order.size()));
  std::vector<int> out;
  for (std::int64_t i = 0; i < many; ++i) out.push_back(order[static_cast<std::size_t>(i)].second);
  return out;
}

/// A range draws with a seed of its own.
std::uint64_t seed_of(std::uint64_t seed, std::size_t range) {
  return mix64(seed + range * kGoldenGamma);
}

/// What a range draws. Whole speeds are of ranks that no other range has drawn for one; slow
/// windows are of any.
std::vector<int> drawn_of(const RankSpeedRange& range, int ranks, std::uint64_t seed,
                          std::set<int>& taken) {
  if (range.window) return draw(range, ranks, seed, {});
  const std::vector<int> out = draw(range, ranks, seed, taken);
  taken.insert(out.begin(), out.end());
  return out;
}

}  // namespace

std::set<int> drawn_ranks(const std::vector<RankSpeedRange>& ranges, int ranks,
                          std::uint64_t seed) {
  std::set<int> out;
  std::set<int> taken;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].share) continue;
    for (const int rank : drawn_of(ranges[i], ranks, seed_of(seed, i), taken)) out.insert(rank);
  }
  return out;
}

namespace {

/// The ranks of a range, and its name in errors.
struct Named {
  std::vector<int> ranks;
  std::string name;
};

Named ranks_of(const RankSpeedRange& range, int ranks, std::uint64_t seed, std::set<int>& taken) {
  if (range.share)
    return {drawn_of(range, ranks, seed, taken),
            fmt::format("{} random:{}%", range.option, 100 * *range.share)};
  const int last = range.last.value_or(ranks - 1);
  Named out{{},
            range.first == last ? fmt::format("{} {}", range.option, last)
                                : fmt::format("{} {}..{}", range.option, range.first, last)};
  check(last, out.name, ranks);
  for (int rank = range.first; rank <= last; ++rank) out.ranks.push_back(rank);
  return out;
}

void add_window(const SlowWindow& window, int rank, const std::string& name, RankSpeed& to) {
  for (const SlowWindow& other : to.windows)
    if (other.from < window.until && window.from < other.until)
      throw RequestError(name, fmt::format("slow windows of rank {} overlap: {}, and {}", rank,
                                           description(other), description(window)));
  to.windows.insert(std::upper_bound(to.windows.begin(), to.windows.end(), window), window);
}

}  // namespace

RankSpeeds rank_speeds(const std::vector<RankSpeedRange>& ranges, const RankSpeeds& single,
                       int ranks, std::uint64_t seed) {
  RankSpeeds out;
  std::set<int> taken;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Named of = ranks_of(ranges[i], ranks, seed_of(seed, i), taken);
    for (const int rank : of.ranks) {
      if (ranges[i].window) {
        add_window(*ranges[i].window, rank, of.name, out[rank]);
      } else {
        out[rank].speed = ranges[i].speed;
      }
    }
  }
  for (const auto& [rank, speed] : single) {
    const std::string name = fmt::format("set_rank {}", rank);
    check(rank, name, ranks);
    out[rank].speed = speed.speed;
    for (const SlowWindow& window : speed.windows) add_window(window, rank, name, out[rank]);
  }
  return out;
}

std::vector<ScenarioNote> idle_windows(const RankSpeeds& speeds, Duration step) {
  std::vector<ScenarioNote> out;
  std::set<TimePoint> seen;
  for (const auto& [rank, speed] : speeds) {
    for (const SlowWindow& window : speed.windows) {
      if (window.from.since_start() < step || !seen.insert(window.from).second) continue;
      out.push_back({fmt::format("set_rank {}", rank),
                     fmt::format("its slow window begins at {}, after the end of the step at {}",
                                 to_string(window.from.since_start()), to_string(step))});
    }
  }
  return out;
}

}  // namespace lockstep::app
