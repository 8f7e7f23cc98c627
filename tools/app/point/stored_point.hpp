#pragma once

#include <optional>
#include <string>

#include "sim/base/units.hpp"
#include "sim/config/json/json.hpp"

/// Points of stores (`plan --store`, `sweep --store`) as scenarios.
namespace lockstep::app {

/// "plan.db:17", a point by its number, or "plan.db:rank1", by its rank in the result of a plan.
struct PointName {
  std::string store;
  std::string point;
};

/// None if it names no store: a SQLite file, or one that is missing and ends in ".db". `point` is
/// empty for the store itself.
[[nodiscard]] std::optional<PointName> point_name(const std::string& text);

struct StoredPoint {
  JsonDocument scenario;      // as it was simulated, with every default
  std::string calibration{};  // file; empty: none
  std::string run{};  // options of the simulation as JSON, of a sweep or of changes; else empty
  std::optional<Duration> step{};  // in the store; none: it was not simulated
};

/// Errors: RequestError for a store that is missing, of another version or damaged, and for a point
/// that it does not have or that is impossible.
[[nodiscard]] StoredPoint stored_point(const PointName& name);

}  // namespace lockstep::app
