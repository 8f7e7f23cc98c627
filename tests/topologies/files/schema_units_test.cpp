#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

/// Schemas and readers know the same units, in every schema that is shipped.
namespace lockstep {

namespace {

using Json = nlohmann::json;

/// Every text under a key "pattern", wherever it is.
void collect_patterns(const Json& at, std::set<std::string>& out) {
  if (!at.is_structured()) return;
  for (const auto& [key, value] : at.items()) {
    if (at.is_object() && key == "pattern" && value.is_string()) out.insert(value);
    collect_patterns(value, out);
  }
}

[[nodiscard]] std::set<std::string> shipped_patterns() {
  std::set<std::string> out;
  for (const auto& file :
       std::filesystem::directory_iterator{LOCKSTEP_SOURCE_DIR "/configs/schema"})
    collect_patterns(Json::parse(text_of_file(file.path())), out);
  return out;
}

/// Prefixes before every base unit that any quantity has, and those without.
[[nodiscard]] std::vector<std::string> candidates() {
  std::vector<std::string> out{"ps", "ns", "us", "µs", "ms", "s", "min", "h", "d", "", "%"};
  for (const char* base :
       {"B", "b", "bit", "B/s", "b/s", "bit/s", "FLOP/s", "FLOPS", "FLOP", "flop/s"})
    for (const char* prefix : {"", "k", "K", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi"})
      out.push_back(std::string{prefix} + base);
  return out;
}

/// The reader behind a pattern, by how it ends.
using Parses = bool (*)(std::string_view);
[[nodiscard]] Parses reader_of(const std::string& pattern) {
  if (pattern.ends_with("FLOP/s$"))
    return [](std::string_view text) { return parse_flop_rate(text).has_value(); };
  if (pattern.ends_with("/s$"))
    return [](std::string_view text) { return parse_rate(text).has_value(); };
  if (pattern.ends_with("|h)$"))
    return [](std::string_view text) { return parse_duration(text).has_value(); };
  if (pattern.ends_with("iB)$"))
    return [](std::string_view text) { return parse_bytes(text).has_value(); };
  return nullptr;
}

[[nodiscard]] bool accepts(const std::string& pattern, const std::string& text) {
  return std::regex_search(text, std::regex{pattern});
}

}  // namespace

TEST_CASE("every unit that a schema knows its reader knows too, and the other way round") {
  std::size_t checked = 0;
  for (const std::string& pattern : shipped_patterns()) {
    CAPTURE(pattern);
    const Parses parses = reader_of(pattern);
    if (parses == nullptr) {  // a power in watts, a count of tokens, an oversubscription such as
                              // 2:1; quantities of campaigns, which their own test checks
      const bool of_campaigns = pattern.find("|d|y)") != std::string::npos ||
                                pattern.ends_with("J/FLOP)$") || pattern.ends_with("J/B)$");
      CHECK((of_campaigns || pattern.ends_with("W$") || pattern.ends_with("MW)$") ||
             pattern.ends_with("[KMBGT]$") || pattern.find(':') != std::string::npos));
      continue;
    }
    ++checked;
    for (const std::string& unit : candidates()) {
      const std::string text = "1.5 " + unit;
      CAPTURE(text);
      CHECK(accepts(pattern, text) == parses(text));
      CHECK(accepts(pattern, "15" + unit) == parses("15" + unit));
    }
  }
  CHECK(checked >= 5);
}

TEST_CASE("schemas count digits as readers do, and know where zero is refused") {
  for (const std::string& pattern : shipped_patterns()) {
    const Parses parses = reader_of(pattern);
    if (parses == nullptr) continue;
    const bool flops = pattern.ends_with("FLOP/s$");
    const std::string unit = flops                       ? " FLOP/s"
                             : pattern.ends_with("/s$")  ? " B/s"
                             : pattern.ends_with("|h)$") ? " ps"
                                                         : " B";
    CAPTURE(pattern);
    for (const int digits : {1, 14, 18, 19}) {  // 18 of them fit every quantity that has so many
      const std::string text = std::string(static_cast<std::size_t>(digits), '1') + unit;
      if (digits == 18 && unit == " B/s") continue;  // more than 2^47 bytes a second
      CAPTURE(text);
      CHECK(accepts(pattern, text) == parses(text));
    }
    // Rates are above zero; sizes and durations may be zero, unless the key says otherwise.
    if (pattern.ends_with("/s$")) CHECK(accepts(pattern, "0" + unit) == parses("0" + unit));
  }
}

}  // namespace lockstep
