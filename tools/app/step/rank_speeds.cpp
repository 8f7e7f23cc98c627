#include "tools/app/step/rank_speeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/app/errors.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

namespace {

void add_window(const SlowWindow& window, int rank, const std::string& name, RankSpeed& to) {
  for (const SlowWindow& other : to.windows)
    if (other.from < window.until && window.from < other.until)
      throw RequestError(name, fmt::format("slow windows of rank {} overlap: {}, and {}", rank,
                                           description(other), description(window)));
  to.windows.insert(std::upper_bound(to.windows.begin(), to.windows.end(), window), window);
}

RankDraws::Option option_of(const RankSpeedRange& range) {
  return {range.ranks, range.option, range.window.has_value(), range.speed.draws()};
}

RankDraws draws_of(int ranks, std::uint64_t seed) {
  return {ranks, seed, "the scenario"};
}

}  // namespace

bool draws(const RankSpeedRange& range) {
  return range.ranks.share || range.speed.draws();
}

std::set<int> drawn_ranks(const std::vector<RankSpeedRange>& ranges, int ranks,
                          std::uint64_t seed) {
  RankDraws draws = draws_of(ranks, seed);
  for (const RankSpeedRange& range : ranges) (void)draws.next(option_of(range));
  return draws.drawn();
}

RankSpeeds rank_speeds(const std::vector<RankSpeedRange>& ranges, const RankSpeeds& single,
                       int ranks, std::uint64_t seed) {
  RankSpeeds out;
  RankDraws draws = draws_of(ranks, seed);
  for (const RankSpeedRange& range : ranges) {
    for (const int rank : draws.next(option_of(range))) {
      const double speed = range.speed.of(rank, draws.seed());
      if (range.window) {
        SlowWindow window = *range.window;
        window.speed = speed;
        add_window(window, rank, fmt::format("{} {}", range.option, range.ranks.text), out[rank]);
      } else {
        out[rank].speed = speed;
      }
    }
  }
  for (const auto& [rank, speed] : single) {
    const std::string name = fmt::format("set_rank {}", rank);
    if (rank >= ranks)
      throw RequestError(name, fmt::format("the scenario has ranks 0 to {}", ranks - 1));
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
