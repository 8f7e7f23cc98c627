#include "tools/lockstep/run/run_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <stdexcept>

#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

constexpr double kSlowest = 0.001;
constexpr double kFastest = 1000;

int rank_of(const std::string& text) {
  int rank = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc{} || stop != text.data() + text.size() || rank < 0)
    throw UsageError(fmt::format("--set-rank: expected a rank such as 17, got \"{}\"", text));
  return rank;
}

double number_of(const std::string& text) {
  const bool plain = !text.empty() && text.size() <= 12 &&
                     text.find_first_not_of("0123456789.") == std::string::npos;
  std::size_t used = 0;
  try {
    const double number = plain ? std::stod(text, &used) : 0;
    return used == text.size() ? number : 0;
  } catch (const std::invalid_argument&) {
    return 0;
  }
}

double speed_of(int rank, const std::string& text) {
  const std::string key = "compute=";
  const bool known = text.rfind(key, 0) == 0;
  const double speed = known ? number_of(text.substr(key.size())) : 0;
  if (speed < kSlowest || speed > kFastest)
    throw UsageError(fmt::format(
        "--set-rank {}: expected compute=SPEED with a speed of {} to {}, 1 being that of the "
        "others, got \"{}\"",
        rank, kSlowest, kFastest, text));
  return speed;
}

[[noreturn]] void refuse_gpu_speed(const std::string& text) {
  throw UsageError(fmt::format(
      "--gpu-speed: expected RANKS=SPEED such as all=0.95, 0..63=0.9 or 17=0.8, with a speed of {} "
      "to {}, 1 being the device's, got \"{}\"",
      kSlowest, kFastest, text));
}

std::optional<int> plain_rank(const std::string& text) {
  int rank = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, rank);
  return error == std::errc{} && stop == end && rank >= 0 ? std::optional{rank} : std::nullopt;
}

app::RankSpeedRange gpu_speed_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse_gpu_speed(text);
  const std::string ranks = text.substr(0, equals);
  const double speed = number_of(text.substr(equals + 1));
  if (speed < kSlowest || speed > kFastest) refuse_gpu_speed(text);
  if (ranks == "all") return {0, std::nullopt, speed};
  const std::size_t dots = ranks.find("..");
  const auto first = plain_rank(ranks.substr(0, dots));
  const auto last = dots == std::string::npos ? first : plain_rank(ranks.substr(dots + 2));
  if (!first || !last || *last < *first) refuse_gpu_speed(text);
  return {*first, last, speed};
}

std::optional<TimePoint> instant_of(const std::string& text) {
  const auto duration = parse_duration(text);
  return duration ? std::optional{TimePoint{*duration}} : std::nullopt;
}

}  // namespace

std::string changes_of(const RunOptions& options) {
  std::vector<std::string> out;
  const auto quoted = [](const std::string& text) {
    return text.find(' ') == std::string::npos ? text : "'" + text + "'";
  };
  for (const std::string& each : options.step.overrides) out.push_back("--set " + quoted(each));
  for (const std::string& each : options.gpu_speeds) out.push_back("--gpu-speed " + each);
  for (const auto& [rank, setting] : options.rank_settings)
    out.push_back(fmt::format("--set-rank {} {}", rank, setting));
  if (!options.nic.empty()) out.push_back("--nic " + quoted(options.nic));
  for (const auto& [link, settings] : options.step.links.set_links)
    out.push_back(fmt::format("--set-link {} {}", quoted(link), quoted(settings)));
  for (const std::string& link : options.step.links.failed) out.push_back("--fail " + quoted(link));
  return fmt::format("{}", fmt::join(out, " "));
}

std::map<int, double> parse_rank_speeds(
    const std::vector<std::pair<std::string, std::string>>& given) {
  std::map<int, double> out;
  for (const auto& [number, setting] : given) {
    const int rank = rank_of(number);
    if (!out.emplace(rank, speed_of(rank, setting)).second)
      throw UsageError(fmt::format("--set-rank {}: the rank is given twice", rank));
  }
  return out;
}

std::vector<app::RankSpeedRange> parse_gpu_speeds(const std::vector<std::string>& given) {
  std::vector<app::RankSpeedRange> out;
  for (const std::string& text : given) out.push_back(gpu_speed_of(text));
  return out;
}

std::pair<TimePoint, TimePoint> parse_window(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) {
    const auto from = instant_of(text.substr(0, dots));
    const auto to = instant_of(text.substr(dots + 2));
    if (from && to && *from < *to) return {*from, *to};
  }
  throw UsageError(fmt::format(
      "--trace-window: expected two times, the first before the second, such as \"10 ms..12.5 "
      "ms\", got \"{}\"",
      text));
}

}  // namespace lockstep::cli
