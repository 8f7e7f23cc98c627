#include "tools/app/plan/store/stored_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/config/json/json_values.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/inputs/calibration_of.hpp"
#include "tools/app/json.hpp"
#include "tools/app/plan/store/stored_json.hpp"

namespace lockstep::app {

namespace {

[[nodiscard]] std::string absolute(const std::string& file) {
  return file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string();
}

[[nodiscard]] Json json_of_optional(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

[[nodiscard]] Json texts(const std::vector<std::string>& values) {
  Json out = Json::array();
  for (const std::string& value : values) out.push_back(value);
  return out;
}

[[nodiscard]] Json prices_json(const PlanPrices& prices) {
  Json out = Json::object();
  out["usd_per_gpu_hour"] = json_of_optional(prices.usd_per_gpu_hour);
  out["watts_per_gpu"] = json_of_optional(prices.watts_per_gpu);
  out["pue"] = json_of_optional(prices.pue);
  out["usd_per_kwh"] = json_of_optional(prices.usd_per_kwh);
  return out;
}

}  // namespace

std::string space_text(const PlanSpace& space) {
  Json head = Json::object();
  head["name"] = space.name;
  head["file"] = absolute(space.base.file);
  Json settings = Json::array();
  for (const SettingAxis& axis : space.settings) {
    Json each = Json::object();
    each["key"] = axis.key;
    each["values"] = texts(axis.values);
    settings.push_back(each);
  }
  head["settings"] = settings;
  Json layout = Json::array();
  for (const LayoutAxis& axis : space.layout) {
    Json each = Json::object();
    each["key"] = to_string(axis.key);
    Json values = Json::array();
    for (const LayoutValue& value : axis.values) {
      Json both = Json::object();
      both["number"] = value.number;
      both["text"] = value.text;
      values.push_back(both);
    }
    each["values"] = values;
    layout.push_back(each);
  }
  head["layout"] = layout;
  head["current"] = space.current ? texts(*space.current) : Json(nullptr);
  const std::string text = head.dump();
  // The base as it is: numbers keep their digits, so that the hash holds.
  return text.substr(0, text.size() - 1) + ",\"base\":" + json_text(space.base.root) + "}";
}

PlanSpace space_from(const std::string& text, const std::string& file) {
  const JsonDocument document = parse_json(text, file);
  const StoredJson in{document};
  PlanSpace out{in.text(in.member("name")), {in.text(in.member("file")), in.member("base")}};
  for (const JsonValue& each : in.as<JsonArray>(in.member("settings")))
    out.settings.push_back({in.text(in.member(each, "key")), in.texts(in.member(each, "values"))});
  for (const JsonValue& each : in.as<JsonArray>(in.member("layout"))) {
    const LayoutKey* key = layout_key("parallel." + in.text(in.member(each, "key")));
    if (key == nullptr) continue;  // the hash then differs
    LayoutAxis& axis = out.layout[static_cast<std::size_t>(*key)];
    axis.key = *key;
    for (const JsonValue& value : in.as<JsonArray>(in.member(each, "values")))
      axis.values.push_back(
          {in.whole(in.member(value, "number")), in.text(in.member(value, "text"))});
  }
  const JsonValue& current = in.member("current");
  if (current.get_if<std::nullptr_t>() == nullptr) out.current = in.texts(current);
  return out;
}

std::string inputs_hash(const std::vector<std::unique_ptr<PlanSetting>>& settings,
                        const std::string& calibration) {
  Fingerprint out;
  const auto add = [&](const std::string& text) {
    for (const char letter : text) out.add(letter);
  };
  for (const auto& setting : settings) add(json_text(setting->scenario().resolved));
  if (!calibration.empty()) {
    std::ifstream in(calibration, std::ios::binary);
    add({std::istreambuf_iterator<char>{in}, {}});
  }
  return out.text();
}

StoredOptions stored_options(const PlanRequest& request,
                             const std::vector<std::unique_ptr<PlanSetting>>& settings,
                             const std::vector<std::string>* current) {
  const std::string calibration = absolute(calibration_file(request.calibration));
  return {{"objective", Json(request.objective).dump()},
          {"pareto", texts(request.pareto).dump()},
          {"where", texts(request.where).dump()},
          {"no_rule", texts(request.rules_off).dump()},
          {"top", Json(std::max<std::size_t>(1, request.top)).dump()},
          {"prices", prices_json(request.prices).dump()},
          {"calibration", Json(calibration).dump()},
          {"changes", request.changes.any() ? request.changes.options : "null"},
          {"current", current != nullptr ? texts(*current).dump() : "null"},
          {"inputs", Json(inputs_hash(settings, calibration)).dump()}};
}

PlanRequest request_from(const StoredOptions& options, const std::string& file) {
  std::string text = "{";
  for (const auto& [name, value] : options)
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", name, value);
  const JsonDocument document = parse_json(text + "}", file);
  const StoredJson in{document};
  PlanRequest out;
  out.objective = in.text(in.member("objective"));
  out.pareto = in.texts(in.member("pareto"));
  out.where = in.texts(in.member("where"));
  out.rules_off = in.texts(in.member("no_rule"));
  out.top = static_cast<std::size_t>(in.whole(in.member("top")));
  const JsonValue& prices = in.member("prices");
  out.prices.usd_per_gpu_hour = in.number(in.member(prices, "usd_per_gpu_hour"));
  out.prices.watts_per_gpu = in.number(in.member(prices, "watts_per_gpu"));
  out.prices.pue = in.number(in.member(prices, "pue"));
  out.prices.usd_per_kwh = in.number(in.member(prices, "usd_per_kwh"));
  out.calibration = in.text(in.member("calibration"));
  const auto* root = document.root.get_if<JsonObject>();
  const JsonValue* changes = root == nullptr ? nullptr : find_member(*root, "changes");
  if (changes != nullptr && changes->get_if<std::nullptr_t>() == nullptr)
    out.changes.options = json_text(*changes);
  return out;
}

}  // namespace lockstep::app
