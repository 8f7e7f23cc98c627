#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/placement/placed_communicator.hpp"
#include "strategies/collectives/sizing.hpp"

namespace lockstep {

/// Chooses the number of chunks of a pipeline by replaying numbers near the estimate of
/// chunk_count.hpp. The estimate assumes equal rounds; in a tree, rounds contend at ports, so the
/// best number is up to 10 % faster. Caches results. Thread-safe.
class ChunkSearch {
 public:
  /// Replays use messages of floats on the communicator's network, which must outlive this object;
  /// all members start together.
  explicit ChunkSearch(NetworkModel model) : model_{model} {}
  ChunkSearch(const ChunkSearch&) = delete;
  ChunkSearch& operator=(const ChunkSearch&) = delete;

  /// Limit on chunks times ranks; above it the estimate is used, since replays would take too long.
  static constexpr std::int64_t kMostSearched = 4096;

  /// `input` with the best number of chunks if the algorithm chooses it and none is given;
  /// unchanged if size or hop are unknown or the search would be too large. Requires a valid input,
  /// and the same `placed` in every call.
  [[nodiscard]] AlgorithmInput with_best_chunks(const CollectiveAlgorithm& algorithm,
                                                AlgorithmInput input,
                                                const PlacedCommunicator& placed);

 private:
  NetworkModel model_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> found_;
};

/// How long an algorithm takes alone on the communicator's network, from one start of all members;
/// none if it does not end. `input` has a size, of elements of this type.
[[nodiscard]] std::optional<Duration> replayed_alone(const CollectiveAlgorithm& algorithm,
                                                     const AlgorithmInput& input,
                                                     const PlacedCommunicator& placed,
                                                     NetworkModel model, const ElementType& type);

/// The k in 1 .. `most` that minimizes `time`, searched near `start`: exhaustively up to three
/// times a small `start`, else by doubling and halving while times fall, then in decreasing steps
/// around the best. The first tried on ties.
[[nodiscard]] std::int64_t least_near(std::int64_t start, std::int64_t most,
                                      const std::function<Duration(std::int64_t)>& time);

}  // namespace lockstep
