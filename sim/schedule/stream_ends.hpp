#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// When the operations of streams end. Operations that did what those of another stream did, by so
/// much later, are one piece: that stream and the shift.
class StreamEnds {
 public:
  /// The ends of one stream.
  class Row;

  StreamEnds() = default;
  /// Adds a stream of so many operations, none of which has ended.
  void add(std::size_t operations) { rows_.push_back({{}, {}, operations}); }
  /// Adds a stream with these ends.
  void add(const Row& ends);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] Row operator[](std::size_t stream) const;
  class Iterator;
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

  [[nodiscard]] std::size_t operations(std::size_t stream) const { return rows_[stream].size; }
  /// Operations of the stream that are in no piece of another's.
  [[nodiscard]] std::size_t own(std::size_t stream) const { return rows_[stream].own.size(); }
  /// Zero if it has none.
  [[nodiscard]] TimePoint at(std::size_t stream, std::size_t operation) const {
    const Ends& row = rows_[stream];
    if (row.pieces.empty()) return operation < row.own.size() ? row.own[operation] : TimePoint{};
    return in_pieces(row, operation);
  }
  /// Writes the ends of the operations from one to before another.
  void copy(std::size_t stream, std::size_t from, std::size_t to, TimePoint* out) const;

  /// Requires that the operations before it have ends, and that it is not part of another's piece.
  void set(std::size_t stream, std::size_t operation, TimePoint end) {
    Ends& row = rows_[stream];
    const std::size_t at = row.pieces.empty() ? operation : place_of(row, operation);
    if (at < row.own.size()) {
      row.own[at] = end;
    } else {
      if (at >= row.own.capacity()) make_room(row, at + 1);
      row.own.resize(at);
      row.own.push_back(end);
    }
  }
  /// Ends as those of another stream, later.
  struct Shift {
    std::uint32_t stream = 0;
    Duration later{};
    /// Mostly the same in all that they do: own ends that turn out to be the other's are dropped.
    /// The other has no twin itself, and follows none that has.
    bool is_twin = false;
  };
  /// The operations from one to before another end `as` those of a stream; foreseen ends of the
  /// stream from there on are gone. Requires that the operations before them have ends, and those
  /// of the other stream.
  void follow(std::size_t stream, std::size_t from, std::size_t to, const Shift& as);
  /// Asks for the stream's ends: first where they are, then the last of them.
  void fetch(std::size_t stream) const { __builtin_prefetch(&rows_[stream]); }
  void fetch_last(std::size_t stream) const;

  /// The same ends of all operations.
  friend bool operator==(const StreamEnds& a, const StreamEnds& b);

 private:
  static constexpr std::uint32_t kOwn = UINT32_MAX;
  struct Piece {
    std::uint32_t from = 0;  // first operation
    std::uint32_t like = kOwn;
    std::int64_t value = 0;  // shift in picoseconds; of own ends the place of the first
  };
  struct alignas(64) Ends {  // in a cache line of its own
    std::vector<TimePoint> own;
    std::vector<Piece> pieces;  // empty: all are own
    std::size_t size = 0;
    std::size_t next = 0;  // end of the last piece that is another's
  };

  [[nodiscard]] static const Piece& piece_of(const Ends& row, std::size_t operation);
  [[nodiscard]] TimePoint in_pieces(const Ends& row, std::size_t operation) const;
  [[nodiscard]] static std::size_t place_of(Ends& row, std::size_t operation);
  static void make_room(Ends& row, std::size_t operations);
  static void drop_own_from(Ends& row, std::size_t operation);
  void copy_later(std::size_t stream, std::size_t from, std::size_t to, Duration later,
                  TimePoint* out) const;

  std::vector<Ends> rows_;
};

class StreamEnds::Row {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = TimePoint;
    using difference_type = std::ptrdiff_t;
    using pointer = const TimePoint*;
    using reference = TimePoint;
    Iterator() = default;
    Iterator(const StreamEnds* of, std::size_t stream, std::size_t at)
        : of_{of}, stream_{stream}, at_{at} {}
    [[nodiscard]] TimePoint operator*() const { return of_->at(stream_, at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {of_, stream_, at_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const StreamEnds* of_ = nullptr;
    std::size_t stream_ = 0;
    std::size_t at_ = 0;
  };

  Row(const StreamEnds& of, std::size_t stream) : of_{&of}, stream_{stream} {}
  [[nodiscard]] std::size_t size() const { return of_->operations(stream_); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] TimePoint operator[](std::size_t operation) const {
    return of_->at(stream_, operation);
  }
  [[nodiscard]] TimePoint front() const { return of_->at(stream_, 0); }
  [[nodiscard]] TimePoint back() const { return of_->at(stream_, size() - 1); }
  [[nodiscard]] Iterator begin() const { return {of_, stream_, 0}; }
  [[nodiscard]] Iterator end() const { return {of_, stream_, size()}; }
  [[nodiscard]] std::vector<TimePoint> all() const;
  friend bool operator==(const Row& a, const std::vector<TimePoint>& b) { return a.all() == b; }
  friend bool operator==(const Row& a, const Row& b) { return a.all() == b.all(); }

 private:
  const StreamEnds* of_;
  std::size_t stream_;
};

class StreamEnds::Iterator {
 public:
  Iterator(const StreamEnds* of, std::size_t at) : of_{of}, at_{at} {}
  [[nodiscard]] Row operator*() const { return {*of_, at_}; }
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  const StreamEnds* of_;
  std::size_t at_;
};

inline StreamEnds::Row StreamEnds::operator[](std::size_t stream) const {
  return {*this, stream};
}
inline StreamEnds::Iterator StreamEnds::begin() const {
  return {this, 0};
}
inline StreamEnds::Iterator StreamEnds::end() const {
  return {this, size()};
}

}  // namespace lockstep
