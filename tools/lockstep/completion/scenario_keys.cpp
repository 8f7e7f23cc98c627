#include "tools/lockstep/completion/scenario_keys.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "sim/config/json/json.hpp"
#include "tools/lockstep/help/schema_file.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep::cli {

namespace {

void add_values(const JsonValue& schema, const std::string& key, Completions& out) {
  if (SchemaFile::text(schema, "type") == "boolean")
    for (const char* value : {"true", "false"}) out.add(key + "=" + value);
  const JsonValue* choices = SchemaFile::member(schema, "enum");
  const auto* list = choices != nullptr ? choices->get_if<JsonArray>() : nullptr;
  if (list == nullptr) return;
  for (const JsonValue& choice : *list)
    if (const auto* text = choice.get_if<std::string>()) out.add(key + "=" + *text);
}

/// The values of `key` after a "=", else its keys: those of objects two levels down, as in
/// parallel.algorithms.dp.
void collect(const SchemaFile& file, const JsonValue& schema, const std::string& prefix,
             const std::optional<std::string>& valued, Completions& out) {
  constexpr std::size_t kDeepest = 2;
  file.each_property(schema, [&](const std::string& name, const JsonValue& property) {
    if (name.front() == '$') return;
    const std::string key = prefix + name;
    const JsonValue& type = file.resolved(property);
    bool object = false;
    if (static_cast<std::size_t>(std::count(key.begin(), key.end(), '.')) < kDeepest)
      file.each_property(type, [&](const std::string&, const JsonValue&) { object = true; });
    if (object) collect(file, type, key + ".", valued, out);
    if (!valued && !object) out.add(key + "=", SchemaFile::text(property, "description"));
    if (valued == key) add_values(type, key, out);
  });
}

}  // namespace

Completions complete_override(const std::string& typed) {
  const std::size_t equals = typed.find('=');
  const auto valued =
      equals == std::string::npos ? std::nullopt : std::optional{typed.substr(0, equals)};
  Completions out;
  const SchemaFile scenario("scenario");
  collect(scenario, scenario.root(), "", valued, out);
  const SchemaFile model("model");
  collect(model, model.root(), "model.", valued, out);
  return out;
}

Completions complete_cluster_override() {
  Completions out;
  std::set<std::string> added;
  const auto add = [&](const std::string& key, std::string_view help) {
    if (added.insert(key).second) out.add(key + "=", std::string{help});
  };
  add("device", "Device of the GPUs");
  for (const Builder& builder : topology_builders()) {
    const std::string section = builder.is_fabric() ? "fabric." : "topology.";
    for (const Parameter& each : builder.parameters) {
      const std::string key = section + std::string{each.name};
      if (each.type != ParameterType::link) {
        add(key, each.description);
        continue;
      }
      for (const char* part : {".bandwidth", ".latency", ".efficiency"})
        add(key + part, each.description);
    }
  }
  return out;
}

}  // namespace lockstep::cli
