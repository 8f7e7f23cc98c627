#include "strategies/sharding/experts/token_dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "strategies/sharding/experts/expert_copies.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kChunks = 4;

/// Lane kFirst sends what the other lane waits for, part by part.
class TokenDispatch final : public Schedule {
 public:
  TokenDispatch(const TokenShares& shares, bool returns) : of_{shares}, returns_{returns} {}

  [[nodiscard]] int ranks() const override { return of_.nodes * of_.per_node; }
  [[nodiscard]] int lanes() const override { return of_.nodes > 1 && of_.per_node > 1 ? 2 : 1; }
  [[nodiscard]] std::int64_t blocks() const override {
    return std::max(of_.to_node.count(), of_.to_rank.count()) * ranks();
  }
  [[nodiscard]] Buffer result() const override { return Buffer::output; }
  [[nodiscard]] std::int64_t steps(int, int lane) const override {
    if (of_.nodes == 1) return 1;
    if (of_.per_node == 1) return kChunks;
    return lane == node_lane() ? kChunks : kChunks + 1;
  }

  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    if (of_.nodes == 1) {
      within_node(rank, of_.to_rank.count(), step);
    } else if (of_.per_node == 1) {
      between_nodes(rank, index, step);
    } else if (lane == node_lane()) {
      if (returns_) step.after.push_back({0, index});
      between_nodes(rank, index, step);
    } else {
      const std::int64_t own = returns_ ? kChunks : 0;  // the step of the own node's copies
      if (index == own) {
        within_node(rank, of_.to_rank.count(), step);
        return;
      }
      const std::int64_t part = returns_ ? index : index - 1;
      if (!returns_) step.after.push_back({0, part});
      within_node(rank, (of_.nodes - 1) * part_of(of_.to_rank, part), step);
    }
  }

 private:
  [[nodiscard]] int node_lane() const { return returns_ ? 1 : 0; }
  [[nodiscard]] static std::int64_t part_of(Bytes all, std::int64_t index) {
    return all.count() * (index + 1) / kChunks - all.count() * index / kChunks;
  }

  /// The k-th other place of n, and the one of which that is the k-th.
  static void exchange(int n, int own, std::int64_t bytes, ScheduleStep& step, auto&& rank_at) {
    if (bytes == 0) return;
    for (int distance = 1; distance < n; ++distance) {
      step.sends.push_back({rank_at((own + distance) % n), {Buffer::data, 0, bytes}});
      step.receives.push_back({rank_at((own + n - distance) % n), {Buffer::output, 0, bytes}});
    }
  }

  void within_node(int rank, std::int64_t bytes, ScheduleStep& step) const {
    const int first = rank / of_.per_node * of_.per_node;
    exchange(of_.per_node, rank - first, bytes, step, [&](int at) { return first + at; });
  }
  void between_nodes(int rank, std::int64_t index, ScheduleStep& step) const {
    const int place = rank % of_.per_node;
    exchange(of_.nodes, rank / of_.per_node, part_of(of_.to_node, index), step,
             [&](int at) { return at * of_.per_node + place; });
  }

  TokenShares of_;
  bool returns_;
};

/// Ranks of each node where all have as many, one node after the other; else 0.
[[nodiscard]] int ranks_per_node(const std::vector<int>& nodes) {
  const auto end =
      std::find_if(nodes.begin(), nodes.end(), [&](int node) { return node != nodes.front(); });
  const auto per_node = static_cast<std::size_t>(end - nodes.begin());
  if (nodes.size() % per_node != 0) return 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] != nodes[i - i % per_node]) return 0;
    if (i >= per_node && i % per_node == 0 && nodes[i] == nodes[i - 1]) return 0;
  }
  return static_cast<int>(per_node);
}

}  // namespace

TokenShares token_shares(const TokenCopies& copies, Bytes message, const std::vector<int>& nodes) {
  const auto ranks = static_cast<int>(nodes.size());
  const int per_node = ranks_per_node(nodes);
  TokenShares out;
  out.per_node = per_node == 0 ? ranks : per_node;
  out.nodes = ranks / out.per_node;
  const double tokens =
      static_cast<double>(message.count()) / static_cast<double>(copies.top_k) * copies.widening;
  const auto share = [&](int units) {
    return Bytes{std::llround(tokens * share_of_tokens(copies, units))};
  };
  out.to_node = share(out.nodes);
  out.to_rank = share(ranks);
  return out;
}

std::shared_ptr<const Schedule> make_token_dispatch(const TokenShares& shares, bool returns) {
  return std::make_shared<TokenDispatch>(shares, returns);
}

}  // namespace lockstep
