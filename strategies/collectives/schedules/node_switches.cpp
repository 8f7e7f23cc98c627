#include "strategies/collectives/schedules/node_switches.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace lockstep {

namespace {

constexpr int kUp = 0;  // lanes, and the channels of their messages
constexpr int kDown = 1;

/// Rank and switch have a lane for either direction, so that chunks overlap.
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

}  // namespace

SchedulePtr over_node_switches(int n, int group, std::vector<int> above, int switches,
                               Combine combine) {
  return std::make_shared<SwitchHalf>(n, group, std::move(above), switches, combine);
}

std::optional<std::string> node_switches_refusal(const AlgorithmInput& input) {
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
  return std::nullopt;
}

}  // namespace lockstep
