#include "tools/lockstep/help/schema_file.hpp"

#include "tools/app/inputs/config_folder.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

SchemaFile::SchemaFile(const std::string& name) {
  try {
    document_ = read_json(config_folder() + "/schema/" + name + ".schema.json");
  } catch (const Error&) {
    document_.root.data = JsonObject{};
  }
}

const JsonValue* SchemaFile::member(const JsonValue& value, std::string_view key) {
  const auto* object = value.get_if<JsonObject>();
  return object != nullptr ? find_member(*object, key) : nullptr;
}

std::string SchemaFile::text(const JsonValue& value, std::string_view key) {
  const JsonValue* found = member(value, key);
  const auto* text = found != nullptr ? found->get_if<std::string>() : nullptr;
  return text != nullptr ? *text : std::string{};
}

const JsonValue& SchemaFile::resolved(const JsonValue& value) const {
  std::string reference = text(value, "$ref");
  const JsonValue* all = member(value, "allOf");
  const auto* list = all != nullptr ? all->get_if<JsonArray>() : nullptr;
  if (reference.empty() && list != nullptr && list->size() == 1)
    reference = text(list->front(), "$ref");
  constexpr std::string_view kHere = "#/definitions/";
  if (reference.rfind(kHere, 0) != 0) return value;
  const JsonValue* definitions = member(root(), "definitions");
  const JsonValue* one =
      definitions != nullptr ? member(*definitions, reference.substr(kHere.size())) : nullptr;
  return one != nullptr ? *one : value;
}

}  // namespace lockstep::cli
