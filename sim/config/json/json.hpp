#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/json/config_error.hpp"

/// JSON with the position of every value and key; members keep their order.
namespace lockstep {

/// A number that is not a 64-bit integer.
struct JsonNumber {
  double value = 0;                 // finite unless Python's forms are allowed
  std::string text;                 // as written
  bool written_as_integer = false;  // an integer beyond int64
};

struct JsonMember;
struct JsonValue;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<JsonMember>;

struct JsonValue {
  Position at;  // of the first character
  std::variant<std::nullptr_t, bool, std::int64_t, JsonNumber, std::string, JsonArray, JsonObject>
      data;

  /// nullptr if the value has another type.
  template <class T>
  [[nodiscard]] const T* get_if() const {
    return std::get_if<T>(&data);
  }
};

struct JsonMember {
  std::string key;
  Position key_at;
  JsonValue value;
};

/// The first member with this key; nullptr if there is none.
[[nodiscard]] const JsonValue* find_member(const JsonObject& object, std::string_view key);

struct JsonDocument {
  std::string file;
  JsonValue root;
};

inline constexpr std::size_t kLargestJson = std::size_t{8} << 20U;  // bytes
inline constexpr std::size_t kDeepestJson = 64;                     // nesting
inline constexpr std::size_t kLongestKey = 256;                     // bytes

/// Numbers that a text may contain.
enum class JsonNumbers : std::uint8_t {
  finite,  // as in RFC 8259
  python,  // also NaN, Infinity and -Infinity, which Python's json module writes
};

/// Parses strict JSON (RFC 8259) in UTF-8; a leading byte order mark is ignored. Errors name
/// `file`. Throws ConfigError on malformed text (the first error), nesting deeper than
/// kDeepestJson, a key longer than kLongestKey (keys are part of pointers), a number outside the
/// range of double, more than kLargestJson bytes, and duplicate keys (all of them, each with the
/// position of the first).
[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string file,
                                      JsonNumbers numbers = JsonNumbers::finite);

/// A long list that is processed without being stored.
struct JsonStream {
  std::size_t largest = kLargestJson;  // bytes of the text
  std::string_view key;                // of an array in the top-level object
  /// Called with every element of that array when it is complete; the document's array stays empty.
  std::function<void(const JsonValue& element, std::size_t index)> take;
};

/// The same with a streamed list. If the text is malformed after some elements, these have been
/// passed to `take` before ConfigError is thrown.
[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string file,
                                      const JsonStream& stream);

/// The same from a file; ConfigError also if it is missing, a directory or unreadable.
[[nodiscard]] JsonDocument read_json(const std::filesystem::path& path,
                                     JsonNumbers numbers = JsonNumbers::finite);

}  // namespace lockstep
