#include "strategies/measure/fit/split.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace lockstep {

namespace {

double number_member(const JsonValue& object, std::string_view key) {
  const auto* members = object.get_if<JsonObject>();
  if (members == nullptr) return 0;
  const JsonValue* value = find_member(*members, key);
  const auto* whole = value == nullptr ? nullptr : value->get_if<std::int64_t>();
  return whole == nullptr ? 0 : static_cast<double>(*whole);
}

std::string text_member(const JsonValue& object, std::string_view key) {
  const auto* members = object.get_if<JsonObject>();
  const JsonValue* value = members == nullptr ? nullptr : find_member(*members, key);
  const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
  return text == nullptr ? std::string{} : *text;
}

/// Whose it is: the first word of the citation, such as "NetX-lab/Echo".
std::string source_of(const MeasuredOrigin& origin) {
  return origin.source.substr(0, origin.source.find(' '));
}

/// What is of one kind, its size, and its id to tell equal ones apart.
using Place = std::tuple<std::string, double, std::string>;

struct PlaceOf {
  Place operator()(const MeasuredRun& run) const {
    const double hidden = number_member(run.model, "hidden");
    return {"run/" + run.group, number_member(run.model, "layers") * hidden * hidden,
            run.origin.id};
  }
  Place operator()(const CollectiveTable& table) const {
    return {"collective/" + source_of(table.origin) + "/" + text_member(table.cluster, "gpu") +
                "/" + std::string{to_string(table.collective)},
            table.ranks, table.origin.id};
  }
  Place operator()(const DeviceTable& table) const {
    return {"device/" + source_of(table.origin) + "/" + table.gpu + "/" +
                std::to_string(static_cast<int>(table.kind)),
            0, table.origin.id};
  }
};

}  // namespace

MeasuredSplit split_measured(std::vector<Measured> all) {
  std::vector<std::pair<Place, Measured>> placed;
  for (Measured& each : all) {
    Place place = std::visit(PlaceOf{}, each);
    placed.emplace_back(std::move(place), std::move(each));
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  MeasuredSplit out;
  std::map<std::string, int> met;
  for (auto& [place, each] : placed)
    (met[std::get<0>(place)]++ % 2 == 0 ? out.fit : out.check).push_back(std::move(each));
  return out;
}

}  // namespace lockstep
