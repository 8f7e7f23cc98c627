#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/config_error.hpp"

/// JSON as it was written: every value and every key with its place, members in their order.
namespace lockstep {

/// A number that is no 64-bit integer.
struct JsonNumber {
  double value = 0;                 // finite but in the form of Python
  std::string text;                 // as written
  bool written_as_integer = false;  // digits alone, but too large for int64
};

struct JsonMember;
struct JsonValue;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<JsonMember>;

struct JsonValue {
  Position at;  // of the first character
  std::variant<std::nullptr_t, bool, std::int64_t, JsonNumber, std::string, JsonArray, JsonObject>
      data;

  /// nullptr where the value is of another type.
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

/// The first member of that key; nullptr if there is none.
[[nodiscard]] const JsonValue* find_member(const JsonObject& object, std::string_view key);

struct JsonDocument {
  std::string file;
  JsonValue root;
};

inline constexpr std::size_t kLargestJson = std::size_t{8} << 20U;  // bytes
inline constexpr std::size_t kDeepestJson = 64;                     // containers in one another
inline constexpr std::size_t kLongestKey = 256;                     // bytes

/// Which numbers a text may have.
enum class JsonNumbers : std::uint8_t {
  finite,  // as RFC 8259 has it
  python,  // NaN, Infinity and -Infinity too, as Python's json module writes them
};

/// Strict JSON (RFC 8259) in UTF-8; a byte order mark at the start is ignored. `file` is the
/// name that errors carry. Throws ConfigError on malformed text (the first fault), on anything
/// nested deeper than kDeepestJson, on a key longer than kLongestKey (pointers hold keys, so they
/// must stay short), on a number no double can hold, on more than kLargestJson bytes, and on
/// duplicate keys (all of them, each with the place of the first).
[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string file,
                                      JsonNumbers numbers = JsonNumbers::finite);

/// A long list that is read without being kept.
struct JsonStream {
  std::size_t largest = kLargestJson;  // bytes of the text
  std::string_view key;                // of an array in the top-level object
  /// Called with every element of that array as it ends; in the document the array is then empty.
  std::function<void(const JsonValue& element, std::size_t index)> take;
};

/// The same with a list that is handed over element by element. Where the text is malformed behind
/// some of them, these have been handed over before ConfigError is thrown.
[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string file,
                                      const JsonStream& stream);

/// The same from a file; ConfigError also where it is missing, a directory or not readable.
[[nodiscard]] JsonDocument read_json(const std::filesystem::path& path,
                                     JsonNumbers numbers = JsonNumbers::finite);

}  // namespace lockstep
