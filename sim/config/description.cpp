#include "sim/config/description.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/config/json/json_schema.hpp"
#include "sim/config/json/json_values.hpp"

namespace lockstep {

namespace {

JsonObject& members_of(JsonValue& schema) {
  return std::get<JsonObject>(schema.data);
}

bool same(const JsonValue& a, const JsonValue& b) {
  return json_text(a) == json_text(b);
}

/// Shorter objects are written wherever they occur.
constexpr std::size_t kLeastDefinition = 120;

/// Moves objects that occur several times to definitions.
class Definitions {
 public:
  explicit Definitions(const JsonValue& root) { count(root, "", false); }

  [[nodiscard]] JsonValue shortened(const JsonValue& schema, bool top = false) {
    JsonValue out = schema;
    if (auto* list = std::get_if<JsonArray>(&out.data)) {
      for (JsonValue& each : *list) each = shortened(each);
      return out;
    }
    auto* object = std::get_if<JsonObject>(&out.data);
    if (object == nullptr) return out;
    note_quantity(*object);
    const auto found = top ? seen_.end() : seen_.find(text_of(schema));
    if (found != seen_.end() && found->second.times > 1)
      return described(reference_schema(name_of(found->second, schema)), help_of(*object));
    for (JsonMember& member : *object) member.value = shortened(member.value);
    return out;
  }

  [[nodiscard]] JsonObject all() {
    JsonObject out;
    for (const std::string_view name : quantity_names())
      if (std::find(quantities_.begin(), quantities_.end(), name) != quantities_.end())
        out.push_back({std::string{name}, {}, quantity_schema(name)});
    out.insert(out.end(), definitions_.begin(), definitions_.end());
    return out;
  }

 private:
  struct Seen {
    int times = 0;
    std::string key;   // under which it was seen first
    std::string name;  // of its definition
  };

  static std::string help_of(const JsonObject& object) {
    const JsonValue* help = find_member(object, "description");
    const auto* text = help == nullptr ? nullptr : help->get_if<std::string>();
    return text == nullptr ? "" : *text;
  }

  static JsonValue without_help(const JsonValue& schema) {
    JsonValue out = schema;
    std::erase_if(members_of(out), [](const JsonMember& one) { return one.key == "description"; });
    return out;
  }

  /// Empty if it is no object schema worth a definition.
  static std::string text_of(const JsonValue& schema) {
    const auto* object = schema.get_if<JsonObject>();
    if (object == nullptr || find_member(*object, "properties") == nullptr) return {};
    std::string text = json_text(without_help(schema));
    return text.size() < kLeastDefinition ? std::string{} : text;
  }

  /// `named`: the members of `schema` are keys of files.
  void count(const JsonValue& schema, const std::string& key, bool named) {
    if (const auto* list = schema.get_if<JsonArray>())
      for (const JsonValue& each : *list) count(each, key, false);
    const auto* object = schema.get_if<JsonObject>();
    if (object == nullptr) return;
    if (const std::string text = text_of(schema); !text.empty() && !key.empty()) {
      Seen& seen = seen_[text];
      if (++seen.times > 1) return;
      seen.key = key;
    }
    for (const JsonMember& member : *object)
      count(member.value, named ? member.key : key, member.key == "properties" && !named);
  }

  void note_quantity(const JsonObject& object) {
    const JsonValue* reference = find_member(object, "$ref");
    const auto* text = reference == nullptr ? nullptr : reference->get_if<std::string>();
    if (text != nullptr) quantities_.push_back(text->substr(text->rfind('/') + 1));
  }

