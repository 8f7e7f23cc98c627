#include "tools/lockstep/run/rank_speed_options.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/config/did_you_mean.hpp"
#include "tools/lockstep/options/rank_choice.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/settings.hpp"

namespace lockstep::cli {

namespace {

using app::SpeedDraw;

app::RankSpeedRange gpu_speed_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto speed =
      equals == std::string::npos ? std::nullopt : parse_speed(text.substr(equals + 1));
  const auto ranks =
      speed ? parse_rank_choice("--gpu-speed", text.substr(0, equals)) : std::nullopt;
  if (!ranks)
    throw UsageError(fmt::format(
        "--gpu-speed: expected RANKS=SPEED such as all=0.95, 0..63=0.9, 17=0.8, random:1%=0.95 or "
        "all=0.9..0.99, with a speed of {} to {}, 1 being the device's, got \"{}\"",
        SpeedDraw::kSlowest, SpeedDraw::kFastest, text));
  return {*ranks, *speed};
}

/// One --set-rank.
class RankSettingReader {
 public:
  RankSettingReader(const std::string& ranks, const std::string& settings)
      : ranks_{ranks}, settings_{settings} {}

  app::RankSpeedRange read() {
    app::RankSpeedRange out;
    out.ranks = set_rank_choice(ranks_);
    for (const Setting& each : split_settings(settings_)) read_one(speed_as_compute(each));
    if (!speed_) refuse_speed();
    out.option = "set_rank";
    out.speed = *speed_;
    if (from_ || until_) {
      out.window = window();
      out.speed.most = 1;
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw UsageError(fmt::format("--set-rank {}: {}", ranks_, problem));
  }
  [[noreturn]] void refuse_speed() const {
    refuse(
        fmt::format("expected compute=SPEED such as {}, with a speed of {} to {}, 1 being that of "
                    "the others, got \"{}\"",
                    kSpeeds, SpeedDraw::kSlowest, SpeedDraw::kFastest, settings_));
  }

  void read_one(const Setting& setting) {
    const auto& [text, key, value] = setting;
    if (key == "compute") {
      const auto speed = parse_speed(value);
      if (!speed) refuse_speed();
      put(key, speed, speed_);
    } else if (key == "from" || key == "until") {
      const auto time = parse_duration(value);
      if (!time) refuse(fmt::format("{}: {}", key, expected_time("1 s", value)));
      put(key, time, key == "from" ? from_ : until_);
    } else {
      const auto meant = did_you_mean(key, {"compute", "from", "until"});
      if (key == "start")
        refuse(
            "start is of `collective` and `replay`; ranks of a step start together, from=\"0 s\" "
            "and until=\"2 ms\" make one slow at its begin");
      refuse(fmt::format("expected compute, from or until, got \"{}\"{}", text,
                         meant ? fmt::format("; did you mean \"{}\"?", *meant) : ""));
    }
  }

  template <typename T>
  void put(std::string_view key, const std::optional<T>& value, std::optional<T>& into) const {
    if (into) refuse(fmt::format("{} is given twice", key));
    into = value;
  }

  [[nodiscard]] SlowWindow window() const {
    SlowWindow out{TimePoint{from_.value_or(Duration{})}, SlowWindow::kNoEnd};
    if (until_) out.until = TimePoint{*until_};
    if (out.until <= out.from)
      refuse(from_ ? fmt::format("until must be later than from, got until={} and from={}",
                                 to_string(*until_), to_string(*from_))
                   : fmt::format("until must be later than the start of the step, got {}",
                                 to_string(*until_)));
    if (speed_->usual_most() > 1)
      refuse(fmt::format("with from or until, a speed of {} to 1 is expected, got {}",
                         SpeedDraw::kSlowest, speed_->usual_most()));
    return out;
  }

  const std::string& ranks_;
  const std::string& settings_;
  std::optional<SpeedDraw> speed_;
  std::optional<Duration> from_;
  std::optional<Duration> until_;
};

}  // namespace

std::vector<app::RankSpeedRange> parse_rank_speeds(
    const std::vector<std::string>& gpu_speeds,
    const std::vector<std::pair<std::string, std::string>>& rank_settings) {
  std::vector<app::RankSpeedRange> out;
  for (const std::string& text : gpu_speeds) out.push_back(gpu_speed_of(text));
  std::vector<app::RankSpeedRange> single;
  for (const auto& [ranks, settings] : rank_settings) {
    app::RankSpeedRange range = RankSettingReader{ranks, settings}.read();
    if (!range.ranks.is_single() || range.window) {
      out.push_back(std::move(range));
      continue;
    }
    for (const app::RankSpeedRange& before : single)
      if (before.ranks.intervals == range.ranks.intervals)
        throw UsageError(fmt::format("--set-rank {}: the rank is given twice", ranks));
    single.push_back(std::move(range));
  }
  out.insert(out.end(), single.begin(), single.end());
  return out;
}

}  // namespace lockstep::cli
