#include "tools/app/sweep/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/config/json/json_values.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/plan/axis.hpp"
#include "tools/app/plan/store/stored_json.hpp"

namespace lockstep::app {

namespace {

constexpr std::string_view kDp = "parallel.dp";

/// A value may be there twice: with other values of the other keys.
[[nodiscard]] SweepKey key_of_several(const AxisText& text) {
  SweepKey out{text.key, text.values};
  const LayoutKey* key = layout_key(text.key);
  for (const std::string& value : text.values)
    out.overrides.push_back(key != nullptr
                                ? layout_override(*key, layout_value(*key, value, text.written))
                                : fmt::format("{}={}", text.key, value));
  return out;
}

[[nodiscard]] SweepKey sweep_key(const AxisText& text, const Scenario& scenario) {
  SweepKey axis{text.key};
  if (const LayoutKey* key = layout_key(text.key)) {
    for (const LayoutValue& value : layout_axis(*key, text, divisible(*key, scenario)).values) {
      axis.values.push_back(value.text);
      axis.overrides.push_back(layout_override(*key, value));
    }
  } else {
    axis.values = setting_axis(text).values;
    for (const std::string& value : axis.values)
      axis.overrides.push_back(fmt::format("{}={}", text.key, value));
  }
  return axis;
}

[[nodiscard]] bool names_dp(const std::string& text) {
  return text == kDp || text.starts_with(fmt::format("{}=", kDp));
}

[[nodiscard]] JsonValue texts(const std::vector<std::string>& values) {
  std::vector<JsonValue> out;
  for (const std::string& each : values) out.push_back(json_of(each));
  return json_of(std::move(out));
}

[[nodiscard]] JsonValue json_of_axis(const SweepAxis& axis) {
  std::vector<JsonValue> out;
  for (const SweepKey& each : axis.keys)
    out.push_back(json_object({{"key", json_of(each.key)},
                               {"values", texts(each.values)},
                               {"overrides", texts(each.overrides)}}));
  return json_of(std::move(out));
}

[[nodiscard]] SweepAxis axis_from(const StoredJson& in, const JsonValue& axis) {
  SweepAxis out;
  for (const JsonValue& each : in.as<JsonArray>(axis)) {
    SweepKey key{in.text(in.member(each, "key")), in.texts(in.member(each, "values")),
                 in.texts(in.member(each, "overrides"))};
    if (key.values.empty() || key.overrides.size() != key.values.size()) in.fail();
    if (!out.keys.empty() && key.values.size() != out.size()) in.fail();
    out.keys.push_back(std::move(key));
  }
  if (out.keys.empty()) in.fail();
  return out;
}

}  // namespace

SweepGrid::SweepGrid(const SpaceRequest& request) : base_{base_scenario(request)} {
  // Axes are read against the scenario as it is: "divisors" of its heads and layers.
  for (const std::string& text : request.fix) add_fixed(text);
  const Scenario scenario = read(base_.overrides);
  name_ = scenario.name;
  for (const std::string& text : request.vary) add_axis(text, scenario);
  check_axes();
}

SweepGrid::SweepGrid(const std::string& text, const std::string& store) {
  const JsonDocument document = parse_json(text, store);
  const StoredJson in{document};
  name_ = in.text(in.member("name"));
  base_.document = {in.text(in.member("file")), in.member("base")};
  base_.overrides = in.texts(in.member("overrides"));
  for (const JsonValue& each : in.as<JsonArray>(in.member("axes")))
    axes_.push_back(axis_from(in, each));
}

std::string SweepGrid::text() const {
  // Files that the scenario names are next to it.
  const std::string file = base_.document.file.empty()
                               ? std::string{}
                               : std::filesystem::absolute(base_.document.file).string();
  std::vector<JsonValue> axes;
  for (const SweepAxis& each : axes_) axes.push_back(json_of_axis(each));
  return json_text(json_object({{"name", json_of(name_)},
                                {"file", json_of(file)},
                                {"overrides", texts(base_.overrides)},
                                {"axes", json_of(std::move(axes))},
                                {"base", base_.document.root}}));
}

std::vector<std::string> SweepGrid::keys() const {
  std::vector<std::string> out;
  for (const SweepAxis& axis : axes_)
    for (const SweepKey& each : axis.keys) out.push_back(each.key);
  return out;
}

/// Saturates far above the limit.
std::uint64_t SweepGrid::points() const {
  std::uint64_t out = 1;
  for (const SweepAxis& axis : axes_)
    out = std::min(out * axis.size(), kMostSweepPoints * 1'000'000);
  return out;
}

std::string SweepGrid::hash() const {
  Fingerprint out;
  for (const char letter : json_text(read(base_.overrides).resolved)) out.add(letter);
  return out.text();
}

bool SweepGrid::dp_follows() const {
  const auto has_dp = [&](const SweepAxis& axis) {
    return std::ranges::any_of(axis.keys, [](const SweepKey& each) { return names_dp(each.key); });
  };
  return std::ranges::none_of(axes_, has_dp) && std::ranges::none_of(base_.overrides, names_dp);
}

template <class Take>
void SweepGrid::visit(std::uint64_t index, Take take) const {
  std::uint64_t below = points();
  std::uint64_t rest = index;
  for (const SweepAxis& axis : axes_) {
    below /= axis.size();
    const auto at = static_cast<std::size_t>(rest / below);
    rest %= below;
    for (const SweepKey& each : axis.keys) take(each, at);
  }
}

std::vector<std::string> SweepGrid::values(std::uint64_t index) const {
  std::vector<std::string> out;
  visit(index, [&](const SweepKey& key, std::size_t at) { out.push_back(key.values[at]); });
  return out;
}

std::vector<std::string> SweepGrid::overrides(std::uint64_t index) const {
  std::vector<std::string> out = base_.overrides;
  visit(index, [&](const SweepKey& key, std::size_t at) { out.push_back(key.overrides[at]); });
  return out;
}

void SweepGrid::add_dp(std::vector<std::string>& overrides) const {
  if (!dp_follows()) return;
  const Scenario scenario = read(overrides);
  const ParallelConfig& parallel = scenario.parallel;
  const auto ranks = static_cast<std::int64_t>(scenario.cluster.cluster.ranks());
  const std::int64_t degrees = std::int64_t{parallel.tp} * parallel.pp * parallel.cp;
  if (degrees < 1 || ranks % degrees != 0)
    throw RequestError(fmt::format("tp * pp * cp = {} * {} * {} does not divide the {} GPUs",
                                   parallel.tp, parallel.pp, parallel.cp, ranks));
  overrides.push_back(fmt::format("{}={}", kDp, ranks / degrees));
}

void SweepGrid::add_fixed(const std::string& text) {
  const AxisText axis = parse_axis(text);
  if (axis.values.size() != 1)
    throw RequestError("fix", fmt::format("\"{}\": expected one value", text));
  const LayoutKey* key = layout_key(axis.key);
  base_.overrides.push_back(
      key != nullptr ? layout_override(*key, layout_value(*key, axis.values.front(), text))
                     : fmt::format("{}={}", axis.key, axis.values.front()));
}

void SweepGrid::add_axis(const std::string& text, const Scenario& scenario) {
  SweepAxis axis;
  const std::vector<AxisText> keys = parse_axes(text);
  if (keys.size() == 1) {
    axis.keys.push_back(sweep_key(keys.front(), scenario));
  } else {
    for (const AxisText& each : keys) axis.keys.push_back(key_of_several(each));
  }
  axes_.push_back(std::move(axis));
}

void SweepGrid::check_axes() const {
  if (axes_.empty())
    throw RequestError("vary", "expected an axis to vary, such as cluster.nodes=8..512*2");
  std::set<std::string> seen;
  for (const std::string& key : keys())
    if (!seen.insert(key).second)
      throw RequestError("vary", fmt::format("{} is varied twice", key));
  if (points() > kMostSweepPoints)
    throw RequestError(
        "vary", fmt::format("{} points, each of which is simulated: at most {} are possible; "
                            "`lockstep plan` finds the best of any number",
                            points(), kMostSweepPoints));
}

Scenario SweepGrid::read(const std::vector<std::string>& overrides) const {
  return read_scenario(base_.document, "sweep", overrides, config_folder(), LayoutCheck::off);
}

}  // namespace lockstep::app
