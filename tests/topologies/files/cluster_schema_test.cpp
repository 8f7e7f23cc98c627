#include "topologies/files/cluster_schema.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/config/json.hpp"
#include "sim/config/json_values.hpp"

namespace lockstep {
namespace {

constexpr const char* kSchema = LOCKSTEP_SOURCE_DIR "/configs/schema/cluster.schema.json";

JsonValue& member(JsonValue& of, std::string_view key) {
  for (JsonMember& each : std::get<JsonObject>(of.data))
    if (each.key == key) return each.value;
  FAIL("no member " << key);
  return of;
}

/// Removes a builder's definition and every list entry that refers to it.
void forget(JsonValue& value, const std::string& builder) {
  if (auto* object = std::get_if<JsonObject>(&value.data)) {
    std::erase_if(*object, [&](const JsonMember& each) { return each.key == builder; });
    for (JsonMember& each : *object) forget(each.value, builder);
  } else if (auto* array = std::get_if<JsonArray>(&value.data)) {
    const std::string reference = R"({"$ref": "#/definitions/)" + builder + R"("})";
    std::erase_if(*array, [&](const JsonValue& each) { return json_text(each) == reference; });
    for (JsonValue& each : *array) forget(each, builder);
  }
}

TEST_CASE("a builder without a definition in the schema gets one, where its kind may stand") {
  for (const std::string builder : {"ring", "torus_3d", "nvl72", "dragonfly"}) {
    CAPTURE(builder);
    JsonDocument document = read_json(kSchema);
    const std::string shipped = json_text(document.root);
    forget(document.root, builder);
    REQUIRE(json_text(document.root) != shipped);
    write_cluster_schema(document.root);
    // As shipped, but for the definition's position: new ones come last.
    JsonObject& definitions = std::get<JsonObject>(member(document.root, "definitions").data);
    REQUIRE(definitions.back().key == builder);
    JsonDocument whole = read_json(kSchema);
    JsonObject& before = std::get<JsonObject>(member(whole.root, "definitions").data);
    const auto place = std::find_if(before.begin(), before.end(),
                                    [&](const JsonMember& each) { return each.key == builder; });
    REQUIRE(place != before.end());
    std::rotate(definitions.begin() + (place - before.begin()), definitions.end() - 1,
                definitions.end());
    CHECK(json_text(document.root) == shipped);
  }
}

}  // namespace
}  // namespace lockstep
