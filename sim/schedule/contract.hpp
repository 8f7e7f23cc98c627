#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/schedule/schedule.hpp"

/// What a collective promises: which blocks each rank begins with and what must lie where in the
/// end. Blocks are named by their place in the whole message: of `blocks` equal ones, those of rank
/// r's own part are [r*blocks/n, (r+1)*blocks/n), and they lie in that place of a buffer also where
/// the rank holds nothing else.
namespace lockstep {

enum class Collective : std::uint8_t {
  send_recv,       // rank r's data to rank r + distance (mod n), into its output
  scatter,         // the root's part r to rank r
  gather,          // rank r's own part to the root
  reduce,          // the sum of all to the root
  broadcast,       // all of the root's to everyone
  all_gather,      // every rank's own part to everyone
  reduce_scatter,  // the sum's part r to rank r
  all_reduce,      // the sum to everyone
  all_to_all,      // rank s's part d becomes part s of rank d's output
  barrier,         // nobody ends before everybody has begun
};
inline constexpr std::array<std::string_view, 10> kCollectiveNames{
    "send_recv",  "scatter",        "gather",     "reduce",     "broadcast",
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "barrier"};

[[nodiscard]] constexpr std::string_view to_string(Collective collective) {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}
[[nodiscard]] std::optional<Collective> parse_collective(std::string_view text);
/// Scatter, gather, reduce, broadcast.
[[nodiscard]] bool has_root(Collective collective);
/// Reduce, reduce_scatter, all_reduce.
[[nodiscard]] bool reduces(Collective collective);

/// What must lie in one block of the result.
struct Expected {
  bool anything = true;    // the rank's result does not include this block
  bool all_ranks = false;  // the sum over all ranks' block `block`; else rank `rank`'s block alone
  int rank = 0;
  std::int64_t block = 0;
};

struct Contract {
  Collective collective = Collective::all_reduce;
  int ranks = 1;            // that hold data; auxiliary ranks follow them and begin with zeros
  std::int64_t blocks = 1;  // of the whole message, a multiple of `ranks` where parts matter
  int root = 0;
  int distance = 1;  // of send_recv
  Buffer result = Buffer::data;

  /// Whether `rank` holds something in its data's `block` when it begins.
  [[nodiscard]] bool holds(int rank, std::int64_t block) const;
  [[nodiscard]] Expected expected(int rank, std::int64_t block) const;

 private:
  [[nodiscard]] int owner(std::int64_t block) const;
};

/// The contract that `schedule` has to keep, `ranks` of whose ranks hold data.
[[nodiscard]] Contract contract_of(Collective collective, const Schedule& schedule, int ranks,
                                   int root = 0, int distance = 1);

}  // namespace lockstep
