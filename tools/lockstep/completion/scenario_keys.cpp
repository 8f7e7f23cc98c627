#include "tools/lockstep/completion/scenario_keys.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/config/json.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

namespace {

/// A schema file of the folder of the configs; what cannot be read has no keys.
class Schema {
 public:
  explicit Schema(const std::string& name) {
    try {
      document_ = read_json(config_folder() + "/schema/" + name + ".schema.json");
    } catch (const Error&) {
      document_.root.data = JsonObject{};
    }
  }

  [[nodiscard]] const JsonValue& root() const { return document_.root; }

  [[nodiscard]] static const JsonValue* member(const JsonValue& value, std::string_view key) {
    const auto* object = value.get_if<JsonObject>();
    return object != nullptr ? find_member(*object, key) : nullptr;
  }

  /// What "$ref" points to, else the value itself.
  [[nodiscard]] const JsonValue& resolved(const JsonValue& value) const {
    const JsonValue* reference = member(value, "$ref");
    const auto* text = reference != nullptr ? reference->get_if<std::string>() : nullptr;
    constexpr std::string_view kHere = "#/definitions/";
    if (text == nullptr || text->rfind(kHere, 0) != 0) return value;
    const JsonValue* all = member(root(), "definitions");
    const JsonValue* one = all != nullptr ? member(*all, text->substr(kHere.size())) : nullptr;
    return one != nullptr ? *one : value;
  }

 private:
  JsonDocument document_;
};

std::string text_of(const JsonValue& value, std::string_view key) {
  const JsonValue* found = Schema::member(value, key);
  const auto* text = found != nullptr ? found->get_if<std::string>() : nullptr;
  return text != nullptr ? *text : std::string{};
}

void add_values(const JsonValue& schema, const std::string& key, Completions& out) {
  if (text_of(schema, "type") == "boolean")
    for (const char* value : {"true", "false"}) out.add(key + "=" + value);
  const JsonValue* choices = Schema::member(schema, "enum");
  const auto* list = choices != nullptr ? choices->get_if<JsonArray>() : nullptr;
  if (list == nullptr) return;
  for (const JsonValue& choice : *list)
    if (const auto* text = choice.get_if<std::string>()) out.add(key + "=" + *text);
}

/// Calls `visit(key, schema)` for each property, and for those of its alternatives.
template <class Visit>
void each_property(const Schema& file, const JsonValue& schema, const Visit& visit) {
  const JsonValue& here = file.resolved(schema);
  if (const JsonValue* properties = Schema::member(here, "properties"))
    if (const auto* object = properties->get_if<JsonObject>())
      for (const JsonMember& each : *object) visit(each.key, each.value);
  for (const char* several : {"oneOf", "anyOf", "allOf"})
    if (const JsonValue* alternatives = Schema::member(here, several))
      if (const auto* list = alternatives->get_if<JsonArray>())
        for (const JsonValue& each : *list) each_property(file, each, visit);
}

/// The values of `key` after a "=", else its keys: those of objects two levels down, as in
/// parallel.algorithms.dp.
void collect(const Schema& file, const JsonValue& schema, const std::string& prefix,
             const std::optional<std::string>& valued, Completions& out) {
  constexpr std::size_t kDeepest = 2;
  each_property(file, schema, [&](const std::string& name, const JsonValue& property) {
    if (name.front() == '$') return;
    const std::string key = prefix + name;
    const JsonValue& type = file.resolved(property);
    bool object = false;
    if (static_cast<std::size_t>(std::count(key.begin(), key.end(), '.')) < kDeepest)
      each_property(file, type, [&](const std::string&, const JsonValue&) { object = true; });
    if (object) collect(file, type, key + ".", valued, out);
    if (!valued && !object) out.add(key + "=", text_of(property, "description"));
    if (valued == key) add_values(type, key, out);
  });
}

}  // namespace

Completions complete_override(const std::string& typed) {
  const std::size_t equals = typed.find('=');
  const auto valued =
      equals == std::string::npos ? std::nullopt : std::optional{typed.substr(0, equals)};
  Completions out;
  const Schema scenario("scenario");
  collect(scenario, scenario.root(), "", valued, out);
  const Schema model("model");
  collect(model, model.root(), "model.", valued, out);
  return out;
}

}  // namespace lockstep::cli
