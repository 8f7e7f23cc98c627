#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"

/// Differences of two scenarios, and scenarios between them.
namespace lockstep::app {

/// A key whose values differ, e.g. "parallel.tp"; absent where a scenario lacks it.
struct DifferentKey {
  std::string key;
  std::optional<JsonValue> a{};
  std::optional<JsonValue> b{};
};

/// Keys whose values differ, those of `a` in its order, then those of `b` alone. Objects are
/// compared member by member.
[[nodiscard]] std::vector<DifferentKey> different_keys(const JsonValue& a, const JsonValue& b);

/// Keys that change together, since a scenario with some of them alone would be another model or
/// not fill its cluster: the model, the degrees with the size of the cluster, the pipeline.
struct ScenarioChange {
  std::vector<DifferentKey> keys{};
  [[nodiscard]] std::vector<std::string> names() const;
};

/// Changes that lead from one resolved scenario to another, in the order of their keys. Names,
/// summaries, sources and variants do not count.
[[nodiscard]] std::vector<ScenarioChange> changes_between(const JsonValue& a, const JsonValue& b);

/// `a` with the changes of a bit mask. All bits give a scenario that runs as `b`.
[[nodiscard]] JsonValue with_changes(const JsonValue& a, const std::vector<ScenarioChange>& changes,
                                     std::uint64_t mask);

}  // namespace lockstep::app
