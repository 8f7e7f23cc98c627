#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/execute/schedule_checks/rounds.hpp"
#include "sim/schedule/contract.hpp"

namespace lockstep::app {

/// Adjacent chunks of one buffer that a schedule always treats equally: one column.
struct ChunkColumn {
  Buffer buffer = Buffer::data;
  std::int64_t first = 0;
  std::int64_t count = 1;

  /// "c0-3" of data, "o2" of output, "s0" of scratch.
  [[nodiscard]] std::string name() const;
};

/// Collects the chunks a schedule refers to and merges them into columns.
class ChunkColumns {
 public:
  explicit ChunkColumns(const Contract& contract);
  void note(const Round& round);
  /// Columns for all of the data buffer and the used part of the others.
  [[nodiscard]] std::vector<ChunkColumn> columns() const;

 private:
  struct Runs {
    std::set<std::int64_t> edges;
    std::set<std::pair<std::int64_t, std::int64_t>> named;  // [first, end)
  };
  void note(const Chunk& run);

  std::array<Runs, 3> buffers_;  // by Buffer
};

}  // namespace lockstep::app
