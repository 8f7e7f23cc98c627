#pragma once

#include <string>
#include <string_view>

#include "sim/config/json/json.hpp"

namespace lockstep::cli {

/// A schema file of the folder of the configs; what cannot be read has no keys.
class SchemaFile {
 public:
  explicit SchemaFile(const std::string& name);

  [[nodiscard]] const JsonValue& root() const { return document_.root; }

  /// Null if `value` is no object with this key.
  [[nodiscard]] static const JsonValue* member(const JsonValue& value, std::string_view key);
  /// The text of a key; empty if there is none.
  [[nodiscard]] static std::string text(const JsonValue& value, std::string_view key);

  /// What "$ref" or the one of "allOf" points to, else the value itself.
  [[nodiscard]] const JsonValue& resolved(const JsonValue& value) const;

  /// Calls `visit(key, schema)` for each property, and for those of its alternatives.
  template <class Visit>
  void each_property(const JsonValue& schema, const Visit& visit) const {
    const JsonValue& here = resolved(schema);
    if (const JsonValue* properties = member(here, "properties"))
      if (const auto* object = properties->get_if<JsonObject>())
        for (const JsonMember& each : *object) visit(each.key, each.value);
    for (const char* several : {"oneOf", "anyOf", "allOf"})
      if (const JsonValue* alternatives = member(here, several))
        if (const auto* list = alternatives->get_if<JsonArray>())
          for (const JsonValue& each : *list) each_property(each, visit);
  }

 private:
  JsonDocument document_;
};

}  // namespace lockstep::cli
