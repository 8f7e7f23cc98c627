#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/extra_rank.hpp"
#include "strategies/collectives/schedules/rooted.hpp"
#include "strategies/collectives/schedules/trees/binomial_tree.hpp"

/// Scatter and all-gather broadcast (van de Geijn): the root's message is scattered down a binomial
/// tree, then everybody gathers all of it, either round a ring or by recursive doubling.
/// In: n >= 1 ranks, S bytes on the root. Chunks: n blocks of ceil(count/n) elements; by recursive
///   doubling N' = 2^floor(lg n) blocks over N' ranks, who give all of it to the n-N' others.
/// Reference: Barnett et al. 1994 (Interprocessor collective communication library).
namespace lockstep::broadcast {
namespace {

/// A position's round of the scatter, in which the subtree of child c takes the blocks from c on.
void scatter(const BinomialTree& tree, int position, int round, const auto& rank_of,
             ScheduleStep& step) {
  const auto edge = tree.edge(position, round);
  if (!edge) return;
  const Chunk below{Buffer::data, edge->child, edge->below()};
  if (position == edge->parent) {
    step.sends.push_back({rank_of(edge->child), below});
  } else {
    step.receives.push_back({rank_of(edge->parent), below});
  }
}

class ScatterRing final : public RootedSchedule {
 public:
  ScatterRing(int n, int root) : RootedSchedule(n, root, n), tree_{n} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return tree_.rounds() + n() - 1; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const auto round = static_cast<int>(index);
    const int position = position_of(rank);
    if (round < tree_.rounds()) {
      scatter(
          tree_, position, round, [this](int at) { return rank_at(at); }, step);
    } else {
      const int sent = behind(position, round - tree_.rounds());
      step.sends.push_back({ahead(rank, 1), {Buffer::data, sent, 1}});
      step.receives.push_back({behind(rank, 1), {Buffer::data, behind(sent, 1), 1}});
    }
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    if (n() == 1) return {};
    return {{tree_.rounds(), n() - 1}};
  }

 private:
  BinomialTree tree_;
};

/// Positions with an index in the core of a power of two scatter and gather; then partners give all
/// of it to the extra positions. The root, position 0, is in the core with index 0.
class ScatterDoubling final : public RootedSchedule {
 public:
  ScatterDoubling(PowerOfTwoCore core, int n, int root)
      : RootedSchedule(n, root, core.size()), core_{core}, tree_{core.size()} {}

  [[nodiscard]] std::int64_t steps(int, int) const override {
    return 2 * tree_.rounds() + (core_.extras() > 0 ? 1 : 0);
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const auto round = static_cast<int>(index);
    const int position = position_of(rank);
    if (round == 2 * tree_.rounds()) {
      unfold(position, step);
    } else if (core_.is_extra(position)) {
      return;
    } else if (round < tree_.rounds()) {
      scatter(
          tree_, core_.index_of(position), round, [this](int at) { return rank_of(at); }, step);
    } else {
      double_up(core_.index_of(position), 1 << (round - tree_.rounds()), step);
    }
  }

 private:
  [[nodiscard]] int rank_of(int core_index) const { return rank_at(core_.rank_of(core_index)); }

  /// Exchanges the aligned run of `have` blocks, a power of two, for the one next to it.
  void double_up(int core_index, int have, ScheduleStep& step) const {
    const int peer = core_index ^ have;
    step.sends.push_back({rank_of(peer), {Buffer::data, core_index & ~(have - 1), have}});
    step.receives.push_back({rank_of(peer), {Buffer::data, peer & ~(have - 1), have}});
  }

  void unfold(int position, ScheduleStep& step) const {
    if (core_.is_partner(position)) step.sends.push_back({rank_at(position + 1), whole()});
    if (core_.is_extra(position)) step.receives.push_back({rank_at(position - 1), whole()});
  }

  PowerOfTwoCore core_;
  BinomialTree tree_;
};

SchedulePtr make_scatter_ring(int n, int root) {
  return std::make_shared<ScatterRing>(n, root);
}

CollectiveCost scatter_ring_cost(int n) {
  const std::int64_t others = n - 1;
  return {.rounds = ceil_lg(n) + others,
          .path_blocks = 2 * others,
          .reduced_blocks = 0,
          .sent_blocks = 2 * others};
}

SchedulePtr make_scatter_doubling(int n, int root) {
  return std::make_shared<ScatterDoubling>(PowerOfTwoCore{n}, n, root);
}

CollectiveCost scatter_doubling_cost(int n) {
  const PowerOfTwoCore core{n};
  const std::int64_t others = core.size() - 1;
  const std::int64_t fold = core.extras() > 0 ? 1 : 0;
  const std::int64_t sent = 2 * others + fold * core.size();
  return {.rounds = 2 * core.exponent() + fold,
          .path_blocks = sent,
          .reduced_blocks = 0,
          .sent_blocks = sent};
}

}  // namespace

}  // namespace lockstep::broadcast

namespace lockstep {

CollectiveAlgorithm broadcast_scatter_all_gather_row() {
  return {.collective = Collective::broadcast,
          .name = "scatter_all_gather",
          .summary = "binomial scatter, then ring all-gather (van de Geijn)",
          .limits = rows::kAnyRanks,
          .rounds = "ceil(lg n) + n-1",
          .sent_per_rank = "2(n-1)/n*S by the root, less by others",
          .time = "(ceil(lg n) + n-1)*alpha + 2(n-1)/n*S*beta",
          .example = "scatter_all_gather",
          .source = "Barnett et al. 1994; Thakur, Rabenseifner and Gropp 2005, section 4",
          .file = "scatter_all_gather.cpp",
          .make = rows::of_root<broadcast::make_scatter_ring>,
          .cost = rows::of_n<broadcast::scatter_ring_cost>};
}

CollectiveAlgorithm broadcast_scatter_doubling_row() {
  return {.collective = Collective::broadcast,
          .name = "scatter_doubling",
          .summary = "binomial scatter, then all-gather by recursive doubling",
          .limits = rows::kAnyRanks,
          .rounds = "2 lg n; 2 lg N' + 1 where n is not a power of two",
          .sent_per_rank = "2(n-1)/n*S by the root; S more where n is not a power of two",
          .time =
              "2 lg n*alpha + 2(n-1)/n*S*beta; where n is not a power of two "
              "(2 lg N' + 1)*alpha + (1 + 2(N'-1)/N')*S*beta",
          .example = "scatter_doubling",
          .source = rows::kThakur,
          .file = "scatter_all_gather.cpp",
          .make = rows::of_root<broadcast::make_scatter_doubling>,
          .cost = rows::of_n<broadcast::scatter_doubling_cost>};
}

}  // namespace lockstep
