#include "sim/config/json_schema.hpp"

#include <utility>

#include "sim/base/check.hpp"
#include "sim/config/json_values.hpp"

namespace lockstep {

JsonValue integer_schema(std::int64_t min, std::int64_t max) {
  return json_object(
      {{"type", json_of("integer")}, {"minimum", json_of(min)}, {"maximum", json_of(max)}});
}

JsonValue number_schema(double min, double max) {
  return json_object(
      {{"type", json_of("number")}, {"minimum", json_of(min)}, {"maximum", json_of(max)}});
}

JsonValue boolean_schema() {
  return json_object({{"type", json_of("boolean")}});
}

JsonValue size_schema() {
  return json_object(
      {{"type", json_of("string")},
       {"pattern",
        json_of(R"(^(?=[0.]*[1-9])(?!([.]?[0-9]){19})[0-9]+(\.[0-9]+)? ?([kMGT]?B|[KMGT]iB)$)")}});
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

JsonValue object_schema(const std::vector<SchemaProperty>& properties) {
  JsonObject members;
  std::vector<JsonValue> required;
  for (const SchemaProperty& property : properties) {
    members.push_back({property.key, {}, property.schema});
    if (property.required) required.push_back(json_of(property.key));
  }
  JsonValue out = json_object({{"type", json_of("object")}, {"properties", {{}, members}}});
  auto& object = std::get<JsonObject>(out.data);
  if (!required.empty()) set_member(object, "required", json_of(std::move(required)));
  set_member(object, "additionalProperties", json_of(false));
  return out;
}

JsonValue described(JsonValue schema, std::string_view description) {
  if (description.empty()) return schema;
  auto& object = std::get<JsonObject>(schema.data);
  object.insert(object.begin(), {"description", {}, json_of(description)});
  return schema;
}

void replace_at(JsonValue& root, const std::vector<std::string_view>& path, JsonValue value) {
  JsonValue* at = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    auto* object = std::get_if<JsonObject>(&at->data);
    at = nullptr;
    if (object != nullptr)
      for (JsonMember& member : *object)
        if (member.key == path[i]) at = &member.value;
    LOCKSTEP_CHECK(at != nullptr);
  }
  set_member(std::get<JsonObject>(at->data), path.back(), std::move(value));
}

}  // namespace lockstep
