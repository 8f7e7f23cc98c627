#include "strategies/verification/group_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

namespace lockstep {

namespace {

struct Chosen {
  AlgorithmSpec spec;
  AlgorithmInput input;
};

/// A switch that reduces above every node.
void add_switches(int members, RankLayout& layout) {
  const int nodes = members / layout.per_node;
  for (int rank = 0; rank < members; ++rank)
    layout.node_switches.push_back(members + rank / layout.per_node);
  layout.node_switches.resize(layout.node_switches.size() + static_cast<std::size_t>(nodes), -1);
}

/// As nodes or a torus of a x b where they can be, as one node, else ranks by themselves: numbers
/// do not care where a rank sits, but some algorithms do.
[[nodiscard]] std::vector<RankLayout> layouts_of(int members) {
  std::vector<RankLayout> out;
  for (int side = 2; side * 2 <= members; ++side) {
    if (members % side != 0) continue;
    RankLayout layout;
    layout.per_node = side;
    layout.dimensions = {side, members / side};
    add_switches(members, layout);
    out.push_back(std::move(layout));
  }
  RankLayout& node = out.emplace_back();
  node.per_node = std::max(1, members);
  node.nvlink_domain = true;
  add_switches(members, node);
  out.emplace_back();
  return out;
}

[[nodiscard]] std::optional<Chosen> fitting(const AlgorithmSpec& spec, int members, int root) {
  AlgorithmInput input;
  input.n = members;
  input.root = root;
  input.arguments = spec.arguments;
  for (RankLayout& layout : layouts_of(members)) {
    input.layout = std::move(layout);
    if (validate(*spec.algorithm, input).empty()) return Chosen{spec, std::move(input)};
  }
  return std::nullopt;
}

[[nodiscard]] std::optional<Chosen> named(const std::string& text, Collective collective,
                                          int members, int root) {
  const ParsedSpecs specs = parse_specs(text, collective);
  if (!specs.errors.empty() || specs.specs.size() != 1) return std::nullopt;
  return fitting(specs.specs.front(), members, root);
}

/// Round a ring if there is one, as NCCL's bandwidth-bound sizes go; else what its table has
/// first.
[[nodiscard]] std::optional<Chosen> usual_choice(Collective collective, int members, int root) {
  static constexpr std::array kUsual{"ring", "pairwise", "shift", "binomial"};
  for (const char* name : kUsual) {
    const CollectiveAlgorithm* row = find_algorithm(collective, name);
    if (row == nullptr) continue;
    if (auto out = fitting({row, {}}, members, root)) return out;
  }
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (row.collective != collective) continue;
    if (auto out = fitting({&row, {}}, members, root)) return out;
  }
  return std::nullopt;
}

}  // namespace

struct GroupSchedules::Staged {
  Staged(const VerificationStage& on, std::map<std::string, std::string> algorithms, int mesh)
      : ranks{mesh},
        hosts_after{on.cluster.ranks() - mesh},
        switches{
            ReducingSwitches::of_step(on.cluster, on.device, uses_fabric_switches(algorithms))},
        network{lower_with_switches(on.cluster, switches.forests(), on.device.endpoint())},
        choice{on.cluster,           network, switches, on.device, load_nccl_tuning(on.nccl_tuning),
               std::move(algorithms)} {}

  [[nodiscard]] EndpointId endpoint(int rank) const {
    return static_cast<EndpointId>(rank < ranks ? rank : rank + hosts_after);
  }

  int ranks;
  int hosts_after;
  ReducingSwitches switches;
  Network network;
  CollectiveChoice choice;
};

GroupSchedules::GroupSchedules(std::map<std::string, std::string> algorithms,
                               const VerificationStage* stage, int ranks)
    : algorithms_{std::move(algorithms)} {
  if (stage != nullptr) staged_ = std::make_unique<Staged>(*stage, algorithms_, ranks);
}

GroupSchedules::~GroupSchedules() = default;

SchedulePtr GroupSchedules::of(const Communication& how, const std::vector<int>& members, int root,
                               Bytes message) {
  if (staged_ == nullptr) return usual(how, static_cast<int>(members.size()), root);
  std::vector<EndpointId> endpoints;
  for (const int member : members) endpoints.push_back(staged_->endpoint(member));
  const ChosenCollective& chosen = staged_->choice.choose(how.collective, how.group, endpoints,
                                                          root, how.host.has_value(), message);
  tell(how, members.size(), chosen.text);
  return chosen.schedule;
}

SchedulePtr GroupSchedules::usual(const Communication& how, int members, int root) {
  const std::string key =
      fmt::format("{}/{}/{}/{}", how.group, to_string(how.collective), members, root);
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second;
  const auto wish = algorithms_.find(how.group);
  std::optional<Chosen> chosen;
  if (wish != algorithms_.end()) chosen = named(wish->second, how.collective, members, root);
  if (!chosen) chosen = usual_choice(how.collective, members, root);
  SchedulePtr schedule = chosen ? make_schedule(*chosen->spec.algorithm, chosen->input) : nullptr;
  tell(how, static_cast<std::size_t>(members), chosen ? chosen->spec.text() : "its meaning");
  return made_.emplace(key, std::move(schedule)).first->second;
}

void GroupSchedules::tell(const Communication& how, std::size_t members, const std::string& by) {
  std::string line =
      fmt::format("{}: {} among {} by {}", how.group, to_string(how.collective), members, by);
  if (std::find(report_.begin(), report_.end(), line) == report_.end()) {
    report_.push_back(std::move(line));
  }
}

}  // namespace lockstep
