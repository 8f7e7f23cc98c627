#include "tools/lockstep/help/key_help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/config/key_aliases.hpp"
#include "tools/lockstep/help/schema_file.hpp"

namespace lockstep::cli {

namespace {

std::string number_text(const JsonValue& value) {
  if (const auto* whole = value.get_if<std::int64_t>()) return fmt::format("{}", *whole);
  if (const auto* number = value.get_if<JsonNumber>()) return number->text;
  return "";
}

std::string range_text(const JsonValue& type, const std::string& name) {
  const JsonValue* low = SchemaFile::member(type, "minimum");
  const JsonValue* high = SchemaFile::member(type, "maximum");
  if (low != nullptr && high != nullptr)
    return fmt::format("{}, {} to {}", name, number_text(*low), number_text(*high));
  return low != nullptr ? fmt::format("{}, at least {}", name, number_text(*low)) : name;
}

std::string choices_text(const JsonArray& choices) {
  std::vector<std::string> out;
  for (const JsonValue& each : choices)
    if (const auto* text = each.get_if<std::string>()) out.push_back(*text);
  return fmt::format("{}", fmt::join(out, ", "));
}

/// "integer, 1 to 8", "none, selective, full", "list of dp, tp, pp, cp".
std::string value_text(const SchemaFile& file, const JsonValue& schema) {
  const JsonValue& type = file.resolved(schema);
  if (const JsonValue* choices = SchemaFile::member(type, "enum"))
    if (const auto* list = choices->get_if<JsonArray>()) return choices_text(*list);
  if (const JsonValue* several = SchemaFile::member(type, "oneOf")) {
    std::vector<std::string> out;
    if (const auto* list = several->get_if<JsonArray>())
      for (const JsonValue& each : *list) out.push_back(value_text(file, each));
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return fmt::format("{}", fmt::join(out, " or "));
  }
  const std::string name = SchemaFile::text(type, "type");
  if (name == "boolean") return "true, false";
  if (name == "integer" || name == "number") return range_text(type, name);
  if (name == "string")
    return SchemaFile::member(type, "pattern") != nullptr ? "text with a unit" : "text";
  const JsonValue* items = SchemaFile::member(type, "items");
  if (name == "array" && items != nullptr) return "list of " + value_text(file, *items);
  return name.empty() ? "any" : name;
}

void add_keys(const SchemaFile& file, const JsonValue& type, KeyHelp& out) {
  file.each_property(type, [&out](const std::string& key, const JsonValue&) {
    const bool known = std::find(out.keys.begin(), out.keys.end(), key) != out.keys.end();
    if (!known && key.front() != '$') out.keys.push_back(key);
  });
}

void add_found(const SchemaFile& file, const JsonValue& schema, KeyHelp& out) {
  const JsonValue& type = file.resolved(schema);
  const std::string own = SchemaFile::text(schema, "description");
  const std::string text = own.empty() ? SchemaFile::text(type, "description") : own;
  const std::string value = value_text(file, schema);
  for (std::size_t i = 0; i < out.texts.size(); ++i)
    if (out.texts[i] == text && out.values[i] == value) return;
  out.texts.push_back(text);
  out.values.push_back(value);
  add_keys(file, type, out);
}

/// Every property at `path` below `schema`, of all alternatives.
void walk(const SchemaFile& file, const JsonValue& schema, std::string_view path, KeyHelp& out) {
  const std::size_t dot = path.find('.');
  const std::string_view first = path.substr(0, dot);
  file.each_property(schema, [&](const std::string& key, const JsonValue& property) {
    if (key != first) return;
    if (dot == path.npos)
      add_found(file, property, out);
    else
      walk(file, property, path.substr(dot + 1), out);
  });
}

std::optional<KeyHelp> at_path(const std::string& path) {
  KeyHelp out{path, {}, {}, {}, aliases_of_key(path), {}};
  const SchemaFile scenario("scenario");
  walk(scenario, scenario.root(), path, out);
  constexpr std::string_view kModel = "model.";
  if (path.rfind(kModel, 0) == 0) {
    const SchemaFile model("model");
    walk(model, model.root(), std::string_view{path}.substr(kModel.size()), out);
  }
  if (out.texts.empty()) return std::nullopt;
  if (path == "model") {
    const SchemaFile model("model");
    add_keys(model, model.root(), out);
  }
  return out;
}

}  // namespace

std::optional<KeyHelp> find_key_help(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const std::string_view object : {"", "parallel.", "cluster.", "model.", "parallel.state."})
    if (auto found = at_path(fmt::format("{}{}", object, name))) return found;
  const KeyAlias* alias = find_key_alias(name);
  if (alias == nullptr) return std::nullopt;
  auto found = at_path(std::string{alias->path});
  if (found) found->asked = fmt::format("{} is {} in Lockstep", name, alias->text(true));
  return found;
}

std::vector<std::string> lines_of(const KeyHelp& key) {
  std::vector<std::string> out;
  if (!key.asked.empty()) out.push_back(key.asked);
  for (std::size_t i = 0; i < key.texts.size(); ++i) {
    if (!key.texts[i].empty()) out.push_back(key.texts[i]);
    out.push_back("values: " + key.values[i]);
  }
  if (!key.keys.empty()) {
    out.push_back(fmt::format("keys: {}", fmt::join(key.keys, ", ")));
    out.push_back(fmt::format("`lockstep help {}.{}` explains one", key.path, key.keys.front()));
  } else {
    out.push_back(fmt::format("override: --set {}=VALUE", key.path));
  }
  if (!key.aliases.empty())
    out.push_back(fmt::format("other names: {}", fmt::join(key.aliases, ", ")));
  return out;
}

}  // namespace lockstep::cli
