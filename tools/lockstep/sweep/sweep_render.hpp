#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/app/sweep/sweep.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// Collects the points of a sweep as rows: for tables the axes, times, memory and what became of
/// the point; for data formats the axes with all columns of `run` behind them.
class SweepRows {
 public:
  /// `options`: what all points were run with, overrides too; `fixed`: --fix.
  SweepRows(const RunOptions& options, std::vector<std::string> fixed, bool table)
      : options_{options}, fixed_{std::move(fixed)}, table_{table} {}

  void add(const SweepPoint& point);
  /// Requires a point with a step or a memory account. Called once.
  [[nodiscard]] Report report(const SweepResult& result);
  /// The report for stdout: Markdown begins with its notes; in JSON, rows have the ranks that were
  /// drawn as objects.
  [[nodiscard]] std::string text(const Report& report, const OutputStyle& style) const;

 private:
  [[nodiscard]] std::vector<Cell> data_cells(const SweepPoint& point);
  [[nodiscard]] static std::vector<Cell> table_cells(const SweepRow& row);

  void add_draws(const SweepPoint& point);
  /// What all points have in common: changes, seed, draws and fidelity.
  [[nodiscard]] std::vector<std::string> notes(const SweepResult& result) const;
  [[nodiscard]] bool draws() const;
  [[nodiscard]] bool draws_differ() const;

  const RunOptions& options_;
  std::vector<std::string> fixed_;
  bool table_;
  std::vector<Column> columns_;  // behind the axes, once known
  std::vector<std::vector<Cell>> axes_;
  std::vector<std::vector<Cell>> cells_;  // empty: an impossible point
  std::vector<std::string> states_;
  Fingerprint fingerprint_;  // of the step times
  /// Ranks that were drawn at each point, as text, as a line and as JSON; none of a point that was
  /// not simulated.
  struct Draws {
    std::string list{};
    std::string line{};
    Json json = Json::array();
    std::string shown{};  // list, shortened
  };
  std::vector<Draws> draws_;
  std::optional<std::uint64_t> seed_{};  // of the first point that is simulated
  std::uint64_t steps_ = 0;
  std::uint64_t representatives_ = 0;  // steps of one rank of each role
};

}  // namespace lockstep::cli
