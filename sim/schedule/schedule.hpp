#pragma once

#include <cstdint>
#include <span>
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

/// Further runs of blocks that one message carries after its first, as a run of
/// ScheduleStep::pieces.
struct Pieces {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The k-th send from a rank to a peer on a channel meets the k-th receive there. A channel between
/// two ranks belongs to one lane at either end.
struct Send {
  int peer = 0;
  Chunk chunk;
  int channel = 0;
  Pieces more{};
};

struct Receive {
  int peer = 0;
  Chunk chunk;
  Combine combine = Combine::copy;
  int channel = 0;
  Pieces more{};
  /// So many equal messages, one each from ranks that behave alike and that `peer` stands for: only
  /// where ranks are folded into one.
  std::int64_t times = 1;
  /// The lane's next step sends it on, out of the slot it came in: the slot is free again when that
  /// step is done, not when the message is taken (fused receive and send, as in MSCCL's rcs). At
  /// most one of a step's receives.
  bool forwarded = false;
};

/// Work on one rank's own memory: `to` becomes `from`, or gets it added. Both are equally long.
struct LocalOperation {
  Chunk from;
  Chunk to;
  Combine combine = Combine::copy;
};

/// Names a step of another lane of the same rank that must be done first.
struct ScheduleStepRef {
  int lane = 0;
  std::int64_t step = 0;
};

/// What one rank does in one step of one lane. Sends carry what the buffer held when the step
/// began. With more than one transfer per step, sends are issued in their order here. Local
/// operations come last, in order, when all the step's transfers are done.
struct ScheduleStep {
  std::vector<Send> sends{};
  std::vector<Receive> receives{};
  std::vector<LocalOperation> locals{};
  std::vector<ScheduleStepRef> after{};
  std::vector<Chunk> pieces{};  // what Pieces of this step's messages point into

  void clear() {
    sends.clear();
    receives.clear();
    locals.clear();
    after.clear();
    pieces.clear();
  }

  /// A message of several runs of blocks, at least one; blocks travel in the order of the runs.
  void send(int peer, std::span<const Chunk> chunks, int channel = 0) {
    sends.push_back({peer, chunks.front(), channel, keep(chunks.subspan(1))});
  }
  void receive(int peer, std::span<const Chunk> chunks, Combine combine, int channel = 0) {
    receives.push_back({peer, chunks.front(), combine, channel, keep(chunks.subspan(1))});
  }

  [[nodiscard]] std::span<const Chunk> more(Pieces run) const {
    return std::span{pieces}.subspan(run.first, run.count);
  }
  /// Blocks of a Send or a Receive, all runs together.
  template <typename Message>
  [[nodiscard]] std::int64_t blocks_of(const Message& message) const {
    std::int64_t blocks = message.chunk.count;
    for (const Chunk& chunk : more(message.more)) blocks += chunk.count;
    return blocks;
  }

 private:
  Pieces keep(std::span<const Chunk> further) {
    const Pieces run{static_cast<std::uint32_t>(pieces.size()),
                     static_cast<std::uint32_t>(further.size())};
    pieces.insert(pieces.end(), further.begin(), further.end());
    return run;
  }
};

/// Steps that repeat the network pattern of the step `first` on every rank: same peers, same block
/// counts, reduced or not in the same way, no dependencies, no local operations; only which blocks
/// are meant differs.
struct Phase {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

/// A function of (rank, lane, step); never a table of N^2 messages. Implementations are immutable
/// and may be used from several threads at once.
class Schedule {
 public:
  virtual ~Schedule() = default;

  /// All that take part: the N that hold data, then auxiliary ranks such as parameter servers.
  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int lanes() const { return 1; }  // at least one
  /// 0: a transfer starts when both ends have reached it and ends for both on arrival. k >= 1: a
  /// transfer starts as soon as its connection has one of k slots free and ends for the sender when
  /// its last byte has left; the slot is free again when the receiver has taken the message, of one
  /// that is forwarded when it has been sent on.
  [[nodiscard]] virtual int slots() const { return 0; }
  /// Equal blocks that the data buffer of every rank is divided into.
  [[nodiscard]] virtual std::int64_t blocks() const = 0;
  /// Blocks of scratch that `rank` needs.
  [[nodiscard]] virtual std::int64_t scratch_blocks(int rank) const {
    (void)rank;
    return 0;
  }
  /// Where the result lies in the end.
  [[nodiscard]] virtual Buffer result() const { return Buffer::data; }
  [[nodiscard]] virtual std::int64_t steps(int rank, int lane) const = 0;
  /// Writes step `index` of `lane` on `rank` into `step`, which arrives cleared.
  virtual void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const = 0;
  /// Repetition, in order of steps; what no phase covers repeats nothing.
  [[nodiscard]] virtual std::vector<Phase> phases() const { return {}; }
};

}  // namespace lockstep
