#include "tools/lockstep/output/drawn_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace lockstep::cli {

using app::Json;

namespace {

/// "0.95", with the times in which it is another.
std::string speed_text(const RankSpeed& speed) {
  std::string out = speed.windows.empty() || speed.speed != 1 ? fmt::format("{}", speed.speed) : "";
  for (const SlowWindow& window : speed.windows)
    out += fmt::format("{}{} from {}", out.empty() ? "" : ", ", window.speed, description(window));
  return out;
}

/// The first `most`, each after `before`.
std::vector<std::string> texts_of(const DrawnRanks& drawn, const char* before, std::size_t most) {
  std::vector<std::string> out;
  for (const int rank : drawn.ranks) {
    if (out.size() == most) break;
    out.push_back(
        fmt::format("{}{} at {}", before, rank, speed_text(speed_of(drawn.speeds, rank))));
  }
  return out;
}

}  // namespace

std::string drawn_line(const DrawnRanks& drawn) {
  constexpr std::size_t kShown = 4;
  return fmt::format("{} of {} GPUs drawn with seed {}: {}{}", drawn.ranks.size(), drawn.of,
                     drawn.seed, fmt::join(texts_of(drawn, "rank ", kShown), ", "),
                     drawn.ranks.size() > kShown ? ", ... (all in --format json)" : "");
}

std::string drawn_list(const DrawnRanks& drawn, std::size_t most) {
  return fmt::format("{}{}", fmt::join(texts_of(drawn, "", most), ", "),
                     drawn.ranks.size() > most ? ", ..." : "");
}

Json drawn_json(const DrawnRanks& drawn) {
  Json out = Json::array();
  for (const int rank : drawn.ranks) {
    const RankSpeed& speed = speed_of(drawn.speeds, rank);
    Json windows = Json::array();
    for (const SlowWindow& window : speed.windows)
      windows.push_back({{"from_s", window.from.since_start().seconds()},
                         {"until_s", window.until == SlowWindow::kNoEnd
                                         ? Json(nullptr)
                                         : Json(window.until.since_start().seconds())},
                         {"speed", window.speed}});
    out.push_back({{"rank", rank}, {"speed", speed.speed}, {"windows", std::move(windows)}});
  }
  return out;
}

}  // namespace lockstep::cli
