#include "tools/lockstep/collective/rank_setting_json.hpp"

#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

namespace {

Json setting_config(const RankSetting& setting) {
  Json out = {{"rank", setting.rank}};
  if (setting.start) out["start_s"] = setting.start->seconds();
  if (setting.message_overhead) out["message_overhead_s"] = setting.message_overhead->seconds();
  if (setting.reduce_rate) out["reduce_rate_Bps"] = setting.reduce_rate->bytes_per_second();
  return out;
}

}  // namespace

void add_rank_settings(const std::vector<RankSetting>& settings, Json& config) {
  for (const RankSetting& rank : settings) config["ranks"].push_back(setting_config(rank));
}

}  // namespace lockstep::cli
