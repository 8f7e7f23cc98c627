#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json.hpp"

/// JSON Schema (draft-07) of the types that ObjectReader reads, for schemas generated from tables
/// of fields.
namespace lockstep {

[[nodiscard]] JsonValue integer_schema(std::int64_t min, std::int64_t max);
[[nodiscard]] JsonValue number_schema(double min, double max);
[[nodiscard]] JsonValue boolean_schema();
/// A size above zero with its unit.
[[nodiscard]] JsonValue size_schema();
/// One of several names.
[[nodiscard]] JsonValue names_schema(const std::vector<std::string_view>& names);
/// A definition of the same file, e.g. "duration".
[[nodiscard]] JsonValue reference_schema(std::string_view definition);
/// An array of at least `min_items` elements (0: no limit).
[[nodiscard]] JsonValue array_schema(JsonValue items, std::int64_t min_items = 0);

/// A key of an object.
struct SchemaProperty {
  std::string key;
  JsonValue schema;
  bool required = true;
};
/// An object with these keys and no others.
[[nodiscard]] JsonValue object_schema(const std::vector<SchemaProperty>& properties);

/// The schema with a description as its first member; unchanged if that is empty.
[[nodiscard]] JsonValue described(JsonValue schema, std::string_view description);

/// Replaces the value at a path of existing objects; the last key may be new.
void replace_at(JsonValue& root, const std::vector<std::string_view>& path, JsonValue value);

}  // namespace lockstep
