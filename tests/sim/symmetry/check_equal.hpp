#pragma once

#include <doctest/doctest.h>

#include "sim/symmetry/fold.hpp"

/// What folding promises.
namespace lockstep::test {

inline void check_equal(const FoldedReplay& folded, const ReplayResult& whole) {
  CHECK(folded.result.call_ends == whole.call_ends);
  CHECK(folded.result.link_bytes == whole.link_bytes);
  CHECK(folded.result.transfers == whole.transfers);
  CHECK(folded.result.end == whole.end);
}

/// Replays it folded, which must be possible, and not.
inline FoldedReplay check_folded(const Network& network, const Workload& workload,
                                 NetworkModel model, const FoldOptions& options = {}) {
  FoldedReplay folded = replay_folded(network, workload, model, options);
  const ReplayResult whole = replay(network, workload, model);
  CHECK(whole.unfinished.empty());
  CHECK(folded.report.folded);
  check_equal(folded, whole);
  return folded;
}

}  // namespace lockstep::test
