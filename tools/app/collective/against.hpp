#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/collective/candidates.hpp"

namespace lockstep::app {

struct AgainstRequest {
  std::string file;  // as nccl-tests or rccl-tests printed it, text or JSON
  CandidateNames names;
  bool cluster_is_given = false;  // else the file has to specify what it was measured on
  std::optional<int> root{};      // if given
};

/// A measured row: out of place if that was measured, else in place.
struct MeasuredRow {
  Bytes size;
  Duration time;
  bool in_place = false;
};

struct AgainstReport {
  CollectiveRequest request;  // with what the file specifies
  std::shared_ptr<const CollectiveSetup> setup;
  std::vector<Candidate> candidates;  // that the cluster allows
  std::vector<MeasuredRow> measured;
  std::vector<Duration> simulated;    // candidate by candidate, in each row by row
  std::vector<std::string> left_out;  // candidates that the cluster does not allow, and why
  std::size_t rows_found_wrong = 0;   // by nccl-tests itself; left out
  std::size_t rows_of_0_bytes = 0;    // left out
  std::size_t skipped_lines = 0;      // neither of nccl-tests nor of NCCL
  bool cut_row = false;               // the file ends within its last row
  std::string fingerprint;
};

/// Simulates what a file reports as measured. Sizes and types are the file's; so are the collective
/// and the number of ranks if the request leaves them open. Throws ConfigError, and RequestError if
/// the file and the request do not go together.
[[nodiscard]] AgainstReport run_against(const AgainstRequest& against, CollectiveRequest request);

}  // namespace lockstep::app
