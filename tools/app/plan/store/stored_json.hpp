#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

/// JSON in a store, as this program wrote it. Errors: RequestError, that the store is damaged.
class StoredJson {
 public:
  explicit StoredJson(const JsonDocument& document) : file_{document.file}, root_{document.root} {}

  [[nodiscard]] const JsonValue& member(const JsonValue& of, std::string_view key) const {
    const auto* object = of.get_if<JsonObject>();
    const JsonValue* found = object == nullptr ? nullptr : find_member(*object, key);
    if (found == nullptr) fail();
    return *found;
  }
  [[nodiscard]] const JsonValue& member(std::string_view key) const { return member(root_, key); }
  template <class T>
  [[nodiscard]] const T& as(const JsonValue& value) const {
    const T* out = value.get_if<T>();
    if (out == nullptr) fail();
    return *out;
  }
  [[nodiscard]] std::string text(const JsonValue& value) const { return as<std::string>(value); }
  [[nodiscard]] std::int64_t whole(const JsonValue& value) const { return as<std::int64_t>(value); }
  [[nodiscard]] std::vector<std::string> texts(const JsonValue& value) const {
    std::vector<std::string> out;
    for (const JsonValue& each : as<JsonArray>(value)) out.push_back(text(each));
    return out;
  }
  [[nodiscard]] std::optional<double> number(const JsonValue& value) const {
    if (value.get_if<std::nullptr_t>() != nullptr) return std::nullopt;
    if (const auto* count = value.get_if<std::int64_t>()) return static_cast<double>(*count);
    return as<JsonNumber>(value).value;
  }

  [[noreturn]] void fail() const {
    throw RequestError(fmt::format("{} is damaged: its search cannot be read", file_));
  }

 private:
  const std::string& file_;
  const JsonValue& root_;
};

}  // namespace lockstep::app
