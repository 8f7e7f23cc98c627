#include <fmt/format.h>

#include <algorithm>

#include "strategies/collectives/all_reduce/inner.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"

/// NVLS all-reduce: the switch inside every node of g ranks adds up and multicasts. Chunk by chunk
/// every rank sends all it has up to the switch, which adds and returns share i to the node's rank
/// i (a multimem load that reduces); across m nodes the ranks i do an all-reduce of their shares;
/// each stores its share in the switch, which multicasts it to all (a multimem store). Several
/// chunks are in flight at once, one in each stage.
/// In: n >= 1 ranks, S bytes on each, in nodes whose ranks share a switch; inner, an all-reduce
///   without auxiliary_ranks; c chunks. The switches are ranks n, n+1, ... Chunks: c*g times the
///   blocks of inner.
/// A rank receives as many bytes as it sends; a switch sends S + S/g to every rank. If c is not
///   given it follows from size, alpha and beta.
/// Reference: bytes per port, N+1 over N, in NVIDIA nccl-tests issue 212.
namespace lockstep {
namespace {

constexpr int kUp = 0;  // lanes, and the channels of their messages
constexpr int kDown = 1;

/// Half of it, for nodes of `group` ranks side by side: among each a reduce-scatter or an
/// all-gather of `group` blocks over the node's switch. Rank and switch have a lane for either
/// direction, so that chunks overlap.
class SwitchHalf final : public Schedule {
 public:
  SwitchHalf(int n, int group, std::vector<int> above, int switches, Combine combine)
      : n_{n}, group_{group}, above_{std::move(above)}, switches_{switches}, combine_{combine} {
    // Which node a switch serves.
    served_.assign(static_cast<std::size_t>(switches), -1);
    for (int rank = 0; rank < n; rank += group) served_[index_of(above_of(rank))] = rank;
  }

  [[nodiscard]] int ranks() const override { return n_ + switches_; }
  [[nodiscard]] int lanes() const override { return 2; }
  [[nodiscard]] std::int64_t blocks() const override { return group_; }
  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return rank < n_ || first_served(rank) >= 0 ? 1 : 0;
  }

  void step(int rank, int lane, std::int64_t, ScheduleStep& step) const override {
    if (rank < n_) {
      rank_step(rank, lane, step);
    } else {
      switch_step(first_served(rank), lane, step);
    }
  }

