#include "tools/app/jobs/resized_cluster.hpp"

#include "sim/config/json/json_values.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

JsonObject cluster_members(const Scenario& scenario) {
  const auto* root = scenario.resolved.get_if<JsonObject>();
  const JsonValue* cluster = root != nullptr ? find_member(*root, "cluster") : nullptr;
  const auto* members = cluster != nullptr ? cluster->get_if<JsonObject>() : nullptr;
  return members != nullptr ? *members : JsonObject{};
}

JsonValue cluster_of_size(const Scenario& scenario, int gpus) {
  const Cluster& cluster = scenario.cluster.cluster;
  const bool equal = has_equal_nodes(cluster);
  // Of racks of unequal numbers of trays all are as the largest.
  const int node = equal ? cluster.gpus_per_node() : largest_node(cluster);
  const int nodes = (gpus + node - 1) / node;
  const bool part = gpus < node;
  JsonObject members = cluster_members(scenario);
  std::erase_if(members,
                [](const JsonMember& each) { return each.key == "nodes" || each.key == "ranks"; });
  const bool by_parameters = find_member(members, "gpus") != nullptr;
  if (by_parameters)
    set_member(members, "gpus", json_of(part ? gpus : nodes * node));
  else if (part || node == 1)
    set_member(members, "ranks", json_of(gpus));
  else
    set_member(members, "nodes", json_of(nodes));
  if (!equal && !by_parameters && !part) {
    const JsonValue* given = find_member(members, "topology");
    const auto* topology = given != nullptr ? given->get_if<JsonObject>() : nullptr;
    JsonObject changed = topology != nullptr ? *topology : JsonObject{};
    set_member(changed, "gpus", json_of(node));
    set_member(members, "topology", JsonValue{{}, std::move(changed)});
  }
  return JsonValue{{}, std::move(members)};
}

ScenarioCluster resized_cluster(const Scenario& scenario, int gpus) {
  JsonDocument document{scenario.name, scenario.resolved};
  auto& root = *std::get_if<JsonObject>(&document.root.data);
  set_member(root, "cluster", cluster_of_size(scenario, gpus));
  std::erase_if(root, [](const JsonMember& each) { return each.key == "variants"; });
  return read_scenario(document, scenario.name, {}, config_folder(), LayoutCheck::off).cluster;
}

}  // namespace lockstep::app
