#pragma once

#include <doctest/doctest.h>

#include "sim/symmetry/streams/stream_fold.hpp"

namespace lockstep::test {

/// Folded and not: the same to the last bit; `same` is told whether that holds, too.
inline FoldedStreams check_streams(const Network& network, const Workload& workload,
                                   NetworkModel model, bool* same = nullptr) {
  FoldedStreams folded = replay_streams_folded(network, workload, model);
  const ReplayResult whole = replay(network, workload, model);
  CHECK(folded.result.end == whole.end);
  CHECK(folded.result.stream_ends == whole.stream_ends);
  CHECK(folded.result.call_ends == whole.call_ends);
  CHECK(folded.result.link_bytes == whole.link_bytes);
  CHECK(folded.result.transfers == whole.transfers);
  CHECK(folded.result.unfinished.size() == whole.unfinished.size());
  if (same != nullptr)
    *same = folded.result.end == whole.end && folded.result.stream_ends == whole.stream_ends &&
            folded.result.call_ends == whole.call_ends &&
            folded.result.link_bytes == whole.link_bytes &&
            folded.result.transfers == whole.transfers &&
            folded.result.unfinished.size() == whole.unfinished.size();
  return folded;
}

}  // namespace lockstep::test
