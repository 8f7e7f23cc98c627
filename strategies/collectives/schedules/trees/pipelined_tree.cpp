#include "strategies/collectives/schedules/trees/pipelined_tree.hpp"

#include <bit>

#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"

namespace lockstep {
namespace {

constexpr int kUp = 0;  // lanes, and the channels of their messages
constexpr int kDown = 1;

int lowest_bit(int rank) {
  return rank & -rank;
}

/// ScheduleStep t of either lane sends chunk t-1 and receives chunk t.
class PipelinedTree final : public BlockSchedule {
 public:
  PipelinedTree(const NodeTree& tree, std::int64_t chunks)
      : BlockSchedule(tree.nodes() * tree.per_node(), chunks), tree_{tree} {}

  [[nodiscard]] int lanes() const override { return 2; }
  [[nodiscard]] std::int64_t steps(int place, int lane) const override {
    if (n() == 1 || (place == 0 && lane == kDown)) return 0;
    return blocks() + 1;
  }

  void step(int place, int lane, std::int64_t index, ScheduleStep& step) const override {
    const int parent = tree_.parent(place);
    const auto children = tree_.children(place);
    if (lane == kUp) {
      for (const int child : children) receive(child, index, Combine::reduce, kUp, step);
      send(parent, index - 1, kUp, step);
    }
    if (lane == kDown) receive(parent, index, Combine::copy, kDown, step);
    if (lane == kDown || parent < 0) {
      for (const int child : children) send(child, index - 1, kDown, step);
    }
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    if (blocks() < 3) return {};
    return {{1, blocks() - 1}};
  }

 private:
  void send(int peer, std::int64_t chunk, int channel, ScheduleStep& step) const {
    if (peer >= 0 && chunk >= 0) step.sends.push_back({peer, {Buffer::data, chunk, 1}, channel});
  }
  void receive(int peer, std::int64_t chunk, Combine combine, int channel,
               ScheduleStep& step) const {
    if (peer >= 0 && chunk < blocks())
      step.receives.push_back({peer, {Buffer::data, chunk, 1}, combine, channel});
  }

  NodeTree tree_;
};

}  // namespace

/// The parent of an odd multiple of 2^k is the even multiple next to it that is no multiple of
/// 2^(k+2), or the other one where that is n or more.
int InOrderTree::parent(int number) const {
  if (number == 0) return -1;
  const int bit = lowest_bit(number);
  const int usual = (number ^ bit) | (2 * bit);
  return usual < n_ ? usual : number ^ bit;
}

int InOrderTree::left(int number) const {
  const int half = number == 0 ? 0 : lowest_bit(number) / 2;
  return half == 0 ? -1 : number - half;
}

/// The furthest above whose parent this is.
int InOrderTree::right(int number) const {
  int half = number == 0 ? static_cast<int>(std::bit_floor(static_cast<unsigned>(n_) - 1U))
                         : lowest_bit(number) / 2;
  while (half > 0 && half >= n_ - number) half /= 2;
  return half == 0 ? -1 : number + half;
}

NodeTree::NodeTree(int n, int per_node)
    : per_node_{per_node < n && n % per_node == 0 ? per_node : 1},
      nodes_{n / per_node_},
      tree_{nodes_} {}

int NodeTree::parent(int place) const {
  if (place % per_node_ > 0) return place - 1;
  const int parent = tree_.parent(place / per_node_);
  return parent < 0 ? -1 : parent * per_node_;
}

std::array<int, 3> NodeTree::children(int place) const {
  const int next = place + 1;
  std::array<int, 3> found{-1, -1, next % per_node_ > 0 ? next : -1};
  if (place % per_node_ > 0) return found;
  const int node = place / per_node_;
  if (const int left = tree_.left(node); left >= 0) found[0] = left * per_node_;
  if (const int right = tree_.right(node); right >= 0) found[1] = right * per_node_;
  return found;
}

int NodeTree::depth() const {
  return ceil_lg(nodes_) + (per_node_ > 1 ? 1 : 0);
}

SchedulePtr make_pipelined_tree(const NodeTree& tree, std::int64_t chunks) {
  return std::make_shared<PipelinedTree>(tree, chunks);
}

}  // namespace lockstep
