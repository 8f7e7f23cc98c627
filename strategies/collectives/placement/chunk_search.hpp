#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/placement/placed_communicator.hpp"

namespace lockstep {

/// Chooses the number of chunks of pipelines: the one that replays fastest near the estimate of
/// chunk_count.hpp. An estimate has every round cost the same; in a tree rounds meet on ports, and
/// the best is up to a tenth off. Keeps what it has found. Thread-safe.
class ChunkSearch {
 public:
  /// Replays are of messages of floats on the communicator's network, which must outlive it, all
  /// members beginning at once.
  explicit ChunkSearch(NetworkModel model) : model_{model} {}
  ChunkSearch(const ChunkSearch&) = delete;
  ChunkSearch& operator=(const ChunkSearch&) = delete;

  /// So many chunks times ranks at most, of the estimate, are searched about; beyond, replays would
  /// take longer than a user waits, and the estimate stands.
  static constexpr std::int64_t kMostSearched = 4096;

  /// `input` with the number of chunks that is best, where the algorithm chooses one and none is
  /// given; unchanged where its size or hop is not known, or it is too large to search. It must be
  /// valid. `placed` must be the same at every call.
  [[nodiscard]] AlgorithmInput with_best_chunks(const CollectiveAlgorithm& algorithm,
                                                AlgorithmInput input,
                                                const PlacedCommunicator& placed);

 private:
  NetworkModel model_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> found_;
};

/// The k of 1 to `most` for which `time` is least, looked for around `start`: among all up to three
/// times `start` where that is small, else by doubling and halving as long as times fall, and in
/// ever smaller steps around the best. Of equal ones the first that was tried.
[[nodiscard]] std::int64_t least_near(std::int64_t start, std::int64_t most,
                                      const std::function<Duration(std::int64_t)>& time);

}  // namespace lockstep
