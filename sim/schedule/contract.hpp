#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/schedule/schedule.hpp"

/// Contract of a collective: initial blocks of each rank, and required final blocks. Blocks are
/// identified by their position in the whole message: of `blocks` equal ones, rank r's own part is
/// [r*blocks/n, (r+1)*blocks/n), and they keep that position in a buffer even if the rank has no
/// other blocks.
namespace lockstep {

enum class Collective : std::uint8_t {
  send_recv,       // rank r's data to rank r + distance (mod n), into its output
  scatter,         // the root's part r to rank r
  gather,          // rank r's own part to the root
  reduce,          // the sum over all ranks to the root
  broadcast,       // the root's data to all ranks
  all_gather,      // every rank's own part to all ranks
  reduce_scatter,  // part r of the sum to rank r
  all_reduce,      // the sum to all ranks
  all_to_all,      // part d of rank s becomes part s of rank d's output
  barrier,         // no rank ends before all have started
};
inline constexpr std::array<std::string_view, 10> kCollectiveNames{
    "send_recv",  "scatter",        "gather",     "reduce",     "broadcast",
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "barrier"};

[[nodiscard]] constexpr std::string_view to_string(Collective collective) {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}
[[nodiscard]] std::optional<Collective> parse_collective(std::string_view text);
/// Whether it is scatter, gather, reduce or broadcast.
[[nodiscard]] bool has_root(Collective collective);
/// Whether it is reduce, reduce_scatter or all_reduce.
[[nodiscard]] bool reduces(Collective collective);

/// Required contents of one block of a result.
struct Expected {
  bool anything = true;    // the rank's result does not include this block
  bool all_ranks = false;  // the sum over all ranks' block `block`; else rank `rank`'s block
  int rank = 0;
  std::int64_t block = 0;
};

struct Contract {
  Collective collective = Collective::all_reduce;
  int ranks = 1;            // with data; auxiliary ranks follow and start with zeros
  std::int64_t blocks = 1;  // of the whole message; a multiple of `ranks` if there are parts
  int root = 0;
  int distance = 1;  // of send_recv
  Buffer result = Buffer::data;

  /// Whether `rank` initially has data in `block`.
  [[nodiscard]] bool holds(int rank, std::int64_t block) const;
  [[nodiscard]] Expected expected(int rank, std::int64_t block) const;

 private:
  [[nodiscard]] int owner(std::int64_t block) const;
};

/// The contract of `schedule`, `ranks` of whose ranks have data.
[[nodiscard]] Contract contract_of(Collective collective, const Schedule& schedule, int ranks,
                                   int root = 0, int distance = 1);

}  // namespace lockstep
