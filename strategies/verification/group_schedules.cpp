#include "strategies/verification/group_schedules.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "strategies/collectives/spec.hpp"

namespace lockstep {

namespace {

struct Chosen {
  AlgorithmSpec spec;
  AlgorithmInput input;
};

/// Ranks by themselves, or as nodes or a torus of a x b: numbers do not care where a rank sits, but
/// some algorithms do.
[[nodiscard]] std::vector<RankLayout> layouts_of(int members) {
  std::vector<RankLayout> out(1);
  for (int side = 2; side * 2 <= members; ++side) {
    if (members % side != 0) continue;
    RankLayout layout;
    layout.per_node = side;
    layout.dimensions = {side, members / side};
    out.push_back(std::move(layout));
  }
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

/// Round a ring where there is one, as NCCL's bandwidth-bound sizes go; else what its table has
/// first.
[[nodiscard]] std::optional<Chosen> usual(Collective collective, int members, int root) {
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

SchedulePtr GroupSchedules::of(const Communication& how, int members, int root) {
  const std::string key =
      fmt::format("{}/{}/{}/{}", how.group, to_string(how.collective), members, root);
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second;
  const auto wish = algorithms_.find(how.group);
  std::optional<Chosen> chosen;
  if (wish != algorithms_.end()) chosen = named(wish->second, how.collective, members, root);
  if (!chosen) chosen = usual(how.collective, members, root);
  SchedulePtr schedule = chosen ? make_schedule(*chosen->spec.algorithm, chosen->input) : nullptr;
  report_.push_back(fmt::format("{}: {} among {} by {}", how.group, to_string(how.collective),
                                members, chosen ? chosen->spec.text() : "its meaning"));
  return made_.emplace(key, std::move(schedule)).first->second;
}

}  // namespace lockstep
