#include "tools/lockstep/options/rank_choice.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <utility>

#include "sim/base/outer_spaces.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

using app::RankChoice;
using app::SpeedDraw;

constexpr std::string_view kRandom = "random:";
constexpr std::string_view kNormal = "normal(";
constexpr std::string_view kTo = "..";

/// A plain number from 0 to 1000 or so, as people write it: "0.95", no exponent.
std::optional<double> number_of(std::string_view text) {
  if (text.empty() || text.size() > 12 ||
      text.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  std::size_t used = 0;
  try {
    const double number = std::stod(std::string{text}, &used);
    return used == text.size() ? std::optional{number} : std::nullopt;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

std::optional<int> plain_rank(std::string_view text) {
  int rank = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, rank);
  return error == std::errc{} && stop == end && rank >= 0 ? std::optional{rank} : std::nullopt;
}

double share_of(const std::string& option, const std::string& ranks) {
  const std::string share = ranks.substr(kRandom.size());
  const bool percent = share.size() > 1 && share.back() == '%';
  const auto number = percent ? number_of(share.substr(0, share.size() - 1)) : std::nullopt;
  constexpr double kAll = 100;
  if (!number || *number <= 0 || *number > kAll)
    throw UsageError(fmt::format(
        "{}: expected a share of all ranks such as random:1%, above 0 and up to 100 %, got \"{}\"",
        option, ranks));
  return *number / kAll;
}

/// "17" or "0..63". Throws UsageError for a range that descends, or for no rank in a list `all`.
bool add_interval(const std::string& option, const std::string& all, std::string_view text,
                  RankChoice& out) {
  if (text.empty() && !all.empty())
    throw UsageError(
        fmt::format("{}: a rank is missing before or after a comma in \"{}\"", option, all));
  const std::size_t dots = text.find(kTo);
  const auto first = plain_rank(text.substr(0, dots));
  const auto last =
      dots == std::string_view::npos ? first : plain_rank(text.substr(dots + kTo.size()));
  if (!first || !last) return false;
  if (*last < *first)
    throw UsageError(fmt::format("{}: {} is a range from {} down to {}; the lower rank comes first",
                                 option, text, *first, *last));
  out.intervals.emplace_back(*first, *last);
  return true;
}

bool is_speed(double number) {
  return number >= SpeedDraw::kSlowest && number <= SpeedDraw::kFastest;
}

/// Two numbers, with something between.
std::optional<SpeedDraw> two(SpeedDraw::Kind kind, std::string_view text,
                             std::string_view between) {
  const std::size_t at = text.find(between);
  if (at == std::string_view::npos) return std::nullopt;
  const auto first = number_of(without_outer_spaces(text.substr(0, at)));
  const auto second = number_of(without_outer_spaces(text.substr(at + between.size())));
  if (!first || !second) return std::nullopt;
  return SpeedDraw{kind, *first, *second};
}

}  // namespace

std::optional<RankChoice> parse_rank_choice(const std::string& option, const std::string& text) {
  RankChoice out;
  out.text = text;
  if (text == "all") {
    out.intervals.emplace_back(0, std::nullopt);
    return out;
  }
  if (text.starts_with(kRandom)) {
    out.share = share_of(option, text);
    return out;
  }
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    if (!add_interval(option, text, rest.substr(0, comma), out)) return std::nullopt;
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

RankChoice set_rank_choice(const std::string& text) {
  if (auto out = parse_rank_choice("--set-rank", text)) return *std::move(out);
  throw UsageError(
      fmt::format("--set-rank: expected ranks such as {}, got \"{}\"", kRankChoices, text));
}

std::optional<SpeedDraw> parse_speed(std::string_view text) {
  if (text.starts_with(kNormal) && text.ends_with(')')) {
    const std::string_view inside = text.substr(kNormal.size(), text.size() - kNormal.size() - 1);
    const auto out = two(SpeedDraw::Kind::normal, inside, ",");
    return out && is_speed(out->first) && out->second <= out->first ? out : std::nullopt;
  }
  if (const auto out = two(SpeedDraw::Kind::uniform, text, kTo))
    return is_speed(out->first) && is_speed(out->second) && out->first <= out->second
               ? out
               : std::nullopt;
  const auto speed = number_of(text);
  return speed && is_speed(*speed) ? std::optional{SpeedDraw{SpeedDraw::Kind::same, *speed}}
                                   : std::nullopt;
}

Setting speed_as_compute(const Setting& setting) {
  const bool is_speed = setting.text == setting.key && parse_speed(setting.text);
  return is_speed ? Setting{setting.text, "compute", setting.text} : setting;
}

}  // namespace lockstep::cli
