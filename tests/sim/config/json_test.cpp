#include "sim/config/json/json.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

using namespace lockstep;

namespace {

std::string error_of(std::string_view text) {
  try {
    (void)parse_json(text, "f");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// The text of the one error of a file named "f".
std::string one_error(std::string_view place_and_message) {
  return "f:" + std::string{place_and_message} + "\n1 error; nothing was run";
}

std::string place(Position at) {
  return std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string error_of_file(const std::filesystem::path& path) {
  try {
    (void)read_json(path);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// A folder of its own that goes away with the test.
class Scratch {
 public:
  Scratch() { std::filesystem::create_directories(folder_); }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::filesystem::path file(const std::string& name, std::string_view text) const {
    std::ofstream{folder_ / name, std::ios::binary} << text;
    return folder_ / name;
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("lockstep-json-test-" + std::to_string(::getpid()));
};

}  // namespace

TEST_CASE("every value and key has its line and column") {
  // Columns count code points from 1: after "é" (two bytes) the colon is in column 5.
  const JsonDocument document = parse_json(
      "{\n"
      "  \"a\": [1, -2.5, true],\n"
      "\t\"é\" : {\"x\": null, \"y\": \"z\"}\n"
      "}",
      "f");
  const auto& root = *document.root.get_if<JsonObject>();
  CHECK(place(document.root.at) == "1:1");
  CHECK(place(root[0].key_at) == "2:3");
  CHECK(place(root[0].value.at) == "2:8");
  const auto& array = *root[0].value.get_if<JsonArray>();
  CHECK(place(array[0].at) == "2:9");
  CHECK(place(array[1].at) == "2:12");
  CHECK(place(array[2].at) == "2:18");
  CHECK(place(root[1].key_at) == "3:2");
  CHECK(place(root[1].value.at) == "3:8");
  const auto& inner = *root[1].value.get_if<JsonObject>();
  CHECK(place(inner[0].value.at) == "3:14");
  CHECK(place(inner[1].key_at) == "3:20");
  CHECK(place(inner[1].value.at) == "3:25");
}

TEST_CASE("a byte order mark is passed over and takes no column") {
  const JsonDocument document = parse_json("\xEF\xBB\xBF[7]", "f");
  CHECK(place(document.root.at) == "1:1");
  CHECK(place(document.root.get_if<JsonArray>()->front().at) == "1:2");
}

TEST_CASE("numbers keep what was written") {
  const JsonDocument document = parse_json(
      "[9223372036854775807, -9223372036854775808, 9223372036854775808, 3.0, 1e2, -0, "
      "123456789012345678901234567890]",
      "f");
  const auto& values = *document.root.get_if<JsonArray>();
  CHECK(*values[0].get_if<std::int64_t>() == INT64_MAX);
  CHECK(*values[1].get_if<std::int64_t>() == INT64_MIN);
  CHECK(values[2].get_if<JsonNumber>()->written_as_integer);  // INT64_MAX + 1
  CHECK(values[2].get_if<JsonNumber>()->value == 9223372036854775808.0);
  CHECK_FALSE(values[3].get_if<JsonNumber>()->written_as_integer);
  CHECK(values[3].get_if<JsonNumber>()->text == "3.0");
  CHECK(values[4].get_if<JsonNumber>()->value == 100);
  CHECK(*values[5].get_if<std::int64_t>() == 0);
  CHECK(values[6].get_if<JsonNumber>()->text == "123456789012345678901234567890");
}

TEST_CASE("malformed text gets one plain sentence at its place") {
  struct Case {
    std::string_view text;
    std::string_view error;
  };
  // Each place is that of the first character that no JSON text (RFC 8259) could have there, or of
  // the token that is broken off.
  for (const Case& c : std::vector<Case>{
           {"", "1:1: error: the file is empty"},
           {" \n ", "2:2: error: the file is empty"},
           {"{", "1:2: error: expected a key in double quotes, got the end of the file"},
           {"[1", "1:3: error: expected \",\" or \"]\", got the end of the file"},
           {"{\"a\": 1", "1:8: error: expected \",\" or \"}\", got the end of the file"},
           {"[1, ]", "1:5: error: JSON has no comma before a closing \"]\""},
           {"{\"a\": 1,\n}", "2:1: error: JSON has no comma before a closing \"}\""},
           {"[,1]", "1:2: error: expected a value, got \",\""},
           {"[1,,2]", "1:4: error: expected a value, got \",\""},
           {"[1 2]", "1:4: error: expected \",\" or \"]\", got a number"},
           {"[1 \"2\"]", "1:4: error: expected \",\" or \"]\", got a string"},
           {"[1 true]", "1:4: error: expected \",\" or \"]\", got true"},
           {"{\"a\" 1}", "1:6: error: expected \":\" after the key, got a number"},
           {"{\"a\":1\"b\":2}", "1:7: error: expected \",\" or \"}\", got a string"},
           {"{1: 2}", "1:2: error: expected a key in double quotes, got a number"},
           {"{\"a\":}", "1:6: error: expected a value, got \"}\""},
           {"{a: 1}", "1:2: error: expected a key in double quotes, got \"a\""},
           {"[1}", "1:3: error: expected \",\" or \"]\", got \"}\""},
           {"{} x", "1:4: error: there is more text after the end of the document"},
           {"{}\n{}", "2:1: error: there is more text after the end of the document"},
           {"[nul]", "1:2: error: expected a value, got \"nul\""},
           {"[NaN]", "1:2: error: expected a value, got \"NaN\""},
           {"[-Infinity]", "1:2: error: malformed number \"-Infinity\""},
           {"[1.]", "1:2: error: malformed number \"1.\""},
           {"[-1e400]", "1:2: error: \"-1e400\" is too large"},
           {"// x\n{}", "1:1: error: JSON has no comments"},
           {"{'a': 1}", "1:2: error: JSON strings take double quotes"},
           {"[\"a", "1:2: error: this string has no closing quote"},
           {"[\"a\nb\"]",
            "1:4: error: a string ends on the line it begins on; write a line break as \\n"},
           {"[\"a\tb\"]",
            "1:4: error: a control character in a string is written as \\t, \\n or \\u00XX"},
           {"[\"\\x\"]",
            "1:4: error: no such escape; there are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX"},
           {"[\"\\u12\"]", "1:7: error: \\u takes four hexadecimal digits"},
           {"[\"\xC3\xA9\xFF\"]", "1:4: error: this byte is not valid UTF-8"},
           {"[\"\xC0\xAF\"]", "1:3: error: this byte is not valid UTF-8"},  // overlong "/"
           {"\xFF\xFE", "1:1: error: this character cannot stand outside a string"},
           {std::string_view{"{}\0{}", 5}, "1:3: error: a zero byte: this is not a UTF-8 text"}}) {
    CAPTURE(c.text);
    CHECK(error_of(c.text) == one_error(c.error));
  }
  CHECK(error_of(R"(["\ud800"])").find("half a surrogate pair") != std::string::npos);
}

TEST_CASE("duplicate keys are refused, all of them, with both places") {
  CHECK(error_of("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2},\n \"a\": 3}") ==
        "f:2:16: error: /b/c: the key \"c\" was given before, at line 2, column 8\n"
        "f:3:2: error: /a: the key \"a\" was given before, at line 1, column 2\n"
        "2 errors; nothing was run");
  // The pointer of a key inside an array's second element; "/" is escaped (RFC 6901).
  CHECK(error_of(R"([0, {"x/y": 1, "x/y": 2}])") ==
        one_error("1:16: error: /1/x~1y: the key \"x/y\" was given before, at line 1, column 6"));
}

TEST_CASE("nesting ends at 64 levels, however deep the text goes") {
  const std::string allowed = std::string(64, '[') + std::string(64, ']');
  CHECK(error_of(allowed) == "accepted");
  const std::string hostile(1'000'000, '[');
  CHECK(error_of(hostile) == one_error("1:65: error: nested deeper than 64 levels"));
}

TEST_CASE("keys have at most 256 bytes") {
  CHECK(error_of("{\"" + std::string(256, 'k') + "\": 1}") == "accepted");
  CHECK(error_of("{\"" + std::string(257, 'k') + "\": 1}") ==
        one_error("1:2: error: a key of more than 256 bytes"));
}

TEST_CASE("a text of more than 8 MiB is refused") {
  CHECK(error_of(std::string(kLargestJson, ' ') + "1") ==
        "f: error: larger than 8 MiB\n1 error; nothing was run");
  CHECK(error_of(std::string(kLargestJson - 1, ' ') + "1") == "accepted");
}

TEST_CASE("files that are no files are refused by name") {
  const Scratch scratch;
  const std::string folder = scratch.folder().string();
  CHECK(error_of_file(folder) ==
        folder + ": error: this is a directory; expected a JSON file\n1 error; nothing was run");
  CHECK(error_of_file(folder + "/none.json") ==
        folder + "/none.json: error: no such file\n1 error; nothing was run");
  const auto empty = scratch.file("empty.json", "");
  CHECK(error_of_file(empty) ==
        empty.string() + ":1:1: error: the file is empty\n1 error; nothing was run");
  const auto large = scratch.file("large.json", std::string(kLargestJson + 1, ' '));
  CHECK(error_of_file(large) ==
        large.string() + ": error: larger than 8 MiB\n1 error; nothing was run");
  const auto secret = scratch.file("secret.json", "{}");
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  if (::geteuid() == 0) return;  // root may read everything
  CHECK(error_of_file(secret) == secret.string() +
                                     ": error: cannot be read: Permission denied\n"
                                     "1 error; nothing was run");
}
