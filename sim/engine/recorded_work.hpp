#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/engine/replay_state.hpp"
#include "sim/engine/streams.hpp"
#include "sim/reuse/key.hpp"

namespace lockstep::engine {

class Collectives;
class ReusedCalls;

/// Work that endpoints have in common, replayed once. A cell is one endpoint, or a few that call
/// collectives together (the GPUs of a node, in tensor parallelism). Its own streams compute, and
/// call collectives that no other traffic meets, of members in the cell; nothing else concerns them
/// but the other streams of its endpoints. Between two operations that these wait for, or that wait
/// for these (cuts), the own streams depend on their joint state alone: places, what is in flight
/// and its end, and per endpoint whether another collective slows computation down. The first cell
/// in a state is replayed and recorded, instant by instant. Others of its pattern that come to the
/// same state later, or in the same instant, follow the record: their events are left out, and they
/// are put in the state before the next cut at once. If something else concerns one of them before,
/// it is put in the state of then. A record ends where members of a collective come to it at
/// different instants. Where all endpoints of a cell have one program and are in one state when a
/// record begins, the first stands for the others until it ends: they have no events, and are put
/// in its state then. Times are equal to the last bit.
class RecordedWork {
 public:
  /// Endpoints of a cell that call collectives together.
  static constexpr std::size_t kMostEndpoints = 16;
  /// Requires can_reuse(), and that no engine is copied.
  RecordedWork(const ReplayState& state, const ReusedCalls& reused);
  struct Siblings {
    ReplayState& state;
    Collectives& collectives;
    Streams& streams;
    ReusedCalls& reused;
  };
  void join(const Siblings& siblings);
  /// Whether there is work in common.
  [[nodiscard]] bool useful() const { return !cells_.empty(); }
  [[nodiscard]] std::uint64_t operations_followed() const { return followed_; }

  [[nodiscard]] bool is_own(std::uint32_t stream) const { return place_[stream].cell != kNone; }
  /// Whether the stream follows a record, or another endpoint stands for its own: its state is that
  /// of an earlier time, and its events are void.
  [[nodiscard]] bool follows(std::uint32_t stream) const {
    const Place& place = place_[stream];
    if (place.cell == kNone) return false;
    const Cell& cell = cells_[place.cell];
    return cell.mode == Mode::follows || (cell.mode == Mode::records && place.own >= cell.first);
  }
  /// The stream's endpoint stands for the other endpoints of its cell.
  [[nodiscard]] bool leads(std::uint32_t stream) const {
    const Place& place = place_[stream];
    if (place.cell == kNone) return false;
    const Cell& cell = cells_[place.cell];
    return cell.mode == Mode::records && place.own < cell.first && cell.first < cell.streams.size();
  }
  /// Of a stream in a call of its cell that comes to its end: the stream that ends it for all
  /// members. kNone: each ends it.
  [[nodiscard]] std::uint32_t ends_for_all(std::uint32_t stream);
  /// Whether the end of an operation concerns others than own streams.
  [[nodiscard]] bool is_cut(std::uint32_t stream, std::uint32_t index) const {
    return place_[stream].cuts != nullptr && place_[stream].cuts[index] != 0;
  }

  /// Before the first instant.
  void touch_all();
  /// The state of an own stream changes.
  void touch(std::uint32_t stream);
  /// Whether a record that the stream is part of says when what its operation is launched after
  /// has ended.
  [[nodiscard]] bool knows_launch(std::uint32_t stream, const Activity& operation) const;
  /// A record that the stream is part of ends with the last instant before this one.
  void end_record(std::uint32_t stream);
  /// Puts the stream in its state of this instant, if it follows a record or another endpoint.
  void catch_up(std::uint32_t stream);
  /// Another stream has ended the last operation that `index` of an own stream waited for.
  void released(std::uint32_t stream, std::uint32_t index);
  /// A collective begins or ends on a stream that is not own, which slows computation down.
  void communicates(std::uint32_t stream, std::int64_t permille, bool begins);
  /// A stream that is not own begins to compute: the collectives of own ones may slow it down.
  void computes(std::uint32_t stream);
  /// The endpoint that follows a record comes to its end.
  void resume(std::uint32_t cell);
  /// At the end of an instant: what has changed is recorded, and records are begun and followed.
  void finish_instant();

