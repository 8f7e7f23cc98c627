#include "topologies/failures/link_changes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "sim/base/outer_spaces.hpp"
#include "sim/config/did_you_mean.hpp"
#include "sim/config/json/config_error.hpp"
#include "topologies/failures/link_names.hpp"
#include "topologies/graph/least_bandwidth.hpp"

namespace lockstep {
namespace {

constexpr Duration kMostLatency = Duration::picoseconds(1'000'000'000'000);  // as in a file
constexpr double kLeastPercent = 0.001;
constexpr double kMostPercent = 10'000;

// --- reading

/// "50%" or "12.5%"; empty where it is no such number.
std::optional<double> parse_percent(std::string_view text) {
  if (text.empty() || text.back() != '%') return std::nullopt;
  const std::string digits{without_outer_spaces(text.substr(0, text.size() - 1))};
  const bool plain = !digits.empty() && digits.size() <= 12 &&
                     digits.find_first_not_of("0123456789.") == std::string::npos;
  if (!plain) return std::nullopt;
  std::size_t used = 0;
  try {
    const double percent = std::stod(digits, &used);
    return used == digits.size() ? std::optional{percent} : std::nullopt;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

void read_bandwidth(LinkChange& change, std::string_view value) {
  if (const auto percent = parse_percent(value)) {
    if (*percent < kLeastPercent || *percent > kMostPercent)
      throw LinkChangeError(
          fmt::format("bandwidth: expected {}% to {}%, got {}; --fail takes a link away",
                      kLeastPercent, kMostPercent, in_quotes(value)));
    change.bandwidth_factor = *percent / 100;
    return;
  }
  change.bandwidth = parse_rate(value);
  if (!change.bandwidth)
    throw LinkChangeError(
        fmt::format("bandwidth: expected a share such as 50% or a rate such as \"25 GB/s\", got {}",
                    in_quotes(value)));
  if (*change.bandwidth < kLeastLinkBandwidth)
    throw LinkChangeError(fmt::format(
        "bandwidth: expected at least 1 B/s, got {}; --fail takes a link away", in_quotes(value)));
}

void read_latency(LinkChange& change, std::string_view value) {
  change.latency = parse_duration(value);
  if (!change.latency || *change.latency > kMostLatency)
    throw LinkChangeError(fmt::format(
        "latency: expected a time such as \"5 us\", at most 1 s, got {}", in_quotes(value)));
}

void read_setting(LinkChange& change, std::string_view setting) {
  const auto equals = setting.find('=');
  const std::string_view key = without_outer_spaces(setting.substr(0, equals));
  const std::string_view value =
      equals == std::string_view::npos ? "" : without_outer_spaces(setting.substr(equals + 1));
  if (key == "bandwidth" && !change.bandwidth && !change.bandwidth_factor)
    return read_bandwidth(change, value);
  if (key == "latency" && !change.latency) return read_latency(change, value);
  if (key == "bandwidth" || key == "latency")
    throw LinkChangeError(fmt::format("{} is given twice", key));
  const auto meant = did_you_mean(key, {"bandwidth", "latency"});
  throw LinkChangeError(
      fmt::format("expected bandwidth=... or latency=..., got {}{}", in_quotes(setting),
                  meant ? fmt::format("; did you mean {}?", in_quotes(*meant)) : ""));
}

// --- changing

using States = std::map<LinkId, LinkState>;

LinkState state_of(const Cluster& cluster, const States& states, LinkId id) {
  const auto found = states.find(id);
  if (found != states.end()) return found->second;
  if (const LinkState* state = cluster.overlay().find(id)) return *state;
  return {id, cluster.built_link(id).figures, false, false};
}

Rate scaled(Rate rate, double factor) {
  const double steps = static_cast<double>(rate.steps()) * factor;
  if (steps > static_cast<double>(Rate::kMaxSteps) ||
      steps < static_cast<double>(kLeastLinkBandwidth.steps()))
    throw LinkChangeError(fmt::format("bandwidth: {} times {} is beyond what a link can have",
                                      to_string(rate), factor));
  return rate.scaled(factor);
}

/// Bandwidths are given by what is carried, so the efficiency is then in them.
void change_state(LinkState& state, const LinkChange& change, Duration built) {
  if (change.bandwidth_factor)
    state.figures.bandwidth = scaled(state.figures.carried(), *change.bandwidth_factor);
  if (change.bandwidth) state.figures.bandwidth = *change.bandwidth;
  if (change.bandwidth_factor || change.bandwidth) {
    state.figures.efficiency = 1;
    state.figures.provenance = Provenance::assumed;
  }
  if (change.latency) {
    state.figures.latency = *change.latency;
    state.figures.latency_provenance = Provenance::assumed;
  }
  state.delayed = state.figures.latency != built;
}

/// What is left of it is all but nothing, so that sums over links are right without asking.
void fail(LinkState& state) {
  state.failed = true;
  state.figures.bandwidth = Rate::from_steps(1);
  state.figures.efficiency = 1;
}

// --- effects

/// Values of several links before and after a change.
struct Difference {
  std::set<std::pair<Rate, Rate>> carried;
  std::set<std::pair<Duration, Duration>> latency;

  void add(const LinkFigures& before, const LinkFigures& after) {
    carried.emplace(before.carried(), after.carried());
    latency.emplace(before.latency, after.latency);
  }
};

template <class Quantity>
std::optional<std::pair<Quantity, Quantity>> common(
    const std::set<std::pair<Quantity, Quantity>>& pairs) {
  return pairs.size() == 1 ? std::optional{*pairs.begin()} : std::nullopt;
}

template <class Quantity>
std::string arrow(const std::optional<std::pair<Quantity, Quantity>>& pair,
                  const std::string& otherwise) {
  return pair ? to_string(pair->first) + " -> " + to_string(pair->second) : otherwise;
}

std::string values_text(const LinkEffect& effect) {
  const LinkChange& change = effect.change;
  std::string text;
  if (change.bandwidth || change.bandwidth_factor) {
    const std::string to = change.bandwidth
                               ? to_string(*change.bandwidth)
                               : fmt::format("{:.6g}%", *change.bandwidth_factor * 100);
    text = arrow(effect.bandwidth, "bandwidth to " + to);
  }
  if (change.latency) {
    text += text.empty() ? "latency " : ", latency ";
    text += arrow(effect.latency, "to " + to_string(*change.latency));
  }
  return text;
}

}  // namespace

std::string describe(const LinkEffect& effect) {
  const std::string count = effect.count == 1 ? "" : fmt::format("{} links", effect.count);
  if (effect.change.failed) return effect.links + " failed" + (count.empty() ? "" : ": " + count);
  return effect.links + ": " + (count.empty() ? "" : count + ", ") + values_text(effect);
}

LinkChange parse_link_settings(std::string_view links, std::string_view settings) {
  LinkChange change;
  change.links = links;
  for (std::size_t begin = 0; begin <= settings.size();) {
    const std::size_t end = std::min(settings.find(',', begin), settings.size());
    read_setting(change, settings.substr(begin, end - begin));
    begin = end + 1;
  }
  return change;
}

ChangedCluster change_links(const Cluster& cluster, std::span<const LinkChange> changes) {
  States states;
  for (const LinkState& state : cluster.overlay().all()) states[state.id] = state;
  std::vector<LinkEffect> effects;
  for (const LinkChange& change : changes) {
    const NamedLinks links = links_named(cluster, change.links);
    Difference difference;
    for (const LinkId id : links.ids) {
      LinkState state = state_of(cluster, states, id);
      const LinkFigures before = state.figures;
      if (!state.failed) change_state(state, change, cluster.built_link(id).figures.latency);
      difference.add(before, state.figures);
      if (change.failed) fail(state);
      states[id] = state;
    }
    effects.push_back({change, links.name, links.ids.size(), common(difference.carried),
                       common(difference.latency)});
  }
  std::vector<LinkState> all;
  for (const auto& [id, state] : states) all.push_back(state);
  return {cluster.with(LinkOverlay{std::move(all)}), std::move(effects)};
}

}  // namespace lockstep
