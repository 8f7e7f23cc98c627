#include "strategies/scenario/scenario_json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/json_text.hpp"

namespace lockstep {
namespace {

struct TextOf {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const JsonNumber& value) const { return value.text; }
  std::string operator()(const std::string& value) const { return json_string(value); }
  std::string operator()(const JsonArray& value) const {
    std::string out = "[";
    for (const JsonValue& element : value) {
      out += (out.size() == 1 ? "" : ", ") + json_text(element);
    }
    return out + "]";
  }
  std::string operator()(const JsonObject& value) const {
    std::string out = "{";
    for (const JsonMember& member : value) {
      out +=
          (out.size() == 1 ? "" : ", ") + json_string(member.key) + ": " + json_text(member.value);
    }
    return out + "}";
  }
};

}  // namespace

JsonValue json_of(bool value) {
  return {{}, value};
}

JsonValue json_of(int value) {
  return json_of(static_cast<std::int64_t>(value));
}

JsonValue json_of(std::int64_t value) {
  return {{}, value};
}

JsonValue json_of(double value) {
  constexpr double kExact = 9e15;  // every whole double below fits an int64, and is itself
  if (std::floor(value) == value && std::fabs(value) < kExact) {
    return json_of(static_cast<std::int64_t>(value));
  }
  return {{}, JsonNumber{value, fmt::format("{}", value), false}};
}

JsonValue json_of(std::string_view value) {
  return {{}, std::string{value}};
}

JsonValue json_of(const char* value) {
  return json_of(std::string_view{value});
}

JsonValue json_of(std::vector<JsonValue> values) {
  return {{}, std::move(values)};
}

JsonValue json_object(std::initializer_list<std::pair<std::string, JsonValue>> of) {
  JsonObject object;
  for (const auto& [key, value] : of) object.push_back({key, {}, value});
  return {{}, std::move(object)};
}

void set_member(JsonObject& object, std::string_view key, JsonValue value) {
  for (JsonMember& member : object) {
    if (member.key != key) continue;
    member.value = std::move(value);
    return;
  }
  object.push_back({std::string{key}, {}, std::move(value)});
}

std::string json_text(const JsonValue& value) {
  return std::visit(TextOf{}, value.data);
}

}  // namespace lockstep
