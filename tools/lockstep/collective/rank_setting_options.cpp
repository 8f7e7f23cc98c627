#include "tools/lockstep/collective/rank_setting_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/config/did_you_mean.hpp"
#include "tools/lockstep/options/rank_choice.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/settings.hpp"

namespace lockstep::cli {

using app::RankSettingRange;
using app::SpeedDraw;
using app::StartDraw;

namespace {

[[noreturn]] void refuse(const RankSettingRange& range, const std::string& problem) {
  throw UsageError(fmt::format("--set-rank {}: {}", range.ranks.text, problem));
}

template <typename T>
void put(const RankSettingRange& range, std::string_view key, const T& value,
         std::optional<T>& into) {
  if (into) refuse(range, fmt::format("{} is given twice", key));
  into = value;
}

Duration time_of(const RankSettingRange& range, const Setting& given, std::string_view value,
                 std::string_view example) {
  const auto time = parse_duration(value);
  if (!time) refuse(range, fmt::format("{}: {}", given.key, expected_time(example, value)));
  return *time;
}

/// "10 us" or "0 us..50 us".
StartDraw start_of(const RankSettingRange& range, const Setting& given) {
  constexpr std::string_view kTo = "..";
  constexpr std::string_view kExample = "10 us";
  const std::size_t dots = given.value.find(kTo);
  StartDraw out{time_of(range, given, given.value.substr(0, dots), kExample)};
  if (dots == std::string_view::npos) return out;
  std::string_view last = given.value.substr(dots + kTo.size());
  last.remove_prefix(std::min(last.find_first_not_of(' '), last.size()));
  out.last = time_of(range, given, last, kExample);
  if (*out.last < out.first)
    refuse(range,
           fmt::format("start: {} is before {}", to_string(*out.last), to_string(out.first)));
  return out;
}

void read_setting(const Setting& setting, RankSettingRange& out) {
  const auto& [text, key, value] = setting;
  if (key == "start") return put(out, key, start_of(out, setting), out.start);
  if (key == "message_overhead")
    return put(out, key, time_of(out, setting, value, "5 us"), out.message_overhead);
  if (key == "reduce_rate") {
    const auto rate = parse_rate(value);
    if (!rate)
      refuse(out, fmt::format("{}: expected a rate such as \"500 GB/s\", got \"{}\"", key, value));
    return put(out, key, *rate, out.reduce_rate);
  }
  if (key == "compute") {
    const auto speed = parse_speed(value);
    if (!speed)
      refuse(out, fmt::format("{}: expected a speed such as {}, {} to {}, got \"{}\"", key, kSpeeds,
                              SpeedDraw::kSlowest, SpeedDraw::kFastest, value));
    return put(out, key, *speed, out.compute);
  }
  const auto meant = did_you_mean(key, {"start", "message_overhead", "reduce_rate", "compute"});
  refuse(out, fmt::format("expected start, message_overhead, reduce_rate or compute, got "
                          "\"{}\"{}; links are changed by --set-link",
                          text, meant ? fmt::format("; did you mean \"{}\"?", *meant) : ""));
}

}  // namespace

void RankSettingOptions::add_to(const Command& command, const std::string& compute) {
  command
      .add_option(
          "--set-rank", given,
          fmt::format(
              "Override parameters of ranks: {} of all (to the nearest, at least one), drawn "
              "with --seed among those not drawn before; SETTINGS are start=\"10 us\" or start=\"0 "
              "us..50 us\" (drawn "
              "for each rank), message_overhead=\"5 us\", reduce_rate=\"500 GB/s\" and "
              "compute=0.8, the speed of {}, drawn for each rank as compute=0.9..0.99 "
              "(uniform) or compute=normal(0.95,0.02) (mean and standard deviation), to a "
              "thousandth, separated by commas; 17=0.8 is short for 17 compute=0.8; "
              "repeatable",
              kRankChoices, compute))
      ->type_name("RANKS SETTINGS")
      ->allow_extra_args(false);
}

std::vector<RankSettingRange> RankSettingOptions::parsed() const {
  std::vector<RankSettingRange> out;
  std::vector<RankSettingRange> single;
  for (const auto& [ranks, settings] : given) {
    RankSettingRange range;
    range.ranks = set_rank_choice(ranks);
    const bool is_single = range.ranks.is_single();
    for (const RankSettingRange& before : single)
      if (is_single && before.ranks.intervals == range.ranks.intervals)
        refuse(range, "the rank is given twice");
    for (const Setting& each : split_settings(settings))
      read_setting(speed_as_compute(each), range);
    (is_single ? single : out).push_back(std::move(range));
  }
  out.insert(out.end(), single.begin(), single.end());
  return out;
}

}  // namespace lockstep::cli