  bool is_taken(const std::string& name) const {
    const auto names = quantity_names();
    return std::find(names.begin(), names.end(), name) != names.end() ||
           std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  std::string name_of(Seen& seen, const JsonValue& schema) {
    if (!seen.name.empty()) return seen.name;
    seen.name = seen.key;
    for (int i = 2; is_taken(seen.name); ++i) seen.name = seen.key + "_" + std::to_string(i);
    names_.push_back(seen.name);
    JsonValue inner = shortened(without_help(schema), true);
    definitions_.push_back({seen.name, {}, std::move(inner)});
    return seen.name;
  }

  std::map<std::string, Seen> seen_{};
  std::vector<std::string> names_{};
  std::vector<std::string> quantities_{};
  JsonObject definitions_{};
};

}  // namespace

void ValueDescription::add(JsonValue schema) {
  const bool known = std::any_of(alternatives_.begin(), alternatives_.end(),
                                 [&schema](const JsonValue& each) { return same(each, schema); });
  if (!known) alternatives_.push_back(std::move(schema));
}

void ValueDescription::refine(std::string_view keyword, JsonValue value) {
  set_member(members_of(alternatives_.back()), keyword, std::move(value));
}

void ValueDescription::add_null() {
  for (JsonMember& member : members_of(alternatives_.back()))
    if (member.key == "enum") std::get<JsonArray>(member.value.data).push_back({{}, nullptr});
}

JsonValue ValueDescription::schema() const {
  if (alternatives_.empty()) return json_object({});
  if (alternatives_.size() == 1) return alternatives_.front();
  return json_object({{"oneOf", json_of(alternatives_)}});
}

ValueDescription& ObjectDescription::property(std::string_view key, std::string_view help,
                                              bool required) {
  auto found = std::find_if(properties_.begin(), properties_.end(),
                            [key](const Property& each) { return each.key == key; });
  if (found == properties_.end())
    found = properties_.insert(properties_.end(), {std::string{key}, {}, false});
  if (!help.empty()) found->help = help;
  found->required |= required;
  return found->value;
}

ValueDescription& ObjectDescription::others() {
  if (others_.empty()) others_.emplace_back();
  return others_.front();
}

void ObjectDescription::refine(std::string_view keyword, JsonValue value) {
  set_member(keywords_, keyword, std::move(value));
}

std::size_t ObjectDescription::choose(std::size_t count) {
  kinds_ = count;
  return kind_;
}

std::string ObjectDescription::choose_kind(std::string_view key, std::string_view help,
                                           const std::vector<std::string_view>& names,
                                           std::string_view fallback) {
  kind_key_ = key;
  kind_name_ = names.at(choose(names.size()));
  (void)property(key, help, kind_name_ != fallback);
  return kind_name_;
}

JsonValue ObjectDescription::schema(const std::vector<JsonValue>& kinds) const {
  JsonObject members;
  std::vector<JsonValue> required;
  for (const Property& each : properties_) {
    JsonValue type =
        each.key == kind_key_ ? json_object({{"enum", json_of(kinds)}}) : each.value.schema();
    members.push_back({each.key, {}, described(std::move(type), each.help)});
    if (each.required) required.push_back(json_of(each.key));
  }
  JsonValue out = json_object({{"type", json_of("object")}});
  JsonObject& object = members_of(out);
  if (!members.empty()) object.push_back({"properties", {}, {{}, std::move(members)}});
  if (!required.empty()) set_member(object, "required", json_of(std::move(required)));
  set_member(object, "additionalProperties",
             others_.empty() ? json_of(false) : others_.front().schema());
  for (const JsonMember& keyword : keywords_) set_member(object, keyword.key, keyword.value);
  return out;
}

void ObjectDescription::add_all(const std::vector<ObjectDescription>& runs, ValueDescription& to) {
  std::vector<bool> added(runs.size(), false);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (added[i]) continue;
    std::vector<JsonValue> kinds;
    for (std::size_t j = i; j < runs.size(); ++j) {
      if (added[j] || !same(runs[i].schema({}), runs[j].schema({}))) continue;
      added[j] = true;
      kinds.push_back(json_of(runs[j].kind_name_));
    }
    to.add(runs[i].schema(kinds));
  }
}

JsonValue document_schema(std::string_view title, std::string_view description,
                          const JsonValue& root) {
  Definitions definitions{root};
  JsonValue out = json_object({{"$schema", json_of("http://json-schema.org/draft-07/schema#")},
                               {"title", json_of("Lockstep " + std::string{title})},
                               {"description", json_of(description)}});
  const JsonValue body = definitions.shortened(root, true);
  for (const JsonMember& member : *body.get_if<JsonObject>())
    set_member(members_of(out), member.key, member.value);
  if (JsonObject all = definitions.all(); !all.empty())
    set_member(members_of(out), "definitions", {{}, std::move(all)});
  return out;
}

}  // namespace lockstep
