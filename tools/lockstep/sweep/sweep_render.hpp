#pragma once

#include "tools/app/fingerprint.hpp"
#include "tools/app/sweep/sweep.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// Collects the points of a sweep as rows: for tables the axes, times, memory and what became of
/// the point; for data formats the axes with all columns of `run` behind them.
class SweepRows {
 public:
  /// `options`: what all points were run with.
  SweepRows(const RunOptions& options, bool table) : options_{options}, table_{table} {}

  void add(const SweepPoint& point);
  /// Requires a point with a step or a memory account. Called once.
  [[nodiscard]] Report report(const SweepResult& result);

 private:
  [[nodiscard]] std::vector<Cell> data_cells(const SweepPoint& point);
  [[nodiscard]] static std::vector<Cell> table_cells(const SweepRow& row);

  const RunOptions& options_;
  bool table_;
  std::vector<Column> columns_;  // behind the axes, once known
  std::vector<std::vector<Cell>> axes_;
  std::vector<std::vector<Cell>> cells_;  // empty: an impossible point
  std::vector<std::string> states_;
  Fingerprint fingerprint_;  // of the step times
};

}  // namespace lockstep::cli
