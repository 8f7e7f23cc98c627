#include "topologies/builders/fat_tree_plane.hpp"

#include <string>

#include "sim/base/math.hpp"
#include "topologies/builders/common.hpp"

namespace lockstep {
namespace {

/// Ports up of a switch with `down` ports down at that oversubscription.
int ports_up(const Parameters& parameters, std::string_view name, int down, int radix) {
  const Ratio ratio = parameters.ratio(name);
  const std::int64_t up = down * ratio.under / ratio.over;
  if (up < 1 || up * ratio.over != down * ratio.under) {
    throw BuildError(std::string{name}, std::to_string(down) +
                                            " ports down have no whole number "
                                            "of ports up at this ratio");
  }
  if (down + up > radix) {
    throw BuildError(std::string{name}, std::to_string(down) + " ports down and " +
                                            std::to_string(up) + " up exceed the radix " +
                                            std::to_string(radix));
  }
  return static_cast<int>(up);
}

struct Plan {
  int radix = 0;
  int down = 0;  // hosts per leaf
  int up = 0;    // ports up per leaf, where there is a second level
  int leaves = 0;
  int levels = 1;
};

int fewest_levels(const Plan& plan) {
  if (plan.leaves == 1) return 1;
  return plan.leaves <= plan.radix ? 2 : 3;
}

Plan make_plan(const Parameters& parameters, int terminals, int default_radix) {
  Plan plan;
  plan.radix = parameters.count("radix", default_radix);
  if (plan.radix < 2) throw BuildError("radix", "expected at least 2 ports");
  plan.down = parameters.count("hosts_per_leaf", std::max(plan.radix / 2, 1));
  if (plan.down > plan.radix) {
    throw BuildError("hosts_per_leaf",
                     std::to_string(plan.down) + " exceed the radix " + std::to_string(plan.radix));
  }
  plan.leaves = ceil_div(terminals, plan.down);
  const int needed = fewest_levels(plan);
  plan.levels = parameters.count("levels", needed);
  if (plan.levels < needed || plan.levels > 3) {
    throw BuildError("levels", std::to_string(terminals) + " hosts need " + std::to_string(needed) +
                                   " levels, 3 at most, got " + std::to_string(plan.levels));
  }
  if (plan.levels > 1) plan.up = ports_up(parameters, "oversubscription", plan.down, plan.radix);
  return plan;
}

/// As few switches above as carry `up` cables of each of `below` switches evenly.
int switches_above(int up, int below, int radix) {
  for (int count = 1; count <= up; ++count) {
    if (up % count == 0 && up / count * std::int64_t{below} <= radix) return count;
  }
  throw BuildError("radix", std::to_string(below) + " switches below exceed the radix " +
                                std::to_string(radix) +
                                ": too many hosts for switches of so many ports and this "
                                "number of levels");
}

/// Cables from one switch to each of `count` above it, `each` to every one.
void join(Graph& graph, VertexId below, VertexId first_above, int count, int each,
          const LinkFigures& link) {
  for (int above = 0; above < count; ++above) {
    for (int cable = 0; cable < each; ++cable) {
      add_cable(graph, below, first_above + static_cast<VertexId>(above), LinkKind::network, link);
    }
  }
}

void add_two_levels(Graph& graph, const Plan& plan, const LinkFigures& uplink) {
  check_cables("radix", 1.0 * plan.leaves * plan.up);
  const int spines = switches_above(plan.up, plan.leaves, plan.radix);
  const VertexId first_spine = add_switches(graph, VertexKind::spine_switch, spines);
  for (int leaf = 0; leaf < plan.leaves; ++leaf) {
    join(graph, static_cast<VertexId>(leaf), first_spine, spines, plan.up / spines, uplink);
  }
}

void add_three_levels(Graph& graph, const Plan& plan, const Parameters& parameters, int pods,
                      const LinkFigures& uplink) {
  const int leaves_per_pod = plan.leaves / pods;
  const int spines_per_pod = plan.up;
  const int up = ports_up(parameters, "core_oversubscription", plan.radix / 2, plan.radix);
  check_cables("radix", 1.0 * plan.leaves * plan.up + 1.0 * pods * spines_per_pod * up);
  const int cores_per_group = switches_above(up, pods, plan.radix);
  const VertexId first_spine = add_switches(graph, VertexKind::spine_switch, pods * spines_per_pod);
  const VertexId first_core =
      add_switches(graph, VertexKind::core_switch, spines_per_pod * cores_per_group);
  for (int leaf = 0; leaf < plan.leaves; ++leaf) {
    const int pod = leaf / leaves_per_pod;
    join(graph, static_cast<VertexId>(leaf),
         first_spine + static_cast<VertexId>(pod * spines_per_pod), spines_per_pod, 1, uplink);
  }
  for (int spine = 0; spine < pods * spines_per_pod; ++spine) {
    const int group = spine % spines_per_pod;
    join(graph, first_spine + static_cast<VertexId>(spine),
         first_core + static_cast<VertexId>(group * cores_per_group), cores_per_group,
         up / cores_per_group, uplink);
  }
}

/// Pods of equal size; the number of leaves is rounded up to fill the last one.
int make_pods(Plan& plan, const Parameters& parameters) {
  const int most = std::max(plan.radix / 2, 1);
  const int asked = parameters.count("leaves_per_pod", most);
  if (asked > most) {
    throw BuildError("leaves_per_pod", "a pod has at most " + std::to_string(most) +
                                           " leaves (half the radix), got " +
                                           std::to_string(asked));
  }
  const int pods = ceil_div(plan.leaves, asked);
  plan.leaves = pods * ceil_div(plan.leaves, pods);
  return pods;
}

}  // namespace

FabricBlueprint fat_tree_plane(const Parameters& parameters, int terminals, int default_radix) {
  Plan plan = make_plan(parameters, terminals, default_radix);
  const int pods = plan.levels == 3 ? make_pods(plan, parameters) : 1;
  FabricBlueprint tree;
  tree.host_link = parameters.link("link");
  const LinkFigures& uplink = parameters.link("uplink", "link");
  add_switches(*tree.plane, VertexKind::leaf_switch, plan.leaves);
  if (plan.levels == 2) add_two_levels(*tree.plane, plan, uplink);
  if (plan.levels == 3) add_three_levels(*tree.plane, plan, parameters, pods, uplink);
  for (int terminal = 0; terminal < terminals; ++terminal) {
    tree.switch_of.push_back(static_cast<VertexId>(terminal / plan.down));
  }
  return tree;
}

std::vector<Parameter> fat_tree_parameters() {
  using enum ParameterType;
  using enum Presence;
  return {{"link", link, required, "from each host to its leaf"},
          {"uplink", link, optional, "between switches; else as link"},
          {"radix", count, optional, "ports of a switch; else 64 (rail_optimised: 128)"},
          {"hosts_per_leaf", count, optional, "ports down of a leaf; else half the radix"},
          {"levels", count, optional, "1 to 3; else as few as needed"},
          {"leaves_per_pod", count, optional, "with three levels; else half the radix"},
          {"oversubscription", ratio, optional, "leaf ports down to up; else 1:1"},
          {"core_oversubscription", ratio, optional, "pod spine ports down to up; else 1:1"}};
}

}  // namespace lockstep
