#include "tools/lockstep/collective/rank_setting_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "sim/config/did_you_mean.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/parser/settings.hpp"

namespace lockstep::cli {

using app::RankSetting;

namespace {

[[noreturn]] void refuse(const RankSetting& setting, const std::string& problem) {
  throw UsageError(fmt::format("--set-rank {}: {}", setting.rank, problem));
}

void read_time(const RankSetting& setting, const Setting& given, std::string_view example,
               std::optional<Duration>& into) {
  if (into) refuse(setting, fmt::format("{} is given twice", given.key));
  into = parse_duration(given.value);
  if (!into) refuse(setting, fmt::format("{}: {}", given.key, expected_time(example, given.value)));
}

template <typename T>
void read(const RankSetting& setting, std::string_view key, std::string_view value,
          const std::optional<T>& parsed, std::string_view expected, std::optional<T>& into) {
  if (into) refuse(setting, fmt::format("{} is given twice", key));
  if (!parsed) refuse(setting, fmt::format("{}: expected {}, got \"{}\"", key, expected, value));
  into = parsed;
}

void read_setting(const Setting& setting, RankSetting& out) {
  const auto& [text, key, value] = setting;
  if (key == "start") return read_time(out, setting, "10 us", out.start);
  if (key == "message_overhead") return read_time(out, setting, "5 us", out.message_overhead);
  if (key == "reduce_rate")
    return read(out, key, value, parse_rate(value), "a rate such as \"500 GB/s\"", out.reduce_rate);
  const auto meant = did_you_mean(key, {"start", "message_overhead", "reduce_rate"});
  refuse(out, fmt::format("expected start, message_overhead or reduce_rate, got \"{}\"{}; links "
                          "are changed by --set-link",
                          text, meant ? fmt::format("; did you mean \"{}\"?", *meant) : ""));
}

int rank_of(const std::string& text) {
  int rank = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc{} || stop != text.data() + text.size() || rank < 0)
    throw UsageError(fmt::format("--set-rank: expected a rank such as 17, got \"{}\"", text));
  return rank;
}

}  // namespace

void RankSettingOptions::add_to(const Command& command) {
  command
      .add_option("--set-rank", given,
                  "Override parameters of one rank; SETTINGS are start=\"10 us\", "
                  "message_overhead=\"5 us\" "
                  "and reduce_rate=\"500 GB/s\", separated by commas; repeatable")
      ->type_name("RANK SETTINGS")
      ->allow_extra_args(false);
}

std::vector<RankSetting> RankSettingOptions::parsed() const {
  std::vector<RankSetting> out;
  for (const auto& [rank, settings] : given) {
    RankSetting setting{rank_of(rank), {}, {}, {}};
    for (const RankSetting& before : out)
      if (before.rank == setting.rank) refuse(setting, "the rank is given twice");
    for (const Setting& each : split_settings(settings)) read_setting(each, setting);
    out.push_back(setting);
  }
  return out;
}

}  // namespace lockstep::cli
