#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A collective's schedule: for every rank and lane an ordered list of steps, computed on demand.
/// Plain data; the engine times it, the host executor runs it on real numbers.
namespace lockstep {

/// Where a block lives on a rank. `data` is input and result at once, as in an in-place collective.
enum class Buffer : std::uint8_t { data, output, scratch };

/// A run of equal blocks in one buffer of one rank.
struct Chunk {
  Buffer buffer = Buffer::data;
  std::int64_t first = 0;  // index of the first block
  std::int64_t count = 0;  // number of blocks
};

enum class Combine : std::uint8_t { copy, reduce };

/// The k-th send from a rank to a peer on a channel meets the k-th receive there. A channel between
/// two ranks belongs to one lane at either end.
struct Send {
  int peer = 0;
  Chunk chunk;
  int channel = 0;
};

struct Receive {
  int peer = 0;
  Chunk chunk;
  Combine combine = Combine::copy;
  int channel = 0;
};

/// Names a step of another lane of the same rank that must be done first.
struct StepRef {
  int lane = 0;
  std::int64_t step = 0;
};

/// What one rank does in one step of one lane. Sends carry what the buffer held when the step
/// began. With more than one transfer per step, sends are issued in their order here.
struct Step {
  std::vector<Send> sends;
  std::vector<Receive> receives;
  std::vector<StepRef> after;

  void clear() {
    sends.clear();
    receives.clear();
    after.clear();
  }
};

/// Steps that repeat the network pattern of the step `first` on every rank: same peers, same block
/// counts, reduced or not in the same way, no dependencies; only which blocks are meant differs.
struct Phase {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

/// A function of (rank, lane, step); never a table of N^2 messages. Implementations are immutable
/// and may be used from several threads at once.
class Schedule {
 public:
  virtual ~Schedule() = default;

  /// All that take part: the N that hold data, then helpers such as parameter servers.
  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int lanes() const { return 1; }
  /// 0: a transfer starts when both ends have reached it and ends for both on arrival.
  [[nodiscard]] virtual int slots() const { return 0; }
  /// Equal blocks that the data buffer of every rank is divided into.
  [[nodiscard]] virtual std::int64_t blocks() const = 0;
  /// Blocks of scratch that `rank` needs.
  [[nodiscard]] virtual std::int64_t scratch_blocks(int rank) const {
    (void)rank;
    return 0;
  }
  [[nodiscard]] virtual std::int64_t steps(int rank, int lane) const = 0;
  /// Writes step `index` of `lane` on `rank` into `step`, which arrives cleared.
  virtual void step(int rank, int lane, std::int64_t index, Step& step) const = 0;
  /// Repetition, in order of steps; what no phase covers repeats nothing.
  [[nodiscard]] virtual std::vector<Phase> phases() const { return {}; }
};

}  // namespace lockstep
