#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/json/json.hpp"

/// JSON values made by the program; they have no position in a file.
namespace lockstep {

[[nodiscard]] JsonValue json_of(bool value);
[[nodiscard]] JsonValue json_of(int value);
[[nodiscard]] JsonValue json_of(std::int64_t value);
/// A finite number; integers are written without a decimal point.
[[nodiscard]] JsonValue json_of(double value);
[[nodiscard]] JsonValue json_of(std::string_view value);
[[nodiscard]] JsonValue json_of(const char* value);
[[nodiscard]] JsonValue json_of(std::vector<JsonValue> values);
[[nodiscard]] JsonValue json_object(std::initializer_list<std::pair<std::string, JsonValue>> of);

/// Sets a member of an object; an existing member keeps its position.
void set_member(JsonObject& object, std::string_view key, JsonValue value);

/// The value on one line, members in order. Equal values give equal bytes.
[[nodiscard]] std::string json_text(const JsonValue& value);
/// The same indented by two spaces, ending with a newline: an array or object stands on one line if
/// that has at most `width` characters.
[[nodiscard]] std::string json_lines(const JsonValue& value, std::size_t width = 120);

}  // namespace lockstep
