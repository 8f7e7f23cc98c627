#include "tools/app/collective/setup/rank_settings.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/base/hash.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

Duration StartDraw::of(int rank, std::uint64_t seed) const {
  if (!last) return first;
  constexpr std::uint64_t kPurpose = 0x5354415254U;  // "START": not what draws the ranks
  const std::uint64_t random =
      splitmix64(mix64(seed ^ kPurpose) + static_cast<std::uint64_t>(rank) * mix64(kPurpose));
  const auto most = static_cast<std::uint64_t>((*last - first).ps());
  return first + Duration::picoseconds(static_cast<std::int64_t>(random % (most + 1)));
}

Duration skew_of(std::uint64_t seed, std::size_t rank, Duration most) {
  const std::uint64_t random =
      mix64((seed * kGoldenGamma) ^ ((std::uint64_t{rank} + 1) * 0xD1B54A32D192ED03ULL));
  return Duration::picoseconds(
      static_cast<std::int64_t>(random % (static_cast<std::uint64_t>(most.ps()) + 1)));
}

RankSettings rank_settings(const std::vector<RankSettingRange>& ranges, int ranks,
                           std::uint64_t seed, const std::string& of) {
  std::map<int, RankSetting> out;
  RankDraws draws{ranks, seed, of};
  for (const RankSettingRange& range : ranges) {
    for (const int rank : draws.next({range.ranks, "set_rank", false, range.draws_values()})) {
      RankSetting& own = out[rank];
      own.rank = rank;
      if (range.start) own.start = range.start->of(rank, draws.seed());
      if (range.message_overhead) own.message_overhead = range.message_overhead;
      if (range.reduce_rate) own.reduce_rate = range.reduce_rate;
      if (!range.compute) continue;
      own.compute = range.compute->of(rank, draws.seed());
      own.compute_of = range.ranks.text;
    }
  }
  RankSettings result;
  for (const auto& [rank, setting] : out) result.ranks.push_back(setting);
  result.drawn = draws.drawn();
  return result;
}

namespace {

void check_speed(const RankSetting& setting, const Network& network) {
  const Endpoint& endpoint = network.endpoints[static_cast<std::size_t>(setting.rank)];
  if (setting.compute && !setting.reduce_rate && !endpoint.reduce_rate)
    throw RequestError("set_rank " + setting.compute_of,
                       "compute is the speed of reductions, which take no time on this cluster; "
                       "add reduce_rate, or change start or message_overhead");
}

}  // namespace

RankSettings rank_settings(const std::vector<RankSettingRange>& ranges, int ranks,
                           std::uint64_t seed, const Network& network) {
  RankSettings out = rank_settings(ranges, ranks, seed, "the cluster");
  for (const RankSetting& each : out.ranks) check_speed(each, network);
  return out;
}

void apply(const std::vector<RankSetting>& settings, Network& network) {
  for (const RankSetting& setting : settings) {
    Endpoint& endpoint = network.endpoints[static_cast<std::size_t>(setting.rank)];
    if (setting.message_overhead) endpoint.message_overhead = *setting.message_overhead;
    if (setting.reduce_rate) endpoint.reduce_rate = setting.reduce_rate;
    if (setting.compute && endpoint.reduce_rate)
      endpoint.reduce_rate = endpoint.reduce_rate->scaled(*setting.compute);
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
