#include <fmt/format.h>

#include "strategies/collectives/all_to_all/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

/// Hierarchical all-to-all by rails: first the ranks of a node exchange, so that local rank j holds
/// all that its node sends to the local ranks j of other nodes; then each rail exchanges across
/// nodes, one message per pair. What stays in the node goes to its place at once.
/// In: n >= 1 ranks in nodes of g, S bytes on each. Chunks: n blocks of ceil(count/n) elements;
///   what is sent within a node is n/g pieces of one block, across nodes one piece of g.
/// Messages of a round leave in the order of the next local rank or node, the one after, ... round
///   their cycle. The ideal time does not count copies.
/// Reference: PXN in NCCL 2.12 ("Doubling all2all performance with NVIDIA Collective Communication
///   Library 2.12", 2022).
namespace lockstep::all_to_all {
namespace {

/// Blocks on the way lie in scratch, that from local rank i for node b at b*g + i.
class Hierarchical final : public BlockSchedule {
 public:
  Hierarchical(int n, int group) : BlockSchedule(n), group_{group}, nodes_{n / group} {}

  [[nodiscard]] Buffer result() const override { return Buffer::output; }
  [[nodiscard]] std::int64_t scratch_blocks(int) const override {
    return group_ > 1 && nodes_ > 1 ? n() : 0;
  }
  [[nodiscard]] std::int64_t steps(int, int) const override {
    return group_ > 1 && nodes_ > 1 ? 2 : 1;
  }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (index == 0) keep_own(rank, step);
    if (index == 0 && group_ > 1) {
      exchange_in_node(rank, step);
    } else {
      exchange_across_nodes(rank, step);
    }
  }

 private:
  [[nodiscard]] int node_of(int rank) const { return rank / group_; }
  [[nodiscard]] int local_of(int rank) const { return rank % group_; }
  [[nodiscard]] int rank_of(int node, int local) const { return node * group_ + local; }

  void keep_own(int rank, ScheduleStep& step) const {
    step.locals.push_back({{Buffer::data, rank, 1}, {Buffer::output, rank, 1}});
    if (group_ == 1) return;
    for (int node = 0; node < nodes_; ++node) {
      const int place = rank_of(node, local_of(rank));
      if (node != node_of(rank))
        step.locals.push_back({{Buffer::data, place, 1}, {Buffer::scratch, place, 1}});
    }
  }

  void exchange_in_node(int rank, ScheduleStep& step) const {
    const int own = node_of(rank);
    std::vector<Chunk> sent(static_cast<std::size_t>(nodes_));
    std::vector<Chunk> received(sent.size());
    for (int distance = 1; distance < group_; ++distance) {
      const int to = (local_of(rank) + distance) % group_;
      const int from = (local_of(rank) + group_ - distance) % group_;
      for (int node = 0; node < nodes_; ++node) {
        const auto i = static_cast<std::size_t>(node);
        sent[i] = {Buffer::data, rank_of(node, to), 1};
        received[i] = {node == own ? Buffer::output : Buffer::scratch, rank_of(node, from), 1};
      }
      step.send(rank_of(own, to), sent);
      step.receive(rank_of(own, from), received, Combine::copy);
    }
  }

  void exchange_across_nodes(int rank, ScheduleStep& step) const {
    const Buffer gathered = group_ > 1 ? Buffer::scratch : Buffer::data;
    for (int distance = 1; distance < nodes_; ++distance) {
      const int to = (node_of(rank) + distance) % nodes_;
      const int from = (node_of(rank) + nodes_ - distance) % nodes_;
      step.sends.push_back({rank_of(to, local_of(rank)), {gathered, rank_of(to, 0), group_}});
      step.receives.push_back(
          {rank_of(from, local_of(rank)), {Buffer::output, rank_of(from, 0), group_}});
    }
  }

  int group_;
  int nodes_;
};

int group_of(const AlgorithmInput& input) {
  return static_cast<int>(input.number("group").value_or(input.layout.per_node));
}

std::optional<std::string> uneven_nodes(const AlgorithmInput& input) {
  const auto unequal = input.layout.unequal_nodes();
  if (unequal && !input.number("group"))
    return *unequal + "; needs equal groups: say of how many, as in group=2";
  const int group = group_of(input);
  if (input.n % group == 0) return std::nullopt;
  return fmt::format("nodes of {} ranks do not divide {} ranks", group, input.n);
}

}  // namespace

SchedulePtr make_hierarchical(int n, int group) {
  return std::make_shared<Hierarchical>(n, group);
}

std::optional<CollectiveCost> hierarchical_cost(int n, int group) {
  if (n == 1) return std::nullopt;
  const std::int64_t nodes = n / group;
  const std::int64_t sent = (group - 1) * nodes + (nodes - 1) * group;
  return CollectiveCost{.rounds = group > 1 && nodes > 1 ? 2 : 1,
                        .path_blocks = sent,
                        .reduced_blocks = 0,
                        .sent_blocks = sent};
}

}  // namespace lockstep::all_to_all

namespace lockstep {

CollectiveAlgorithm all_to_all_hierarchical_row() {
  return {
      .collective = Collective::all_to_all,
      .name = "hierarchical",
      .summary = "inside the node to the rail of the receiver, then across nodes along rails",
      .parameters = {{.name = "group", .meaning = "ranks of a node; the cluster's if not given"}},
      .limits = "n >= 1, group divides n",
      .rounds = "2; 1 where group is 1 or n",
      .sent_per_rank = "((group-1)/group + (n-group)/n)*S",
      .time = "2*alpha + ((group-1)/group + (n-group)/n)*S*beta",
      .example = "hierarchical:group=8",
      .source = "NCCL 2.12 (PXN); MSCCL two-step all-to-all",
      .file = "hierarchical.cpp",
      .make =
          [](const AlgorithmInput& input) {
            return all_to_all::make_hierarchical(input.n, all_to_all::group_of(input));
          },
      .cost =
          [](const AlgorithmInput& input) {
            return all_to_all::hierarchical_cost(input.n, all_to_all::group_of(input));
          },
      .refusal = all_to_all::uneven_nodes};
}

}  // namespace lockstep
