#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/execute/command_graph/device_numbers.hpp"
#include "sim/execute/schedule_checks/resources.hpp"
#include "sim/execute/schedule_checks/verify.hpp"
#include "strategies/collectives/registry/algorithm_problem.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "tools/app/progress.hpp"

namespace lockstep::app {

/// An imported schedule and its contract.
struct ImportedSchedule {
  std::string file;
  MscclImport import;
  Collective collective = Collective::all_reduce;
};

struct VerifyCollectiveRequest {
  std::vector<AlgorithmSpec> algorithms;
  std::vector<ImportedSchedule> schedules;
  std::vector<int> ranks;  // for algorithms
  int ranks_per_node = 1;
  std::vector<int> dimensions{};  // of a torus, which determine the number of ranks
  int root = 0;
  bool every_root = false;
  std::optional<std::int64_t> count{};  // elements of the message; none: three per block, less one
  std::optional<int> slots{};           // none: each schedule's own
  std::uint64_t seed = 1;
  /// Executes the transfers; null: the host executor. Must outlive the run.
  Backend* device = nullptr;
  DeviceNumbers numbers{};
  OnProgress on_progress{};
};

/// One verified schedule.
struct VerifiedSchedule {
  std::string name;
  Collective collective = Collective::all_reduce;
  SchedulePtr schedule;
  Contract contract;
  CollectiveVerdict verdict;
  ResourceVerdict resources;
  std::string problem;  // the first; empty if correct
};

/// A schedule that is not verified.
struct SkippedSchedule {
  Collective collective = Collective::all_reduce;
  std::string name;
  int ranks = 0;
  std::optional<AlgorithmProblem> problem{};  // none: it is too large to execute
};

struct VerifyCollectiveResult {
  std::vector<VerifiedSchedule> schedules;  // empty: all are skipped
  std::vector<SkippedSchedule> skipped;
  std::string fingerprint;

  /// Null if all are correct.
  [[nodiscard]] const VerifiedSchedule* first_wrong() const;
};

/// Verifies every algorithm for every number of ranks and every root. Throws RequestError for a
/// root that is no rank.
[[nodiscard]] VerifyCollectiveResult verify_collective(const VerifyCollectiveRequest& request);

}  // namespace lockstep::app
