#include "tools/lockstep/run/rank_speed_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/config/did_you_mean.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/settings.hpp"

namespace lockstep::cli {

namespace {

constexpr double kSlowest = 0.001;
constexpr double kFastest = 1000;

/// 0: no such number.
double number_of(std::string_view text) {
  const bool plain = !text.empty() && text.size() <= 12 &&
                     text.find_first_not_of("0123456789.") == std::string_view::npos;
  std::size_t used = 0;
  try {
    const double number = plain ? std::stod(std::string{text}, &used) : 0;
    return used == text.size() ? number : 0;
  } catch (const std::invalid_argument&) {
    return 0;
  }
}

std::optional<double> speed_of(std::string_view text) {
  const double speed = number_of(text);
  return speed < kSlowest || speed > kFastest ? std::nullopt : std::optional{speed};
}

std::optional<int> plain_rank(std::string_view text) {
  int rank = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, rank);
  return error == std::errc{} && stop == end && rank >= 0 ? std::optional{rank} : std::nullopt;
}

constexpr std::string_view kRandom = "random:";

/// "random:1%".
double share_of(const std::string& option, const std::string& ranks) {
  const std::string share = ranks.substr(kRandom.size());
  const bool percent = share.size() > 1 && share.back() == '%';
  const double number = percent ? number_of(share.substr(0, share.size() - 1)) : 0;
  if (number <= 0 || number > 100)
    throw UsageError(fmt::format(
        "{}: expected a share of all ranks such as random:1%, above 0 and up to 100 %, got \"{}\"",
        option, ranks));
  return number / 100;
}

/// "17", "0..63", "all" or "random:1%". None: none of these.
std::optional<app::RankSpeedRange> ranks_of(const std::string& option, const std::string& ranks) {
  app::RankSpeedRange out;
  if (ranks == "all") return out;
  if (ranks.starts_with(kRandom)) {
    out.share = share_of(option, ranks);
    return out;
  }
  const std::size_t dots = ranks.find("..");
  const auto first = plain_rank(ranks.substr(0, dots));
  out.last = dots == std::string::npos ? first : plain_rank(ranks.substr(dots + 2));
  if (!first || !out.last || *out.last < *first) return std::nullopt;
  out.first = *first;
  return out;
}

app::RankSpeedRange gpu_speed_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto speed = equals == std::string::npos ? std::nullopt : speed_of(text.substr(equals + 1));
  auto out = speed ? ranks_of("--gpu-speed", text.substr(0, equals)) : std::nullopt;
  if (!out)
    throw UsageError(
        fmt::format("--gpu-speed: expected RANKS=SPEED such as all=0.95, 0..63=0.9, 17=0.8 or "
                    "random:1%=0.95, with a speed of {} to {}, 1 being the device's, got \"{}\"",
                    kSlowest, kFastest, text));
  out->speed = *speed;
  return *out;
}

/// One --set-rank.
class RankSettingReader {
 public:
  RankSettingReader(const std::string& ranks, const std::string& settings)
      : ranks_{ranks}, settings_{settings} {}

  app::RankSpeedRange read() {
    const auto found = ranks_of("--set-rank", ranks_);
    if (!found)
      throw UsageError(
          fmt::format("--set-rank: expected a rank such as 17, ranks such as 0..7, all, or "
                      "random:1%, got \"{}\"",
                      ranks_));
    for (const Setting& each : split_settings(settings_)) read_one(each);
    if (!speed_) refuse_speed();
    app::RankSpeedRange out = *found;
    out.option = "set_rank";
    out.speed = *speed_;
    if (from_ || until_) out.window = window();
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw UsageError(fmt::format("--set-rank {}: {}", ranks_, problem));
  }
  [[noreturn]] void refuse_speed() const {
    refuse(
        fmt::format("expected compute=SPEED with a speed of {} to {}, 1 being that of the "
                    "others, got \"{}\"",
                    kSlowest, kFastest, settings_));
  }

  void read_one(const Setting& setting) {
    const auto& [text, key, value] = setting;
    if (key == "compute") {
      const auto speed = speed_of(value);
      if (!speed) refuse_speed();
      put(key, speed, speed_);
    } else if (key == "from" || key == "until") {
      const auto time = parse_duration(value);
      if (!time) refuse(fmt::format("{}: {}", key, expected_time("1 s", value)));
      put(key, time, key == "from" ? from_ : until_);
    } else {
      const auto meant = did_you_mean(key, {"compute", "from", "until"});
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
    SlowWindow out{TimePoint{from_.value_or(Duration{})}, SlowWindow::kNoEnd, *speed_};
    if (until_) out.until = TimePoint{*until_};
    if (out.until <= out.from)
      refuse(fmt::format("until must be later than from, got {} and {}",
                         to_string(out.from.since_start()), to_string(*until_)));
    if (*speed_ > 1)
      refuse(fmt::format("with from or until, a speed of {} to 1 is expected, got {}", kSlowest,
                         *speed_));
    return out;
  }

  const std::string& ranks_;
  const std::string& settings_;
  std::optional<double> speed_;
  std::optional<Duration> from_;
  std::optional<Duration> until_;
};

bool is_single(const app::RankSpeedRange& of) {
  return !of.share && !of.window && of.last == of.first;
}

}  // namespace

std::vector<app::RankSpeedRange> parse_rank_speeds(
    const std::vector<std::string>& gpu_speeds,
    const std::vector<std::pair<std::string, std::string>>& rank_settings) {
  std::vector<app::RankSpeedRange> out;
  for (const std::string& text : gpu_speeds) out.push_back(gpu_speed_of(text));
  std::vector<app::RankSpeedRange> single;
  for (const auto& [ranks, settings] : rank_settings) {
    app::RankSpeedRange range = RankSettingReader{ranks, settings}.read();
    if (!is_single(range)) {
      out.push_back(std::move(range));
      continue;
    }
    for (const app::RankSpeedRange& before : single)
      if (before.first == range.first)
        throw UsageError(fmt::format("--set-rank {}: the rank is given twice", ranks));
    single.push_back(std::move(range));
  }
  out.insert(out.end(), single.begin(), single.end());
  return out;
}

}  // namespace lockstep::cli
