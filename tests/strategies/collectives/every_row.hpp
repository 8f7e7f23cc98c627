#pragma once

#include <string>
#include <vector>

#include "strategies/collectives/registry/registry.hpp"

namespace lockstep {

/// Every row of the table, with its fallbacks and, where it has parameters, with others.
struct RowCase {
  const CollectiveAlgorithm* row = nullptr;
  AlgorithmInput input;

  [[nodiscard]] int n() const { return input.n; }
  [[nodiscard]] SchedulePtr make() const { return make_schedule(*row, input); }
  [[nodiscard]] std::optional<CollectiveCost> cost() const { return cost_of(*row, input); }
  [[nodiscard]] Contract contract(const Schedule& schedule) const {
    const auto distance = complete(*row, input).number("distance");
    return contract_of(row->collective, schedule, input.n, input.root,
                       static_cast<int>(distance.value_or(1)));
  }
  [[nodiscard]] std::string name() const {
    std::string text = std::string{to_string(row->collective)} + " " + std::string{row->name};
    for (const auto& [key, value] : input.arguments) text += " " + key + "=" + to_string(value);
    return text + " n=" + std::to_string(input.n) + " root=" + std::to_string(input.root);
  }
};

/// Layouts that algorithms may want: nodes of up to 4 ranks (the most that divide n), a torus of
/// two dimensions, a switch in every node and one above all.
inline RankLayout layout_for(int n) {
  RankLayout layout;
  for (const int per_node : {2, 3, 4})
    if (n % per_node == 0) layout.per_node = per_node;
  layout.dimensions = {layout.per_node, n / layout.per_node};
  layout.nvlink_domain = layout.per_node == n;
  const int nodes = n / layout.per_node;
  for (int rank = 0; rank < n; ++rank) layout.node_switches.push_back(n + rank / layout.per_node);
  layout.node_switches.insert(layout.node_switches.end(), static_cast<std::size_t>(nodes), -1);
  layout.fabric_switches.assign(static_cast<std::size_t>(n), n);
  layout.fabric_switches.push_back(-1);
  return layout;
}

/// Nodes of `per_node` ranks under a switch each; rails of `per_leaf` nodes a leaf under a root.
inline RankLayout rails(int n, int per_node, int per_leaf) {
  RankLayout layout;
  layout.per_node = per_node;
  const int nodes = n / per_node;
  const int leaves = (nodes + per_leaf - 1) / per_leaf;  // of a rail
  for (int rank = 0; rank < n; ++rank) {
    const int node = rank / per_node;
    const int rail = rank % per_node;
    layout.node_switches.push_back(n + node);
    layout.fabric_switches.push_back(n + rail * (leaves + 1) + node / per_leaf);
  }
  layout.node_switches.insert(layout.node_switches.end(), static_cast<std::size_t>(nodes), -1);
  for (int rail = 0; rail < per_node; ++rail) {
    for (int leaf = 0; leaf < leaves; ++leaf)
      layout.fabric_switches.push_back(n + rail * (leaves + 1) + leaves);
    layout.fabric_switches.push_back(-1);
  }
  return layout;
}

inline std::vector<AlgorithmInput> inputs_of(const CollectiveAlgorithm& row, int n) {
  AlgorithmInput plain{.n = n, .layout = layout_for(n)};
  std::vector<AlgorithmInput> inputs{plain};
  for (const AlgorithmParameter& parameter : row.parameters) {
    std::vector<ArgumentValue> values;
    if (parameter.kind == ParameterKind::whole) {
      values = {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{n}};
    } else if (parameter.kind == ParameterKind::algorithm) {
      for (const std::string_view name :
           parameter.names.empty() ? algorithm_names(parameter.inner) : parameter.names)
        values.emplace_back(std::string{name});
    } else {
      values = {std::vector<int>{n}, plain.layout.dimensions};
    }
    for (const ArgumentValue& value : values) {
      inputs.push_back(plain);
      inputs.back().arguments = {{std::string{parameter.name}, value}};
    }
  }
  if (has_root(row.collective) && n > 1) {
    inputs.push_back(plain);
    inputs.back().root = n - 1;
    inputs.push_back(plain);
    inputs.back().root = n / 2;
  }
  return inputs;
}

inline std::vector<RowCase> every_row(const std::vector<int>& ranks) {
  std::vector<RowCase> cases;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    for (const int n : ranks) {
      for (const AlgorithmInput& input : inputs_of(row, n)) {
        if (validate(row, input).empty()) cases.push_back({&row, input});
      }
    }
  }
  return cases;
}

/// The shapes that matter: powers of two, one more, one less, odd; pairs and one rank alone.
inline const std::vector<int> kRankCounts{1, 2, 3, 4, 5, 7, 8, 16, 33, 64};

}  // namespace lockstep
