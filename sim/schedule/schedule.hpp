#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// A collective's schedule: an ordered list of steps per rank and lane, computed on demand. Plain
/// data; the engine times it, the host executor runs it on real numbers.
namespace lockstep {

/// Location of a block on a rank. `data` is both input and result, as in in-place collectives.
enum class Buffer : std::uint8_t { data, output, scratch };

/// A run of equal blocks in one buffer of one rank.
struct Chunk {
  Buffer buffer = Buffer::data;
  std::int64_t first = 0;  // index of the first block
  std::int64_t count = 0;  // number of blocks
};

enum class Combine : std::uint8_t { copy, reduce };

/// Additional runs of blocks of a message, as a range of ScheduleStep::pieces.
struct Pieces {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The k-th send from a rank to a peer on a channel matches the k-th receive. Each end of a channel
/// belongs to one lane.
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
  /// Number of equal messages from equivalent ranks represented by `peer`; above 1 only in folded
  /// schedules.
  std::int64_t times = 1;
  /// The lane's next step forwards the message out of its slot, which is released when that step is
  /// done instead of on receipt (fused receive and send, as MSCCL's rcs). At most one receive per
  /// step.
  bool forwarded = false;
};

/// Local copy or reduction: `to` = `from`, or `to` += `from`, of equal length.
struct LocalOperation {
  Chunk from;
  Chunk to;
  Combine combine = Combine::copy;
};

/// A dependency on a step of another lane of the same rank.
struct ScheduleStepRef {
  int lane = 0;
  std::int64_t step = 0;
};

/// One step of one lane of a rank. Sends carry the buffer's contents at the start of the step and
/// are issued in this order. Local operations follow in order after all transfers of the step.
struct ScheduleStep {
  std::vector<Send> sends{};
  std::vector<Receive> receives{};
  std::vector<LocalOperation> locals{};
  std::vector<ScheduleStepRef> after{};
  std::vector<Chunk> pieces{};  // runs referred to by the messages' Pieces

  void clear() {
    sends.clear();
    receives.clear();
    locals.clear();
    after.clear();
    pieces.clear();
  }

  /// Sends several runs of blocks, at least one, as one message, in order.
  void send(int peer, std::span<const Chunk> chunks, int channel = 0) {
    sends.push_back({peer, chunks.front(), channel, keep(chunks.subspan(1))});
  }
  void receive(int peer, std::span<const Chunk> chunks, Combine combine, int channel = 0) {
    receives.push_back({peer, chunks.front(), combine, channel, keep(chunks.subspan(1))});
  }

  [[nodiscard]] std::span<const Chunk> more(Pieces run) const {
    return std::span{pieces}.subspan(run.first, run.count);
  }
  /// Blocks of a Send or a Receive over all runs.
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

/// Steps that repeat the communication of step `first` on every rank: same peers, block counts and
/// reductions, no dependencies, no local operations; only the blocks differ.
struct Phase {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

/// A function of (rank, lane, step) instead of a table of N^2 messages. Implementations are
/// immutable and thread-safe.
class Schedule {
 public:
  virtual ~Schedule() = default;

  /// All participants: the N with data, then auxiliary ranks such as parameter servers.
  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int lanes() const { return 1; }  // at least one
  /// 0: rendezvous, a transfer starts when both ends have posted it and ends for both on arrival. k
  /// >= 1: a transfer starts when its connection has one of k slots free and ends for the sender
  /// when its last byte has left; the slot is released on receipt, or when a forwarded message has
  /// been sent on.
  [[nodiscard]] virtual int slots() const { return 0; }
  /// Number of equal blocks in every rank's data buffer.
  [[nodiscard]] virtual std::int64_t blocks() const = 0;
  /// Number of scratch blocks on `rank`.
  [[nodiscard]] virtual std::int64_t scratch_blocks(int rank) const {
    (void)rank;
    return 0;
  }
  /// Buffer of the result.
  [[nodiscard]] virtual Buffer result() const { return Buffer::data; }
  [[nodiscard]] virtual std::int64_t steps(int rank, int lane) const = 0;
  /// Writes step `index` of `lane` on `rank` to `step`, which must be cleared.
  virtual void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const = 0;
  /// Repeated steps, in order of steps.
  [[nodiscard]] virtual std::vector<Phase> phases() const { return {}; }
};

}  // namespace lockstep
