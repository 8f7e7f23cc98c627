#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"

/// JSON Schema (draft-07) of the types that ObjectReader reads, for schemas generated from tables
/// of fields.
namespace lockstep {

[[nodiscard]] JsonValue integer_schema(std::int64_t min, std::int64_t max);
[[nodiscard]] JsonValue number_schema(double min, double max);
[[nodiscard]] JsonValue boolean_schema();
/// Quantities with their units, and text: definitions that reference_schema() refers to.
[[nodiscard]] std::span<const std::string_view> quantity_names();
[[nodiscard]] JsonValue quantity_schema(std::string_view name);
/// One of several names.
[[nodiscard]] JsonValue names_schema(const std::vector<std::string_view>& names);
/// An object with any keys.
[[nodiscard]] JsonValue any_object_schema();
/// A text that a regular expression (ECMA 262) matches.
[[nodiscard]] JsonValue text_schema(std::string_view pattern, std::string_view description = {});
/// A definition of the same file, e.g. "duration".
[[nodiscard]] JsonValue reference_schema(std::string_view definition);
/// An array of at least `min_items` elements (0: no limit).
[[nodiscard]] JsonValue array_schema(JsonValue items, std::int64_t min_items = 0);

/// The schema with a description as its first member; unchanged if that is empty.
[[nodiscard]] JsonValue described(JsonValue schema, std::string_view description);

}  // namespace lockstep
