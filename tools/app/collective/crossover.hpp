#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/collective/collective_request.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

/// A message size, to the element, at which the fastest candidate changes.
struct Crossover {
  std::int64_t count = 0;  // elements, the first at which `to` is faster
  Bytes size;
  std::size_t from = 0;  // candidate
  std::size_t to = 0;
  Duration from_time;
  Duration to_time;
};

/// Crossovers of one collective, by size.
struct CollectiveCrossovers {
  Collective collective = Collective::all_reduce;
  Bytes least;              // size
  std::size_t fastest = 0;  // candidate at that size
  std::vector<Crossover> changes;
};

struct CrossoverReport {
  std::shared_ptr<const CollectiveSetup> setup;
  std::vector<Candidate> candidates;  // possible on the cluster
  std::vector<CollectiveCrossovers> collectives;
  std::vector<RequestProblem> left_out;  // candidates that the cluster does not allow
  std::string fingerprint;
};

/// Finds the crossovers between the smallest and the largest size of the request by bisection
/// between neighboring sizes with different winners; a candidate that leads only between two
/// neighboring sizes is not found. Throws as run_collective() does.
[[nodiscard]] CrossoverReport find_crossovers(const CollectiveRequest& request);

}  // namespace lockstep::app
