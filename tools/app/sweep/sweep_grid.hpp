#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/app/plan/space.hpp"

namespace lockstep::app {

/// Maximum number of points, all of which are simulated.
inline constexpr std::uint64_t kMostSweepPoints = 1'000'000;

/// A key with its values, as written and as `--set` takes them.
struct SweepKey {
  std::string key;  // "cluster.nodes"
  std::vector<std::string> values{};
  std::vector<std::string> overrides{};
};

/// One key, or several whose values go together.
struct SweepAxis {
  std::vector<SweepKey> keys{};

  [[nodiscard]] std::size_t size() const { return keys.front().values.size(); }
};

/// The scenario of a sweep and its axes: the scenario of every point.
class SweepGrid {
 public:
  /// Errors: RequestError for invalid axes and for more than kMostSweepPoints points; ConfigError.
  explicit SweepGrid(const SpaceRequest& request);
  /// Of text(), in a store. Errors: RequestError for a damaged one.
  SweepGrid(const std::string& text, const std::string& store);

  /// All of it as JSON.
  [[nodiscard]] std::string text() const;
  /// Keys of the axes.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::uint64_t points() const;
  /// Of the scenario without the axes.
  [[nodiscard]] std::string hash() const;
  /// Of the scenario.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Whether dp = GPUs / (tp * pp * cp): it is neither varied nor set.
  [[nodiscard]] bool dp_follows() const;

  /// The scenario with overrides that all points have.
  [[nodiscard]] const BaseScenario& base() const { return base_; }
  /// Of a point (row-major, the last axis varies fastest), one per key, as written.
  [[nodiscard]] std::vector<std::string> values(std::uint64_t index) const;
  /// All overrides of a point, those of all points first; without dp.
  [[nodiscard]] std::vector<std::string> overrides(std::uint64_t index) const;
  /// Appends dp to the overrides of a point if it follows. Errors: RequestError if the other
  /// degrees do not divide the GPUs; ConfigError for an impossible scenario.
  void add_dp(std::vector<std::string>& overrides) const;

 private:
  void add_fixed(const std::string& text);
  void add_axis(const std::string& text, const Scenario& scenario);
  void check_axes() const;
  [[nodiscard]] Scenario read(const std::vector<std::string>& overrides) const;
  template <class Take>
  void visit(std::uint64_t index, Take take) const;

  BaseScenario base_;
  std::string name_;
  std::vector<SweepAxis> axes_;
};

}  // namespace lockstep::app
