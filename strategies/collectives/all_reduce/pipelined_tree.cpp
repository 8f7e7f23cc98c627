#include "strategies/collectives/all_reduce/pipelined_tree.hpp"

#include <bit>

#include "strategies/collectives/block_schedule.hpp"

namespace lockstep {
namespace {

constexpr int kUp = 0;  // lanes, and the channels of their messages
constexpr int kDown = 1;

int lowest_bit(int rank) {
  return rank & -rank;
}

/// Step t of either lane sends chunk t-1 and receives chunk t.
class PipelinedTree final : public BlockSchedule {
 public:
  PipelinedTree(int n, std::int64_t chunks) : BlockSchedule(n, chunks), tree_{n} {}

  [[nodiscard]] int lanes() const override { return 2; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    if (n() == 1 || (rank == 0 && lane == kDown)) return 0;
    return blocks() + 1;
  }

  void step(int rank, int lane, std::int64_t index, Step& step) const override {
    const int parent = tree_.parent(rank);
    if (lane == kUp) {
      receive(tree_.left(rank), index, Combine::reduce, kUp, step);
      receive(tree_.right(rank), index, Combine::reduce, kUp, step);
      send(parent, index - 1, kUp, step);
    }
    if (lane == kDown) receive(parent, index, Combine::copy, kDown, step);
    if (lane == kDown || rank == 0) {
      send(tree_.left(rank), index - 1, kDown, step);
      send(tree_.right(rank), index - 1, kDown, step);
    }
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    if (blocks() < 3) return {};
    return {{1, blocks() - 1}};
  }

 private:
  void send(int peer, std::int64_t chunk, int channel, Step& step) const {
    if (peer >= 0 && chunk >= 0) step.sends.push_back({peer, {Buffer::data, chunk, 1}, channel});
  }
  void receive(int peer, std::int64_t chunk, Combine combine, int channel, Step& step) const {
    if (peer >= 0 && chunk < blocks())
      step.receives.push_back({peer, {Buffer::data, chunk, 1}, combine, channel});
  }

  InOrderTree tree_;
};

}  // namespace

/// The parent of an odd multiple of 2^k is the even multiple beside it that is no multiple of
/// 2^(k+2), or the other one where that is n or more.
int InOrderTree::parent(int rank) const {
  if (rank == 0) return -1;
  const int bit = lowest_bit(rank);
  const int usual = (rank ^ bit) | (2 * bit);
  return usual < n_ ? usual : rank ^ bit;
}

int InOrderTree::left(int rank) const {
  if (rank == 0) return -1;
  const int half = lowest_bit(rank) / 2;
  return half == 0 ? -1 : rank - half;
}

/// The nearest rank above whose parent this is.
int InOrderTree::right(int rank) const {
  int half = rank == 0 ? static_cast<int>(std::bit_floor(static_cast<unsigned>(n_) - 1U))
                       : lowest_bit(rank) / 2;
  while (half > 0 && half >= n_ - rank) half /= 2;
  return half == 0 ? -1 : rank + half;
}

SchedulePtr make_pipelined_tree(int n, std::int64_t chunks) {
  return std::make_shared<PipelinedTree>(n, chunks);
}

}  // namespace lockstep
