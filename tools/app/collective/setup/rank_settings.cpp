#include "tools/app/collective/setup/rank_settings.hpp"

#include <fmt/format.h>

#include "tools/app/errors.hpp"

namespace lockstep::app {

void check_ranks(const std::vector<RankSetting>& settings, int ranks) {
  for (const RankSetting& setting : settings)
    if (setting.rank >= ranks)
      throw RequestError(fmt::format("set_rank {}", setting.rank),
                         fmt::format("the cluster has ranks 0 to {}", ranks - 1));
}

void apply(const std::vector<RankSetting>& settings, Network& network) {
  for (const RankSetting& setting : settings) {
    Endpoint& endpoint = network.endpoints[static_cast<std::size_t>(setting.rank)];
    if (setting.message_overhead) endpoint.message_overhead = *setting.message_overhead;
    if (setting.reduce_rate) endpoint.reduce_rate = setting.reduce_rate;
  }
}

void apply(const std::vector<RankSetting>& settings, std::size_t members,
           std::vector<TimePoint>& starts) {
  for (const RankSetting& setting : settings) {
    if (!setting.start) continue;
    if (starts.empty()) starts.resize(members);
    starts[static_cast<std::size_t>(setting.rank)] = TimePoint{*setting.start};
  }
}

}  // namespace lockstep::app
