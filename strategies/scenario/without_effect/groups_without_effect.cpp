#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "strategies/collectives/registry/automatic_choice.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/scenario/without_effect/without_effect.hpp"

namespace lockstep {

namespace {

/// What a group does in a step.
struct GroupUse {
  std::set<Collective> among_ranks{};
  std::set<Collective> with_host{};
};

[[nodiscard]] std::map<std::string, GroupUse> uses_of(const Program& program) {
  std::map<std::string, GroupUse> out;
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      if (operation.kind != OperationKind::collective) continue;
      const Communication& how = *operation.communication;
      GroupUse& use = out[how.group];
      (how.host ? use.with_host : use.among_ranks).insert(how.collective);
    }
  }
  return out;
}

[[nodiscard]] bool has(Collective collective, const std::string& spec) {
  if (is_automatic(spec)) return true;
  const ParsedSpecs parsed = parse_specs(spec, collective);
  return parsed.errors.empty() && parsed.specs.size() == 1;
}

[[nodiscard]] std::string words(const std::set<Collective>& collectives) {
  std::vector<std::string> out;
  for (const Collective collective : collectives) out.emplace_back(to_string(collective));
  return fmt::format("{}", fmt::join(out, " and "));
}

/// Algorithms that some of these collectives have.
[[nodiscard]] std::string possible(const std::set<Collective>& collectives) {
  std::set<std::string_view> names;
  for (const Collective collective : collectives)
    for (const std::string_view name : algorithm_names(collective)) names.insert(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

[[nodiscard]] std::optional<WithoutEffect> judged(const std::string& group, const std::string& spec,
                                                  const GroupUse& use) {
  const std::string key = "parallel.algorithms." + group;
  std::set<Collective> all = use.among_ranks;
  all.insert(use.with_host.begin(), use.with_host.end());
  if (all.empty())
    return WithoutEffect{key, fmt::format("no collective of group {} in this plan", group)};
  std::set<Collective> with;
  std::set<Collective> without;
  for (const Collective each : all) (has(each, spec) ? with : without).insert(each);
  if (without.empty()) return std::nullopt;
  if (!with.empty())
    return WithoutEffect{key, fmt::format("{} is of {} alone; {} of this group goes as NCCL picks",
                                          spec, words(with), words(without))};
  if (use.among_ranks.empty())
    return WithoutEffect{
        key, fmt::format("{} is not of {}, which go through hosts here", spec, words(without))};
  return WithoutEffect{key,
                       fmt::format("{} is no algorithm of {}, which is all that group {} does in "
                                   "this plan; there are {}",
                                   spec, words(without), group, possible(use.among_ranks)),
                       true};
}

/// Groups with a collective among ranks of several nodes.
[[nodiscard]] std::set<std::string> groups_over_nodes(const Program& program, int gpus_per_node) {
  std::set<std::string> out;
  gpus_per_node = std::max(1, gpus_per_node);
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      if (operation.kind != OperationKind::collective) continue;
      const Communication& how = *operation.communication;
      const std::vector<int> ranks = program.mesh.members(0, how.over);
      const auto [first, last] = std::minmax_element(ranks.begin(), ranks.end());
      if (*first / gpus_per_node != *last / gpus_per_node) out.insert(how.group);
    }
  }
  return out;
}

}  // namespace

std::vector<WithoutEffect> windows_without_effect(const Program& program,
                                                  const ParallelConfig& parallel,
                                                  int gpus_per_node) {
  std::vector<WithoutEffect> out;
  const std::set<std::string> spread = groups_over_nodes(program, gpus_per_node);
  for (const auto& [group, spec] : parallel.algorithms) {
    if (!is_automatic(spec) || !spread.contains(group)) continue;
    const auto choice = parse_automatic_choice(spec).choice;
    if (choice && choice->symmetric_windows)
      out.push_back({"parallel.algorithms." + group,
                     "windows=symmetric between nodes; symmetric kernels over several nodes are "
                     "not modeled, simulated as NCCL's choice without windows"});
  }
  return out;
}

std::vector<WithoutEffect> algorithms_without_effect(const Program& program,
                                                     const ParallelConfig& parallel) {
  std::vector<WithoutEffect> out;
  const std::map<std::string, GroupUse> uses = uses_of(program);
  for (const auto& [group, spec] : parallel.algorithms) {
    const auto use = uses.find(group);
    auto found = judged(group, spec, use == uses.end() ? GroupUse{} : use->second);
    if (found) out.push_back(*std::move(found));
  }
  return out;
}

std::vector<WithoutEffect> traffic_weights_without_effect(const Program& program,
                                                          const ParallelConfig& parallel) {
  std::map<std::string, TrafficWeight> used;
  for (const Routine& routine : program.routines)
    for (const Operation& operation : routine.operations)
      if (operation.communication)
        used[operation.communication->group] = operation.communication->traffic_weight;
  std::vector<WithoutEffect> out;
  const std::string key = "parallel.traffic_weights";
  for (const auto& [group, weight] : parallel.traffic_weights)
    if (!used.contains(group))
      out.push_back({key + "." + group, fmt::format("group {} sends nothing in this plan", group)});
  std::set<TrafficWeight> different;
  for (const auto& [group, weight] : used) different.insert(weight);
  if (out.size() < parallel.traffic_weights.size() && different.size() < 2)
    out.push_back({key, "all traffic has the same weight: links are shared as without weights"});
  return out;
}

}  // namespace lockstep
