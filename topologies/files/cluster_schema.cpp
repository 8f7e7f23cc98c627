#include "topologies/files/cluster_schema.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/json_schema.hpp"
#include "sim/config/json_values.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {

namespace {

std::string definition_of(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::link:
      return "link";
    case ParameterType::ratio:
      return "ratio";
    case ParameterType::shape:
      return "shape_" + std::to_string(parameter.sides) + "d";
    case ParameterType::count:
      break;
  }
  return "count";
}

std::string capitalized(std::string_view text) {
  std::string out{text};
  const auto first = static_cast<unsigned char>(out.front());
  const bool word = out.size() > 1 && std::isalpha(static_cast<unsigned char>(out[1])) != 0;
  if (word) out.front() = static_cast<char>(std::toupper(first));
  return out;
}

SchemaProperty property_of(const Parameter& parameter) {
  // draft-07 ignores what stands next to a $ref
  JsonValue type = json_object({{"allOf", json_of({reference_schema(definition_of(parameter))})}});
  return {std::string{parameter.name},
          described(std::move(type), capitalized(parameter.description)),
          parameter.presence == Presence::required};
}

JsonValue schema_of(const Builder& row) {
  std::vector<SchemaProperty> properties{{"builder", json_object({{"const", json_of(row.name)}})}};
  for (const Parameter& parameter : row.parameters) properties.push_back(property_of(parameter));
  return object_schema(properties);
}

JsonValue shape_schema(int sides) {
  JsonValue out = array_schema(reference_schema("count"), sides);
  set_member(std::get<JsonObject>(out.data), "maxItems", json_of(sides));
  return out;
}

/// Its ranks follow from a parameter.
bool has_shape(const Builder& row) {
  return std::any_of(row.parameters.begin(), row.parameters.end(),
                     [](const Parameter& each) { return each.type == ParameterType::shape; });
}

template <class Predicate>
JsonValue one_of(Predicate&& allowed) {
  std::vector<JsonValue> names;
  for (const Builder& row : topology_builders())
    if (allowed(row)) names.push_back(reference_schema(row.name));
  return json_object({{"oneOf", json_of(std::move(names))}});
}

}  // namespace

void write_cluster_schema(JsonValue& schema) {
  for (const Builder& row : topology_builders()) {
    for (const Parameter& parameter : row.parameters)
      if (parameter.type == ParameterType::shape)
        replace_at(schema, {"definitions", definition_of(parameter)},
                   shape_schema(parameter.sides));
    replace_at(schema, {"definitions", row.name}, schema_of(row));
  }
  const auto allow = [&schema](std::string_view cluster, std::string_view key, auto&& allowed) {
    replace_at(schema, {"definitions", cluster, "properties", key}, one_of(allowed));
  };
  const auto is_fabric = [](const Builder& row) { return row.is_fabric(); };
  allow("direct_cluster", "topology",
        [](const Builder& row) { return row.is_direct() && !has_shape(row); });
  allow("shaped_cluster", "topology",
        [](const Builder& row) { return row.is_direct() && has_shape(row); });
  allow("hosts_cluster", "topology", is_fabric);
  allow("node_cluster", "topology", [](const Builder& row) { return row.is_node(); });
  allow("node_cluster", "fabric", is_fabric);
  allow("written_node_cluster", "fabric", is_fabric);
}

}  // namespace lockstep
