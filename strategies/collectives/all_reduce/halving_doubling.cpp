#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"

/// Halving-doubling all-reduce (Rabenseifner): a reduce-scatter by recursive halving, then an
/// all-gather by recursive doubling that retraces its way.
/// In: n >= 1 ranks, S bytes on each; where n is not a power of two, folded to N' = 2^floor(lg n)
///   by the extra-rank method. Chunks: N' blocks of ceil(count/N') elements.
/// Two orders: the far peer first (the largest blocks travel furthest, as published), or the near
/// peer first (the largest blocks go to the neighbor: far less load on a ring or a tapered tree).
namespace lockstep {
namespace {

/// Which peer the largest blocks go to.
enum class PeerOrder { far_first, near_first };

/// Blocks are dealt by position: the rank at position p ends its halving with block p, and in every
/// round sends one run of blocks. With the far peer first a position is an index in the core; with
/// the near peer first it is that index with its bits reversed, which keeps the runs whole.
class HalvingDoubling final : public ExtraRankSchedule, public SymmetricSchedule {
 public:
  HalvingDoubling(PowerOfTwoCore core, int n, PeerOrder order)
      : ExtraRankSchedule(core, n, core.size()), order_{order} {}

  [[nodiscard]] std::optional<BlockMoves> moves() const override {
    return core().exchanges_alike();
  }

 protected:
  [[nodiscard]] std::int64_t core_steps() const override {
    return std::int64_t{2} * core().exponent();
  }

  void core_step(int core_index, std::int64_t index, ScheduleStep& step) const override {
    const int lg = core().exponent();
    const int round = static_cast<int>(index);
    const int mine = position_of(core_index);
    if (round < lg) {
      const int half = core().size() >> (round + 1);
      exchange(mine ^ half, run(mine ^ half, half), run(mine, half), Combine::reduce, step);
    } else {
      const int have = 1 << (round - lg);
      exchange(mine ^ have, run(mine, have), run(mine ^ have, have), Combine::copy, step);
    }
  }

 private:
  /// The aligned run of `length` blocks, a power of two, that holds block `position`.
  [[nodiscard]] static Chunk run(int position, int length) {
    return {Buffer::data, position & ~(length - 1), length};
  }

  void exchange(int position, Chunk sent, Chunk received, Combine combine,
                ScheduleStep& step) const {
    const int peer = core().rank_of(position_of(position));
    step.sends.push_back({peer, sent});
    step.receives.push_back({peer, received, combine});
  }

  /// From index in the core to position, and just so from position to index.
  [[nodiscard]] int position_of(int index) const {
    if (order_ == PeerOrder::far_first) return index;
    int reversed = 0;
    for (int bit = 0; bit < core().exponent(); ++bit) {
      reversed = (reversed << 1) | ((index >> bit) & 1);
    }
    return reversed;
  }

  PeerOrder order_;
};

SchedulePtr make_halving_doubling(int n, PeerOrder order) {
  return std::make_shared<HalvingDoubling>(PowerOfTwoCore{n}, n, order);
}

template <PeerOrder order>
SchedulePtr halving(const AlgorithmInput& input) {
  return make_halving_doubling(input.n, order);
}

}  // namespace

CollectiveCost halving_doubling_cost(int n) {
  const PowerOfTwoCore core{n};
  const std::int64_t others = core.size() - 1;
  const std::int64_t fold = core.extras() > 0 ? 1 : 0;
  const std::int64_t all = core.size();
  return {.rounds = 2 * (core.exponent() + fold),
          .path_blocks = 2 * others + 2 * fold * all,
          .reduced_blocks = others + fold * all,
          .sent_blocks = 2 * others + fold * all};
}

CollectiveAlgorithm all_reduce_halving_doubling_row() {
  return {
      .collective = Collective::all_reduce,
      .name = "halving_doubling",
      .summary = "recursive halving, then recursive doubling; the largest blocks travel furthest",
      .limits = rows::kAnyRanks,
      .rounds = rows::kHalvingRounds,
      .sent_per_rank = rows::kHalvingSent,
      .time = rows::kHalvingTime,
      .example = "halving_doubling",
      .source = rows::kThakur,
      .file = "halving_doubling.cpp",
      .make = halving<PeerOrder::far_first>,
      .cost = rows::of_n<halving_doubling_cost>};
}

CollectiveAlgorithm all_reduce_halving_doubling_near_row() {
  return {
      .collective = Collective::all_reduce,
      .name = "halving_doubling_near",
      .summary = "recursive halving, then recursive doubling; the largest blocks go to neighbors",
      .limits = rows::kAnyRanks,
      .rounds = rows::kHalvingRounds,
      .sent_per_rank = rows::kHalvingSent,
      .time = rows::kHalvingTime,
      .example = "halving_doubling_near",
      .source = rows::kThakur,
      .file = "halving_doubling.cpp",
      .make = halving<PeerOrder::near_first>,
      .cost = rows::of_n<halving_doubling_cost>};
}

}  // namespace lockstep
