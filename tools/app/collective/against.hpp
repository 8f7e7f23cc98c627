#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/collective/candidates.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

struct AgainstRequest {
  std::string file;  // output of nccl-tests or rccl-tests, text or JSON
  CandidateNames names;
  bool cluster_is_given = false;  // false: the file must specify the cluster
  std::optional<int> root{};      // if given
};

/// A measured row: out of place if measured, else in place.
struct MeasuredRow {
  Bytes size;
  Duration time;
  bool in_place = false;
};

struct AgainstReport {
  CollectiveRequest request;  // with values from the file
  std::shared_ptr<const CollectiveSetup> setup;
  std::vector<Candidate> candidates;  // possible on the cluster
  std::vector<MeasuredRow> measured;
  std::vector<Duration> simulated;       // candidate by candidate, each row by row
  std::vector<RequestProblem> left_out;  // candidates that the cluster does not allow
  std::size_t rows_found_wrong = 0;      // with wrong elements by nccl-tests' own check; left out
  std::size_t rows_of_0_bytes = 0;       // left out
  std::size_t skipped_lines = 0;         // from neither nccl-tests nor NCCL
  bool cut_row = false;                  // the last row of a run ends early
  std::string fingerprint;
};

/// Simulates the measurements of a file. Sizes and types come from the file; so do collective and
/// number of ranks unless requested. Throws ConfigError, and RequestError if file and request
/// conflict.
[[nodiscard]] AgainstReport run_against(const AgainstRequest& against, CollectiveRequest request);

}  // namespace lockstep::app
