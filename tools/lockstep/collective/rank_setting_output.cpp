#include "tools/lockstep/collective/rank_setting_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace lockstep::cli {

using app::CollectiveRequest;
using app::CollectiveSetup;
using app::Json;
using app::RankSetting;
using app::RankSettings;

namespace {

RankSettings settings_of(const CollectiveRequest& request, const CollectiveSetup& setup) {
  return app::rank_settings(request.ranks, setup.ranks(), request.cluster.seed, setup.network());
}

Json setting_config(const RankSetting& setting) {
  Json out = {{"rank", setting.rank}};
  if (setting.start) out["start_s"] = setting.start->seconds();
  if (setting.message_overhead) out["message_overhead_s"] = setting.message_overhead->seconds();
  if (setting.reduce_rate) out["reduce_rate_Bps"] = setting.reduce_rate->bytes_per_second();
  if (setting.compute) out["compute"] = *setting.compute;
  return out;
}

/// "rank 5: start 12.3 us, compute 0.95".
std::string text_of(const RankSetting& setting) {
  std::vector<std::string> values;
  if (setting.start) values.push_back("start " + to_string(*setting.start));
  if (setting.message_overhead)
    values.push_back("message_overhead " + to_string(*setting.message_overhead));
  if (setting.reduce_rate) values.push_back("reduce_rate " + to_string(*setting.reduce_rate));
  if (setting.compute) values.push_back(fmt::format("compute {}", *setting.compute));
  return fmt::format("rank {}: {}", setting.rank, fmt::join(values, ", "));
}

}  // namespace

void add_rank_settings(const RankSettings& settings, Json& config) {
  for (const RankSetting& rank : settings.ranks) config["ranks"].push_back(setting_config(rank));
  for (const int rank : settings.drawn) config["drawn_ranks"].push_back(rank);
}

void add_rank_settings(const CollectiveRequest& request, const CollectiveSetup& setup,
                       Json& config) {
  add_rank_settings(settings_of(request, setup), config);
}

void add_drawn_ranks(const RankSettings& settings, int ranks, std::uint64_t seed,
                     Section& section) {
  constexpr std::size_t kShown = 4;
  if (settings.drawn.empty()) return;
  std::vector<std::string> shown;
  for (const RankSetting& rank : settings.ranks)
    if (shown.size() < kShown && settings.drawn.contains(rank.rank)) shown.push_back(text_of(rank));
  section.notes.push_back(
      fmt::format("{} of {} ranks drawn with seed {}: {}{}", settings.drawn.size(), ranks, seed,
                  fmt::join(shown, "; "),
                  settings.drawn.size() > kShown ? "; ... (all in --format json)" : ""));
}

void add_drawn_ranks(const CollectiveRequest& request, const CollectiveSetup& setup,
                     Section& section) {
  add_drawn_ranks(settings_of(request, setup), setup.ranks(), request.cluster.seed, section);
}

}  // namespace lockstep::cli
