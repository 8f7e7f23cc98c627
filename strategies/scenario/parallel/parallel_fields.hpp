#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/json/json.hpp"
#include "sim/config/reader.hpp"
#include "strategies/layout/parallel_config.hpp"

namespace lockstep {

/// One key of `parallel`, declared once. From these rows follow the reader, the resolved scenario,
/// the schema with completion and docs/reference/keys.md, the columns of `lockstep run`, and what
/// is refused.
struct ParallelField {
  using Text = std::optional<std::string>;

  std::string_view key;
  std::string_view help;  // ends with the default
  /// Reads a value that is given, or describes what it may be.
  std::function<void(const ValueReader&, ParallelConfig&)> read;
  /// Empty if the key is left out of resolved scenarios.
  std::function<std::optional<JsonValue>(const ParallelConfig&)> write;
  /// A default that depends on other keys, called in the order of the rows if the key is not given;
  /// without one, ParallelConfig's initializer is the default.
  std::function<void(ParallelConfig&)> complete{};
  /// Why a layout with this value is impossible; empty if it is possible.
  std::function<Text(const ParallelConfig&)> problem{};
  /// Why a value that differs from its default has no effect and is refused.
  std::function<Text(const ParallelConfig&)> idle{};

  [[nodiscard]] ParallelField completed(std::function<void(ParallelConfig&)> by) && {
    complete = std::move(by);
    return std::move(*this);
  }
  [[nodiscard]] ParallelField impossible(std::function<Text(const ParallelConfig&)> why) && {
    problem = std::move(why);
    return std::move(*this);
  }
  [[nodiscard]] ParallelField without_effect(std::function<Text(const ParallelConfig&)> why) && {
    idle = std::move(why);
    return std::move(*this);
  }
};

/// In the order of resolved scenarios. Dependent defaults use keys of any row, but only dependent
/// defaults of rows above.
[[nodiscard]] const std::vector<ParallelField>& parallel_fields();

}  // namespace lockstep
