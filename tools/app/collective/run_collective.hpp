#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/bounds/collective_bound.hpp"
#include "tools/app/collective/collective_request.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

/// One candidate at one size.
struct CollectiveRow {
  CollectiveRun run;
  CollectiveResult result;
  ScheduleCounts counts;
  LowerBound bound;
  std::optional<std::int64_t> wrong;  // elements, with `check`
  std::optional<double> load;         // bytes of the busiest link per byte of message, with `load`
  bool fastest = false;               // of its collective at this size; the first on ties
};

struct CollectiveReport {
  std::shared_ptr<const CollectiveSetup> setup;
  std::vector<Candidate> candidates;  // possible on the cluster
  std::vector<Bytes> sizes;
  std::vector<CollectiveRow> rows;       // candidate by candidate, each size by size
  std::vector<RequestProblem> left_out;  // candidates that the cluster does not allow
  std::string fingerprint;               // of all completion times

  [[nodiscard]] const CollectiveRow& row(std::size_t candidate, std::size_t size) const {
    return rows[candidate * sizes.size() + size];
  }
};

/// The cluster with the hosts and reducing switches that the candidates need. Throws as
/// CollectiveSetup.
[[nodiscard]] std::shared_ptr<const CollectiveSetup> setup_for(const CollectiveRequest& request);

/// The candidates that the cluster allows; the others go to `left_out`. Throws RequestError naming
/// all of them if it allows none.
[[nodiscard]] std::vector<Candidate> allowed(const CollectiveRequest& request,
                                             const CollectiveRunner& runner,
                                             std::vector<RequestProblem>& left_out);

/// Replays every candidate at every size. Throws RequestError for a candidate that the cluster does
/// not allow or a replay that needs too much memory, Refusal for a deadlock or a wrong element.
[[nodiscard]] CollectiveReport run_collective(const CollectiveRequest& request);

}  // namespace lockstep::app
