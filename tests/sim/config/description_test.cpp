#include "sim/config/description.hpp"

#include <doctest/doctest.h>

#include <string>

#include "sim/config/json/json_values.hpp"
#include "sim/config/reader.hpp"

/// Expectations follow from the calls of each reader: its verbs give types and ranges, their forms
/// (`x(key)`, `x(key, fallback)`, `optional_x(key)`) what is required.
namespace lockstep {
namespace {

/// The schema without its head.
template <class Read>
std::string described_by(Read read) {
  JsonValue schema = schema_of("test", "A test.", [&read](ObjectReader& in) {
    read(in);
    return true;
  });
  std::erase_if(std::get<JsonObject>(schema.data), [](const JsonMember& each) {
    return each.key == "$schema" || each.key == "title" || each.key == "description" ||
           each.key == "definitions";
  });
  std::string text = json_text(schema);
  const std::string own = R"("$schema": {"$ref": "#/definitions/text"})";
  for (std::size_t at = 0; (at = text.find(own, at)) != std::string::npos;)
    text.erase(at, own.size() + (text[at + own.size()] == ',' ? 2 : 0));
  return text;
}

TEST_CASE("a reader describes types, ranges, help and what is required") {
  CHECK(described_by([](ObjectReader& in) {
          (void)in.integer({"count", "How many"}, 1, 8);
          (void)in.number("share", 0, 1, 0.5);
          (void)in.optional_rate("rate");
        }) ==
        R"({"type": "object", "properties": {)"
        R"("count": {"description": "How many", "type": "integer", "minimum": 1, "maximum": 8}, )"
        R"("share": {"type": "number", "minimum": 0, "maximum": 1}, )"
        R"("rate": {"$ref": "#/definitions/rate"}}, )"
        R"("required": ["count"], "additionalProperties": false})");
}

TEST_CASE("objects and arrays are described with their elements, user-defined keys too") {
  CHECK(described_by([](ObjectReader& in) {
          in.optional_array(
              "sizes", [](const ValueReader& each) { (void)each.positive_bytes(); }, 1, 3);
          in.object("names", [](ObjectReader& names) {
            for (const auto& [name, value] : names.all()) (void)value.boolean();
          });
        }) == R"({"type": "object", "properties": {)"
              R"("sizes": {"type": "array", "items": {"$ref": "#/definitions/size"}, )"
              R"("minItems": 1, "maxItems": 3}, )"
              R"("names": {"type": "object", "additionalProperties": {"type": "boolean"}}}, )"
              R"("required": ["names"], "additionalProperties": false})");
}

TEST_CASE("every kind is described with its keys, kinds with equal keys together") {
  CHECK(described_by([](ObjectReader& in) {
          const auto kind = in.kind("kind", "kind", {"a", "b", "c"});
          if (kind == "b") (void)in.boolean("only_b");
        }) == R"({"oneOf": [)"
              R"({"type": "object", "properties": {"kind": {"enum": ["a", "c"]}}, )"
              R"("required": ["kind"], "additionalProperties": false}, )"
              R"({"type": "object", "properties": {"kind": {"enum": ["b"]}, )"
              R"("only_b": {"type": "boolean"}}, )"
              R"("required": ["kind", "only_b"], "additionalProperties": false}]})");
}

TEST_CASE("a key that changes what others are is described with and without it") {
  CHECK(described_by([](ObjectReader& in) {
          if (in.decisive("extends").has_value()) {
            (void)in.optional_boolean("flag");
          } else {
            (void)in.boolean("flag");
          }
        }) == R"({"oneOf": [)"
              R"({"type": "object", "properties": {"flag": {"type": "boolean"}}, )"
              R"("required": ["flag"], "additionalProperties": false}, )"
              R"({"type": "object", "properties": {"extends": {}, "flag": {"type": "boolean"}}, )"
              R"("required": ["extends"], "additionalProperties": false}]})");
}

TEST_CASE("a value that is read in two ways has either type, a keyword belongs to the last") {
  CHECK(described_by([](ObjectReader& in) {
          const ValueReader at = in.required("ranks");
          at.array([](const ValueReader& each) { (void)each.integer(0, 7); });
          at.refine("uniqueItems", "true");
          (void)at.one_of("group", {"all", "none"});
          at.allow_null();
        }) == R"({"type": "object", "properties": {"ranks": {"oneOf": [)"
              R"({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 7}, )"
              R"("uniqueItems": true}, {"enum": ["all", "none", null]}]}}, )"
              R"("required": ["ranks"], "additionalProperties": false})");
}

TEST_CASE("an object that stands in two places is a definition, named after the first") {
  const auto link = [](ObjectReader& in) {
    (void)in.rate("bandwidth");
    (void)in.duration("latency");
    (void)in.number("efficiency", 0, 1, 1);
  };
  const JsonValue schema = schema_of("test", "A test.", [&link](ObjectReader& in) {
    in.object({"up", "Towards the switch"}, link);
    in.object("down", link);
    return true;
  });
  const auto& root = *schema.get_if<JsonObject>();
  const std::string properties = json_text(*find_member(root, "properties"));
  CHECK(properties.find(R"("up": {"description": "Towards the switch", "$ref": )"
                        R"("#/definitions/up"}, "down": {"$ref": "#/definitions/up"})") !=
        std::string::npos);
  std::string names;
  for (const JsonMember& each : *find_member(root, "definitions")->get_if<JsonObject>())
    names += each.key + " ";
  CHECK(names == "text rate duration up ");
}

}  // namespace
}  // namespace lockstep
