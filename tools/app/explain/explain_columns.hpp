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

/// Chunks next to each other in one buffer that a schedule always treats alike: one column.
struct ChunkColumn {
  Buffer buffer = Buffer::data;
  std::int64_t first = 0;
  std::int64_t count = 1;

  /// "c0-3" of the data, "o2" of the output, "s0" of the scratch.
  [[nodiscard]] std::string name() const;
};

/// Finds the columns that show all that a schedule does.
class ChunkColumns {
 public:
  explicit ChunkColumns(const Contract& contract);
  void note(const Round& round);
  /// All of the data, and what was ever named of the other buffers.
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
