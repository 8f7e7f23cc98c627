#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::app {

/// A JSON value to write; all results are written through it. Objects keep insertion order. (Input
/// files are read by sim/config/json/json.hpp, which is strict.)
class Json {
 public:
  using Members = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_{value} {}
  Json(double value) : value_{value} {}
  Json(std::string value) : value_{std::move(value)} {}
  Json(std::string_view value) : value_{std::string{value}} {}
  Json(const char* value) : value_{std::string{value}} {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Json(T value) {
    if constexpr (std::is_signed_v<T>) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  template <class A, class B>
  Json(const std::pair<A, B>& both) : value_{std::vector<Json>{both.first, both.second}} {}
  template <class T>
  Json(const std::vector<T>& values) : value_{std::vector<Json>(values.begin(), values.end())} {}
  /// {{"key", value}, ...} is an object, any other list an array.
  Json(std::initializer_list<Json> list);

  [[nodiscard]] static Json array();
  [[nodiscard]] static Json object();
  /// Parses output of dump(), or other text known to be well-formed.
  [[nodiscard]] static Json parse(const std::string& text);

  /// The member of an object, added as null if absent. Null becomes an object.
  Json& operator[](std::string_view key);
  /// The member or element, which must exist.
  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] const Json& at(std::size_t index) const;
  void erase(std::string_view key);
  /// Adds or replaces the members of an object.
  void update(const Json& members);
  /// Null becomes an array.
  void push_back(Json value);

  /// Number of elements or members; 0 for any other value.
  [[nodiscard]] std::size_t size() const;

  /// On one line, or indented by `indent` spaces per level. Bytes that are not UTF-8 are replaced.
  [[nodiscard]] std::string dump(int indent = -1) const;

 private:
  friend struct JsonConversion;
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
               std::vector<Json>, Members>
      value_ = nullptr;
};

}  // namespace lockstep::app
