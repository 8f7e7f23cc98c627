#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/json.hpp"

/// JSON made up by the program instead of read from a file: it has no places.
namespace lockstep {

[[nodiscard]] JsonValue json_of(bool value);
[[nodiscard]] JsonValue json_of(int value);
[[nodiscard]] JsonValue json_of(std::int64_t value);
/// A finite number; one that is whole is written without a point.
[[nodiscard]] JsonValue json_of(double value);
[[nodiscard]] JsonValue json_of(std::string_view value);
[[nodiscard]] JsonValue json_of(const char* value);
[[nodiscard]] JsonValue json_of(std::vector<JsonValue> values);
[[nodiscard]] JsonValue json_object(std::initializer_list<std::pair<std::string, JsonValue>> of);

/// Sets a member of an object, in place where the key is there already.
void set_member(JsonObject& object, std::string_view key, JsonValue value);

/// The text on one line, members in their order: the same value, the same bytes.
[[nodiscard]] std::string json_text(const JsonValue& value);

}  // namespace lockstep
