#include "strategies/scenario/scenario_overlay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "sim/config/complaint.hpp"
#include "sim/config/json/json_values.hpp"
#include "sim/config/json/pointer.hpp"
#include "sim/config/key_aliases.hpp"

namespace lockstep {
namespace {

[[noreturn]] void refuse(const std::string& file, std::string pointer, std::string message) {
  throw ConfigError{Problem{file, {}, std::move(pointer), std::move(message)}};
}

std::vector<std::string> split_at_dots(const std::string& key) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t dot = key.find('.', begin);
    parts.push_back(key.substr(begin, dot - begin));
    if (dot == std::string::npos) return parts;
    begin = dot + 1;
  }
}

/// All places become none: the value stands in no file.
void forget_places(JsonValue& value) {
  value.at = {};
  if (auto* array = std::get_if<JsonArray>(&value.data)) {
    for (JsonValue& element : *array) forget_places(element);
  }
  if (auto* object = std::get_if<JsonObject>(&value.data)) {
    for (JsonMember& member : *object) {
      member.key_at = {};
      forget_places(member.value);
    }
  }
}

/// `4`, `true`, `["tp", "pp"]`, `{"nodes": 2}`; whatever is no JSON is a text: `zb-h1`.
JsonValue value_of(const std::string& text, const std::string& file) {
  const bool json_only = !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"');
  try {
    JsonValue value = parse_json(text, file).root;
    forget_places(value);
    return value;
  } catch (const ConfigError& error) {
    if (json_only) refuse(file, "", error.problems().front().message);
    return json_of(text);
  }
}

/// Keys whose value is a list, so that it needs no brackets or quotes.
constexpr std::array<std::string_view, 4> kLists{"parallel.overlap", "parallel.order",
                                                 "parallel.recompute_modules", "parallel.stages"};

/// `dp_gradients,pp`, with brackets around it or not; one item is a list of one.
JsonValue list_of(std::string_view text, const std::string& file) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  JsonArray out;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string item{text.substr(begin, end - begin)};
    item.erase(0, std::min(item.find_first_not_of(' '), item.size()));
    out.push_back(value_of(item, file));
    begin = end + 1;
  }
  return {{}, std::move(out)};
}

/// The value of a key that is a list: JSON where it is a JSON array; the text of a pipeline's
/// layout, which has signs that no other list has, with quotes around it or not; else items between
/// commas.
JsonValue list_value_of(const std::string& text, const std::string& file) {
  const bool has_signs = text.find_first_of("|()*EL") != std::string::npos;
  if (has_signs && text.find_first_of("\"[") == std::string::npos) return json_of(text);
  try {
    JsonValue value = parse_json(text, file).root;
    const bool layout = has_signs && value.get_if<std::string>() != nullptr;
    if (value.get_if<JsonArray>() != nullptr || layout) {
      forget_places(value);
      return value;
    }
  } catch (const ConfigError&) {
    if (text.find('"') != std::string::npos) return value_of(text, file);  // its fault in JSON
  }
  return list_of(text, file);
}

JsonValue* element_of(JsonArray& array, const std::string& key) {
  std::size_t index = 0;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, index);
  const bool whole = error == std::errc{} && stop == end;
  return whole && index < array.size() ? &array[index] : nullptr;
}

/// The member of `at`, made (and said to be) where it is not there; nullptr where `at` can have
/// none.
JsonValue* child(JsonValue& at, const std::string& key, bool& made) {
  if (auto* array = std::get_if<JsonArray>(&at.data)) return element_of(*array, key);
  auto* object = std::get_if<JsonObject>(&at.data);
  if (object == nullptr) return nullptr;
  for (JsonMember& member : *object) {
    if (member.key == key) return &member.value;
  }
  made = true;
  object->push_back({key, {}, {{}, JsonObject{}}});
  return &object->back().value;
}

/// A cluster or model that is named becomes an object that names it.
void name_to_object(JsonValue& value) {
  if (const auto* name = value.get_if<std::string>())
    value = json_object({{"file", json_of(*name)}});
}

