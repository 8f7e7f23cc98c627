#include "sim/config/json/json_values.hpp"

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

/// Appends `value` to `out`, whose last line already has `column` characters.
void add_lines(const JsonValue& value, std::size_t indent, std::size_t column, std::size_t width,
               std::string& out) {
  const std::string flat = json_text(value);
  const auto* array = value.get_if<JsonArray>();
  const auto* object = value.get_if<JsonObject>();
  const bool empty = flat.size() == 2;  // [] or {}
  if (column + flat.size() <= width || (array == nullptr && object == nullptr) || empty) {
    out += flat;
    return;
  }
  const std::string margin(indent + 2, ' ');
  const std::size_t count = array != nullptr ? array->size() : object->size();
  out += array != nullptr ? "[" : "{";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = object != nullptr ? json_string((*object)[i].key) + ": " : "";
    out += i == 0 ? "\n" : ",\n";
    out += margin;
    out += key;
    const std::size_t comma = i + 1 < count ? 1 : 0;
    add_lines(array != nullptr ? (*array)[i] : (*object)[i].value, indent + 2,
              margin.size() + key.size() + comma, width, out);
  }
  out += "\n";
  out.append(indent, ' ');
  out += array != nullptr ? "]" : "}";
}

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

std::string json_lines(const JsonValue& value, std::size_t width) {
  std::string out;
  add_lines(value, 0, 0, width, out);
  return out + "\n";
}

}  // namespace lockstep