 private:
  enum class Mode : std::uint8_t { plain, records, follows };
  /// Endpoints that call collectives together, and their own streams.
  struct Cell {
    std::vector<EndpointId> endpoints{};  // ascending
    std::uint32_t pattern = 0;
    std::vector<std::uint32_t> streams{};  // by endpoint
    std::uint32_t first = 0;               // so many of them have events while it records
    std::vector<std::uint32_t> changed{};  // indices into streams, in this instant
    bool touched = false;
    Mode mode = Mode::plain;
    std::uint32_t record = kNone;
    TimePoint since{};  // begin of the record, for this endpoint
    /// Per endpoint, of collectives in flight of other streams: time of computation meanwhile, in
    /// thousandths.
    std::vector<std::vector<std::int64_t>> elsewhere{};
  };
  /// Per stream.
  struct Place {
    std::uint32_t cell = kNone;
    std::uint32_t own = 0;               // index into Cell::streams
    const std::uint8_t* cuts = nullptr;  // per operation
  };
  /// The state of one stream at the end of an instant. `until` of a call: its end.
  struct Change {
    std::uint32_t own = 0;
    std::uint32_t first_end = 0;  // of the operations in flight, in Record::ends
    StreamState state{};
  };
  struct Instant {
    TimePoint at;
    std::size_t changes = 0;  // up to its end
  };
  /// An operation of the cell that has ended, after which the host launches another.
  struct Launcher {
    std::uint32_t own = 0;  // the stream of that one
    ActivityRef operation;
  };
  struct Record {
    std::uint32_t leader = 0;  // a cell
    std::uint32_t first = 0;   // as Cell::first: of the streams that are recorded
    TimePoint began;
    bool complete = false;
    std::vector<std::uint32_t> from{};    // per own stream, its place when the record began
    std::vector<Launcher> launched_by{};  // which its key contains
    std::vector<Instant> instants{};
    std::vector<Change> changes{};
    std::vector<TimePoint> ends{};
    std::vector<std::uint32_t> followers{};  // until it is complete
  };
  struct Pattern {
    std::uint32_t cells = 0;
    /// Own streams of each endpoint, if all have one program and call together; 0: they do not.
    std::uint32_t alike = 0;
    std::vector<std::vector<std::uint8_t>> cuts{};  // per own stream and operation
  };
  class Finder;

  /// Index of an endpoint of the cell.
  [[nodiscard]] static std::size_t index_of(const Cell& cell, EndpointId endpoint);
  [[nodiscard]] const Activity& current(std::uint32_t stream) const;
  [[nodiscard]] bool calls(std::uint32_t stream) const;
  [[nodiscard]] std::int64_t permille_of_call(std::uint32_t stream) const;
  [[nodiscard]] TimePoint end_of_call(std::uint32_t stream) const;
  [[nodiscard]] bool may_begin(const Cell& cell) const;
  /// Of own streams from one index to before another.
  struct Part {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  [[nodiscard]] std::vector<Launcher> launched_by(const Cell& cell, Part part) const;
  void add_state(const Cell& cell, Part part, const std::vector<Launcher>& launched,
                 fold::KeyBuilder& key) const;
  [[nodiscard]] bool are_in_one_state(const Cell& cell) const;
  void begin(std::uint32_t cell);
  void follow(std::uint32_t cell, std::uint32_t record);
  void add_instant(Cell& cell);
  [[nodiscard]] bool is_idle(const Cell& cell) const;
  void complete(Cell& cell);
  void put(std::uint32_t cell, std::size_t instants);
  /// A state that a stream is put in: where another was at a time, and the ends of what was in
  /// flight, all of it `later`.
  struct Like {
    const StreamState* state = nullptr;
    std::span<const TimePoint> ends{};
    Duration later{};
    StreamEnds::Shift ended{};  // as what the operations until then have ended
    bool counts = true;         // uses of calls that are not its own alone
  };
  void put_stream(std::uint32_t stream, const Like& like);
  void end_calls(std::uint32_t stream, std::uint32_t from, const Like& like);
  void put_like_first(const Cell& cell, std::uint32_t own);
  void put_others(const Cell& cell);
  void put_slowing(const Cell& cell, std::size_t from = 0);
  void push_end(std::uint32_t stream);

  ReplayState* state_ = nullptr;
  Collectives* collectives_ = nullptr;
  Streams* streams_ = nullptr;
  ReusedCalls* reused_ = nullptr;

  std::vector<Place> place_;
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> cell_at_;  // per endpoint
  std::vector<Pattern> patterns_;
  std::vector<Record> records_;
  std::map<fold::Key, std::uint32_t> known_;
  std::vector<std::uint32_t> touched_;  // cells, in this instant
  std::uint64_t followed_ = 0;          // operations
};

}  // namespace lockstep::engine
