#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/network.hpp"
#include "tools/app/explain/explain_columns.hpp"
#include "tools/app/explain/explain_cost.hpp"
#include "tools/app/explain/explain_stage.hpp"

namespace lockstep::app {

inline constexpr int kMostFilmRanks = 64;

/// Adjacent columns of a film.
struct ColumnRun {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Links from one endpoint to another.
struct FilmRoute {
  int from = 0;  // member of the collective
  int to = 0;
  std::vector<LinkId> links;  // in order of travel, if there is one path
  Duration latency;
  std::int64_t paths = 1;
};

/// A message from its earliest start to its arrival.
struct FilmTransfer {
  int from = 0;
  int to = 0;
  std::int64_t round = 0;  // 1-based
  int channel = 0;
  Bytes size;
  TimePoint start;
  TimePoint end;
  Combine combine = Combine::copy;
  std::vector<ColumnRun> sent;
  std::vector<ColumnRun> received;
  std::size_t route = 0;
};

/// Contents of one chunk on one rank: the sum of initial data of `ranks`.
struct FilmContent {
  std::vector<int> ranks;   // ascending; empty: zeros, of ranks without data
  std::int64_t origin = 0;  // position of the data in the whole message
  std::string text;         // in the notation of HoldingText; "varies": parts of a column differ

  friend bool operator==(const FilmContent&, const FilmContent&) = default;
};

/// A chunk changes when a message arrives, or by a local copy or reduction.
struct FilmWrite {
  TimePoint at;
  int rank = 0;
  std::size_t column = 0;
  std::size_t content = 0;  // index into CollectiveFilm::contents
};

/// One algorithm at one size on one cluster: every message with its time, and the contents of every
/// chunk from the start to the end.
struct CollectiveFilm {
  Stage stage;
  const CollectiveAlgorithm* algorithm = nullptr;
  Duration time;                        // of the whole collective
  std::int64_t rounds = 0;              // longest chain of dependent messages
  std::vector<ChunkColumn> columns;     // of a barrier: one, the ranks known to have arrived
  std::vector<FilmRoute> routes;        // used by the transfers
  std::vector<FilmTransfer> transfers;  // by start
  std::vector<FilmContent> contents;    // each once
  std::vector<std::vector<std::int64_t>> initial;  // [member][column]: content; -1: uninitialized
  std::vector<FilmWrite> writes;                   // by time
  ExplainedCost cost;
};

/// Executes the messages in the order of their simulated times on sets of contributing ranks, and
/// checks that every rank ends with what the collective requires. At most kMostFilmRanks ranks.
/// Throws RequestError, ConfigError, and Refusal for a schedule with too many messages or a wrong
/// result.
[[nodiscard]] CollectiveFilm make_film(const StageRequest& request);

}  // namespace lockstep::app