/// Where keys that are written without their object belong.
constexpr std::array<std::pair<std::string_view, std::string_view>, 31> kObjects{{
    {"tp", "parallel"},
    {"pp", "parallel"},
    {"dp", "parallel"},
    {"cp", "parallel"},
    {"ep", "parallel"},
    {"etp", "parallel"},
    {"vpp", "parallel"},
    {"zero", "parallel"},
    {"schedule", "parallel"},
    {"recompute", "parallel"},
    {"precision", "parallel"},
    {"overlap", "parallel"},
    {"micro_batch", "parallel"},
    {"global_batch", "parallel"},
    {"order", "parallel"},
    {"stages", "parallel"},
    {"bucket", "parallel"},
    {"exchange", "parallel"},
    {"algorithms", "parallel"},
    {"update", "parallel"},
    {"cp_kind", "parallel"},
    {"sequence_parallel", "parallel"},
    {"seq", "model"},
    {"layers", "model"},
    {"hidden", "model"},
    {"nodes", "cluster"},
    {"ranks", "cluster"},
    {"gpus", "cluster"},
    {"gpu", "cluster"},
    {"nics_per_node", "cluster"},
    {"nic_gbps", "cluster"},
}};

/// "tensor_parallel=4" as "parallel.tp=4".
std::string with_own_key(const KeyAlias& alias, const std::string& assignment) {
  const std::string value = assignment.substr(assignment.find('='));
  return alias.value.empty() ? std::string{alias.path} + value
                             : fmt::format("{}=VALUE: {}", alias.path, alias.value);
}

void refuse_without_object(const std::string& key, const std::string& assignment) {
  if (const KeyAlias* alias = find_key_alias(key))
    refuse("--set " + assignment, "/" + key,
           fmt::format("unknown key {}; use --set {}", in_quotes(key),
                       with_own_key(*alias, assignment)));
  const auto* found = std::find_if(kObjects.begin(), kObjects.end(),
                                   [&key](const auto& each) { return each.first == key; });
  if (found == kObjects.end()) return;
  refuse("--set " + assignment, "/" + key,
         fmt::format("unknown key {}; use --set {}.{}", in_quotes(key), found->second, assignment));
}

}  // namespace

void Overlay::apply(const std::string& assignment, JsonValue& root) {
  const std::string file = "--set " + assignment;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    refuse(file, "", "expected KEY=VALUE such as parallel.tp=4");
  }
  const std::vector<std::string> keys = split_at_dots(assignment.substr(0, equals));
  if (keys.size() == 1) refuse_without_object(keys.front(), assignment);
  JsonValue* at = &root;
  std::string pointer;
  std::string patched;  // the outermost that is new, else the whole way
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty()) refuse(file, "", "expected keys with dots between, such as parallel.tp");
    if (i == 1 && (keys[0] == "cluster" || keys[0] == "model")) name_to_object(*at);
    const std::string got = shown(*at);
    bool made = false;
    at = child(*at, keys[i], made);
    if (at == nullptr) refuse(file, pointer, got + " has no member " + in_quotes(keys[i]));
    pointer = child_pointer(pointer, keys[i]);
    if (made && patched.empty()) patched = pointer;
  }
  const std::string key = assignment.substr(0, equals);
  const bool is_list = std::find(kLists.begin(), kLists.end(), key) != kLists.end();
  const std::string text = assignment.substr(equals + 1);
  *at = is_list ? list_value_of(text, file) : value_of(text, file);
  patches_.push_back({patched.empty() ? pointer : patched, file});
}

std::string Overlay::override_of(const std::string& pointer) const {
  std::string out;
  for (const Patch& patch : patches_) {  // the last one that covers it
    const bool covers =
        pointer.starts_with(patch.pointer) &&
        (pointer.size() == patch.pointer.size() || pointer[patch.pointer.size()] == '/');
    if (covers) out = patch.file;
  }
  return out;
}

ConfigError Overlay::attributed(const ConfigError& error) const {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) {
    std::string place = override_of(problem.pointer);
    // Of the factors of a product the changed one is at fault.
    if (place.empty() && (problem.message.starts_with("dp * pp * cp * tp = ") ||
                          problem.message.starts_with("tp * pp * cp = ")))
      for (const char* factor : {"/parallel/tp", "/parallel/pp", "/parallel/cp", "/cluster/nodes",
                                 "/cluster/ranks", "/cluster/gpus"})
        if (place.empty()) place = override_of(factor);
    if (place.empty()) continue;
    problem.file = std::move(place);
    problem.at = {};
  }
  return {std::move(problems), error.total()};
}

}  // namespace lockstep
