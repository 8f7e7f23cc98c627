#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/schedule/schedule.hpp"
#include "strategies/collectives/algorithm.hpp"

namespace lockstep::cli {

/// Names of ranks, servers and switches, and of the chunks of their buffers.
class ExplainWords {
 public:
  struct Setting {
    int ranks = 1;  // that hold data; auxiliary ranks follow
    AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;
    std::int64_t chunks = 1;  // of the whole message
    Bytes chunk;              // length of one
  };
  explicit ExplainWords(const Setting& setting) : setting_{setting} {}

  /// "rank 3", "server 0", "switch 0".
  [[nodiscard]] std::string name(int rank) const;
  /// "ranks 0-2, 5", "servers 0-3"; in any order, without repetition.
  [[nodiscard]] std::string names(std::vector<int> ranks) const;
  /// "3", "server 0": in a column headed rank.
  [[nodiscard]] std::string label(int rank) const;
  /// "chunk 3", "chunks 0-2, 5", "output chunk 1"; "no data" if there is none.
  [[nodiscard]] std::string chunks(const std::vector<Chunk>& runs) const;
  /// Whether this is exactly the block of `rank`.
  [[nodiscard]] bool is_part_of(const std::vector<Chunk>& runs, int rank) const;
  /// "16 MiB".
  [[nodiscard]] std::string size(std::int64_t chunks) const;

 private:
  [[nodiscard]] std::string auxiliary() const;

  Setting setting_;
};

}  // namespace lockstep::cli
