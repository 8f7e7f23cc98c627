#include "sim/config/json/json_schema.hpp"

#include <array>
#include <utility>

#include "sim/config/json/json_values.hpp"

namespace lockstep {

namespace {

constexpr double kHuge = 1e30;  // as good as no limit

struct Quantity {
  std::string_view name;
  std::string_view help;
  std::string_view pattern;
};

constexpr auto kQuantities = std::to_array<Quantity>({
    {"rate", R"(Bytes or bits per second, above zero, such as "50 GB/s" or "400 Gb/s")",
     R"(^(?=[0.]*[1-9])(?!([.]?[0-9]){19})[0-9]+(\.[0-9]+)? ?([kMGT]?B|[KMGT]iB|[kMGT]?b|[MG]bit)/s$)"},
    {"duration", R"(Duration, such as "2 us")",
     R"(^(?!([.]?[0-9]){19})[0-9]+(\.[0-9]+)? ?(ps|ns|us|µs|ms|s|min|h)$)"},
    {"size", R"(Above zero, such as "80 GiB")",
     R"(^(?=[0.]*[1-9])(?!([.]?[0-9]){19})[0-9]+(\.[0-9]+)? ?([kMGT]?B|[KMGT]iB)$)"},
    {"bytes", R"(Such as "64 KiB")",
     R"(^(?!([.]?[0-9]){19})[0-9]+(\.[0-9]+)? ?([kMGT]?B|[KMGT]iB)$)"},
    {"flop_rate", R"(Operations per second, such as "312 TFLOP/s")",
     R"(^(?=[0.]*[1-9])(?!([.]?[0-9]){19})[0-9]+(\.[0-9]+)? ?[kMGTPE]?FLOP/s$)"},
});
constexpr std::array<std::string_view, 6> kNames{"text",
                                                 kQuantities[0].name,
                                                 kQuantities[1].name,
                                                 kQuantities[2].name,
                                                 kQuantities[3].name,
                                                 kQuantities[4].name};

}  // namespace

JsonValue integer_schema(std::int64_t min, std::int64_t max) {
  JsonValue out = json_object({{"type", json_of("integer")}, {"minimum", json_of(min)}});
  if (max != INT64_MAX) set_member(std::get<JsonObject>(out.data), "maximum", json_of(max));
  return out;
}

JsonValue number_schema(double min, double max) {
  JsonValue out = json_object({{"type", json_of("number")}, {"minimum", json_of(min)}});
  if (max < kHuge) set_member(std::get<JsonObject>(out.data), "maximum", json_of(max));
  return out;
}

JsonValue boolean_schema() {
  return json_object({{"type", json_of("boolean")}});
}

std::span<const std::string_view> quantity_names() {
  return kNames;
}

JsonValue quantity_schema(std::string_view name) {
  for (const Quantity& each : kQuantities)
    if (each.name == name) return text_schema(each.pattern, each.help);
  return json_object({{"type", json_of("string")}, {"minLength", json_of(1)}});
}

JsonValue text_schema(std::string_view pattern, std::string_view description) {
  return described(json_object({{"type", json_of("string")}, {"pattern", json_of(pattern)}}),
                   description);
}

JsonValue any_object_schema() {
  return json_object({{"type", json_of("object")}});
}

JsonValue names_schema(const std::vector<std::string_view>& names) {
  std::vector<JsonValue> values;
  for (const std::string_view name : names) values.push_back(json_of(name));
  return json_object({{"enum", json_of(std::move(values))}});
}

JsonValue reference_schema(std::string_view definition) {
  return json_object({{"$ref", json_of("#/definitions/" + std::string{definition})}});
}

JsonValue array_schema(JsonValue items, std::int64_t min_items) {
  JsonValue out = json_object({{"type", json_of("array")}, {"items", std::move(items)}});
  if (min_items > 0) set_member(std::get<JsonObject>(out.data), "minItems", json_of(min_items));
  return out;
}

JsonValue described(JsonValue schema, std::string_view description) {
  if (description.empty()) return schema;
  auto& object = std::get<JsonObject>(schema.data);
  object.insert(object.begin(), {"description", {}, json_of(description)});
  return schema;
}

}  // namespace lockstep
