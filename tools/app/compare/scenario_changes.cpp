#include "tools/app/compare/scenario_changes.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "sim/config/json/json_values.hpp"

namespace lockstep::app {

namespace {

constexpr std::array<std::string_view, 8> kWithoutEffect{
    "$schema", "name", "summary", "source", "variants", "seed", "model.name", "model.source"};
constexpr std::array<std::string_view, 4> kDegrees{"parallel.dp", "parallel.tp", "parallel.pp",
                                                   "parallel.cp"};
constexpr std::array<std::string_view, 2> kExpertDegrees{"parallel.ep", "parallel.etp"};
constexpr std::array<std::string_view, 4> kPipeline{"parallel.schedule", "parallel.vpp",
                                                    "parallel.stages", "parallel.short_edges"};

template <std::size_t N>
[[nodiscard]] bool is_one_of(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Leaves that differ; objects are compared member by member, in the order of `a`, then of `b`.
void add_differences(const JsonValue* a, const JsonValue* b, const std::string& key,
                     std::vector<DifferentKey>& out) {
  const JsonObject* left = a == nullptr ? nullptr : a->get_if<JsonObject>();
  const JsonObject* right = b == nullptr ? nullptr : b->get_if<JsonObject>();
  if (left != nullptr && right != nullptr) {
    const auto inner = [&](const std::string& name) {
      return key.empty() ? name : key + "." + name;
    };
    for (const JsonMember& each : *left)
      add_differences(&each.value, find_member(*right, each.key), inner(each.key), out);
    for (const JsonMember& each : *right)
      if (find_member(*left, each.key) == nullptr)
        add_differences(nullptr, &each.value, inner(each.key), out);
    return;
  }
  if (a != nullptr && b != nullptr && json_text(*a) == json_text(*b)) return;
  DifferentKey different{key};
  if (a != nullptr) different.a = *a;
  if (b != nullptr) different.b = *b;
  out.push_back(std::move(different));
}

[[nodiscard]] std::string text_at(const JsonValue& scenario, const char* object, const char* key) {
  const auto* root = scenario.get_if<JsonObject>();
  const JsonValue* outer = root == nullptr ? nullptr : find_member(*root, object);
  const auto* inner = outer == nullptr ? nullptr : outer->get_if<JsonObject>();
  const JsonValue* value = inner == nullptr ? nullptr : find_member(*inner, key);
  return value == nullptr ? std::string{} : json_text(*value);
}

/// The change that a key belongs to; keys of one name change together.
class Grouping {
 public:
  Grouping(const std::vector<DifferentKey>& keys, bool same_model) : same_model_{same_model} {
    for (const DifferentKey& each : keys) {
      degrees_ = degrees_ || is_one_of(kDegrees, each.key);
      stages_ = stages_ || each.key == "parallel.pp";
    }
  }

  [[nodiscard]] std::string of(const std::string& key) const {
    if (!same_model_ && key.starts_with("model.")) return "model";
    if (is_one_of(kDegrees, key)) return "degrees";
    if (degrees_ && (is_one_of(kExpertDegrees, key) || is_size_of_cluster(key))) return "degrees";
    if (is_one_of(kPipeline, key)) return stages_ ? "degrees" : "pipeline";
    return key;
  }

 private:
  [[nodiscard]] static bool is_size_of_cluster(const std::string& key) {
    return key == "cluster.nodes" || key == "cluster.ranks" || key == "cluster.gpus" ||
           key == "cluster.gpus_per_node" || key == "cluster.file";
  }

  bool same_model_;
  bool degrees_ = false;
  bool stages_ = false;
};

[[nodiscard]] std::pair<std::string, std::string> split(const std::string& key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return {key, ""};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

void apply(JsonObject& object, const std::string& key, const std::optional<JsonValue>& value) {
  const std::pair<std::string, std::string> parts = split(key);
  const std::string& outer = parts.first;
  const std::string& inner = parts.second;
  if (inner.empty()) {
    if (value) return set_member(object, outer, *value);
    std::erase_if(object, [&](const JsonMember& each) { return each.key == outer; });
    return;
  }
  const auto found = std::ranges::find(object, outer, &JsonMember::key);
  if (found != object.end())
    if (auto* members = std::get_if<JsonObject>(&found->value.data)) apply(*members, inner, value);
}

}  // namespace

std::vector<DifferentKey> different_keys(const JsonValue& a, const JsonValue& b) {
  std::vector<DifferentKey> out;
  add_differences(&a, &b, "", out);
  return out;
}

std::vector<std::string> ScenarioChange::names() const {
  std::vector<std::string> out;
  for (const DifferentKey& each : keys) out.push_back(each.key);
  return out;
}

std::vector<ScenarioChange> changes_between(const JsonValue& a, const JsonValue& b) {
  std::vector<DifferentKey> keys = different_keys(a, b);
  std::erase_if(keys, [](const DifferentKey& each) { return is_one_of(kWithoutEffect, each.key); });
  const bool same_model = text_at(a, "model", "name") == text_at(b, "model", "name") &&
                          text_at(a, "model", "kind") == text_at(b, "model", "kind");
  const Grouping grouping{keys, same_model};
  std::vector<std::pair<std::string, ScenarioChange>> out;
  for (DifferentKey& each : keys) {
    const std::string group = grouping.of(each.key);
    auto found = std::ranges::find(out, group, &std::pair<std::string, ScenarioChange>::first);
    if (found == out.end()) found = out.insert(out.end(), {group, {}});
    found->second.keys.push_back(std::move(each));
  }
  std::vector<ScenarioChange> changes;
  for (auto& [group, change] : out) changes.push_back(std::move(change));
  return changes;
}

JsonValue with_changes(const JsonValue& a, const std::vector<ScenarioChange>& changes,
                       std::uint64_t mask) {
  JsonValue out = a;
  auto* root = std::get_if<JsonObject>(&out.data);
  if (root == nullptr) return out;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if ((mask >> i & 1U) == 0) continue;
    for (const DifferentKey& each : changes[i].keys) apply(*root, each.key, each.b);
  }
  return out;
}

}  // namespace lockstep::app