 private:
  [[nodiscard]] int above_of(int rank) const { return above_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t index_of(int node_switch) const {
    return static_cast<std::size_t>(node_switch - n_);
  }
  [[nodiscard]] int first_served(int rank) const { return served_[index_of(rank)]; }

  /// What goes up from the node's rank `place`, and what comes down to it.
  [[nodiscard]] Chunk up(int place) const {
    return combine_ == Combine::reduce ? all() : own(place);
  }
  [[nodiscard]] Chunk down(int place) const {
    return combine_ == Combine::reduce ? own(place) : all();
  }
  [[nodiscard]] Chunk all() const { return {Buffer::data, 0, group_}; }
  [[nodiscard]] static Chunk own(int place) { return {Buffer::data, place, 1}; }

  void rank_step(int rank, int lane, ScheduleStep& step) const {
    const int place = rank % group_;
    if (lane == kUp) {
      step.sends.push_back({above_of(rank), up(place), kUp});
    } else {
      step.receives.push_back({above_of(rank), down(place), Combine::copy, kDown});
    }
  }

  /// Sums lie apart from what is stored, so that what nobody stores nobody gets.
  [[nodiscard]] Chunk in_switch(Chunk chunk) const {
    return {combine_ == Combine::reduce ? Buffer::data : Buffer::output, chunk.first, chunk.count};
  }

  void switch_step(int first, int lane, ScheduleStep& step) const {
    for (int place = 0; place < group_; ++place) {
      if (lane == kUp) {
        step.receives.push_back({first + place, in_switch(up(place)), combine_, kUp});
      } else {
        step.sends.push_back({first + place, in_switch(down(place)), kDown});
      }
    }
    if (lane == kDown) step.after.push_back({kUp, 0});
  }

  int n_;
  int group_;
  std::vector<int> above_;  // per rank, its switch
  int switches_;
  Combine combine_;
  std::vector<int> served_;  // per switch, the first rank of its node; -1: none
};

SchedulePtr make_nvls(const AlgorithmInput& input) {
  const int n = input.n;
  const int group = input.layout.per_node;
  const std::vector<int>& above = input.layout.node_switches;
  const int switches = static_cast<int>(std::ssize(above)) - n;
  const SchedulePtr across = make_inner(input, n / group, group);
  const std::int64_t share = across->blocks();
  const auto half = [&](Combine combine) {
    const std::vector<int> of_ranks{above.begin(), above.begin() + n};
    return Stage{.part = std::make_shared<SwitchHalf>(n, group, of_ranks, switches, combine),
                 .members = n + switches,
                 .scale = share};
  };
  std::vector<Stage> stages;
  if (group > 1) stages.push_back(half(Combine::reduce));
  if (group < n)
    stages.push_back(
        {.part = across, .stride = group, .members = n, .offset = [group, share](int rank) {
           return rank % group * share;
         }});
  if (group > 1) stages.push_back(half(Combine::copy));
  return in_pipeline(n + switches, group * share, std::move(stages),
                     chunk_count(input, nvls_rounds(input)));
}

/// Every chunk goes up, down as a share, up as a share and down again: a stage each.
std::optional<CollectiveCost> nvls_estimate(const AlgorithmInput& input) {
  const int n = input.n;
  if (n == 1 || input.layout.per_node != n) return std::nullopt;
  const std::int64_t chunks = chunk_count(input, nvls_rounds(input));
  const std::int64_t blocks = chunks * (n + 1);
  return CollectiveCost{.rounds = chunks + 3, .path_blocks = blocks, .sent_blocks = blocks};
}

std::optional<std::string> nvls_refusal(const AlgorithmInput& input) {
  const int n = input.n;
  const int group = input.layout.per_node;
  const auto& above = input.layout.node_switches;
  if (above.empty()) return "needs switches that reduce inside the nodes; this cluster has none";
  if (const auto unequal = input.layout.unequal_nodes())
    return "needs nodes that are alike; " + *unequal;
  if (n % group != 0)
    return fmt::format("needs equal nodes; {} ranks do not fill nodes of {}", n, group);
  std::vector<int> first_below(above.size() - static_cast<std::size_t>(n), -1);
  for (int rank = 0; rank < n; ++rank) {
    const int node_switch = above[static_cast<std::size_t>(rank)];
    if (node_switch < n) return fmt::format("rank {} hangs below no switch that reduces", rank);
    int& first = first_below[static_cast<std::size_t>(node_switch - n)];
    if (first == -1) first = rank;
    if (first != rank - rank % group)
      return fmt::format("needs a switch that reduces for every node of {} ranks alone", group);
  }
  return inner_problem(input, n / group, group);
}

}  // namespace

/// What a chunk's rounds cost: over the switch as many as its bytes and the stages have, across
/// nodes inner's, with a node's ranks side by side.
PipelineRounds nvls_rounds(const AlgorithmInput& input) {
  const int group = input.layout.per_node;
  if (group == input.n) return {.fixed = 3};
  const auto across = inner_cost(input, input.n / group, group);
  const std::int64_t rounds = across ? across->rounds : std::int64_t{2} * ceil_lg(input.n / group);
  return {.fixed = 3, .per_chunk = group * std::max<std::int64_t>(1, rounds)};
}

CollectiveAlgorithm all_reduce_nvls_row() {
  return {.collective = Collective::all_reduce,
          .name = "nvls",
          .summary = "NVSwitches reduce and multicast; an all-reduce of shards across nodes",
          .parameters = {chunks_parameter(), rows::inner_parameter()},
          .limits =
              "switches that reduce inside the nodes; inner is not nvls, sharp or parameter_server",
          .rounds = "chunks + 3 on one node; across nodes inner's between the four of each chunk",
          .sent_per_rank = "(1 + 1/G)*S and inner's of S/G in nodes of G",
          .time = "about (chunks + 3)*alpha + (1 + 1/n)*S*beta on one node",
          .example = "nvls:chunks=16",
          .source = "NCCL 2.30.7, src/device/all_reduce.h; NVIDIA nccl-tests issue 212",
          .file = "nvls.cpp",
          .make = make_nvls,
          .estimate = nvls_estimate,
          .refusal = nvls_refusal,
          .auxiliary_ranks = AuxiliaryRanks::node_switches};
}

}  // namespace lockstep
