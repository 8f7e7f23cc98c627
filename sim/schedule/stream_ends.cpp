#include "sim/schedule/stream_ends.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// So many own ends between two pieces of one stream are looked at, whether they are that stream's
/// too.
constexpr std::size_t kMostBetween = 8;

}  // namespace

void StreamEnds::add(const Row& ends) {
  Ends row{ends.all(), {}, ends.size()};
  rows_.push_back(std::move(row));
}

/// The last ones are asked for most.
const StreamEnds::Piece& StreamEnds::piece_of(const Ends& row, std::size_t operation) {
  constexpr std::size_t kNear = 4;
  auto end = row.pieces.end();
  for (std::size_t i = 0; i < kNear && end != row.pieces.begin(); ++i) {
    --end;
    if (end->from <= operation) return *end;
  }
  const auto after =
      std::upper_bound(row.pieces.begin(), end, operation,
                       [](std::size_t asked, const Piece& piece) { return asked < piece.from; });
  return *(after - 1);
}

TimePoint StreamEnds::in_pieces(const Ends& row, std::size_t operation) const {
  const Piece& piece = piece_of(row, operation);
  if (piece.like != kOwn)
    return operation < row.next || &piece != &row.pieces.back()
               ? at(piece.like, operation) + Duration::picoseconds(piece.value)
               : TimePoint{};
  const std::size_t place = static_cast<std::size_t>(piece.value) + operation - piece.from;
  return place < row.own.size() ? row.own[place] : TimePoint{};
}

/// Where the own end of an operation that is no part of another's piece belongs.
std::size_t StreamEnds::place_of(Ends& row, std::size_t operation) {
  if (row.pieces.back().like != kOwn) {
    LOCKSTEP_CHECK(operation == row.next);
    row.pieces.push_back(
        {static_cast<std::uint32_t>(operation), kOwn, static_cast<std::int64_t>(row.own.size())});
  }
  const Piece& piece = row.pieces.back();
  LOCKSTEP_CHECK(operation >= piece.from);
  return static_cast<std::size_t>(piece.value) + operation - piece.from;
}

/// A stream that has come a quarter of its way alone mostly goes on alone: its ends stay in place.
void StreamEnds::make_room(Ends& row, std::size_t operations) {
  constexpr std::size_t kFewest = 8;
  const bool alone = row.pieces.empty() && 4 * operations > row.size;
  row.own.reserve(alone ? std::max(row.size, operations) : std::max(2 * operations, kFewest));
}

/// An end that was foreseen.
void StreamEnds::drop_own_from(Ends& row, std::size_t operation) {
  if (row.pieces.empty()) {
    row.own.resize(std::min(row.own.size(), operation));
    if (operation > 0) row.pieces.push_back({0, kOwn, 0});
    return;
  }
  const Piece& piece = row.pieces.back();
  if (piece.like != kOwn) return;
  const std::size_t place = static_cast<std::size_t>(piece.value) + operation - piece.from;
  row.own.resize(std::min(row.own.size(), place));
  if (piece.from == operation) row.pieces.pop_back();
}

void StreamEnds::follow(std::size_t stream, std::size_t from, std::size_t to, const Shift& as) {
  Ends& row = rows_[stream];
  drop_own_from(row, from);
  const auto follows = [&](const Piece& piece) {
    return piece.like == as.stream && piece.value == as.later.ps();
  };
  std::vector<Piece>& pieces = row.pieces;
  if (as.is_twin && !pieces.empty() && pieces.back().like == kOwn) {
    const Piece own = pieces.back();
    const auto first = row.own.begin() + own.value;
    bool alike = from - own.from <= kMostBetween &&
                 (pieces.size() == 1 || follows(pieces[pieces.size() - 2]));
    for (std::size_t i = own.from; alike && i < from; ++i)
      alike = first[static_cast<std::ptrdiff_t>(i - own.from)] == at(as.stream, i) + as.later;
    if (alike) {
      row.own.erase(first, row.own.end());
      pieces.pop_back();
      from = own.from;
    }
  }
  if (pieces.empty() || !follows(pieces.back()))
    pieces.push_back({static_cast<std::uint32_t>(from), as.stream, as.later.ps()});
  row.next = to;
}

void StreamEnds::fetch_last(std::size_t stream) const {
  const Ends& row = rows_[stream];
  if (!row.own.empty()) __builtin_prefetch(row.own.data() + row.own.size(), 1);
  if (!row.pieces.empty()) __builtin_prefetch(&row.pieces.back(), 1);
}

void StreamEnds::copy(std::size_t stream, std::size_t from, std::size_t to, TimePoint* out) const {
  copy_later(stream, from, to, {}, out);
}

void StreamEnds::copy_later(std::size_t stream, std::size_t from, std::size_t to, Duration later,
                            TimePoint* out) const {
  const Ends& row = rows_[stream];
  const auto copy_own = [&](std::size_t place, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      out[i] = place + i < row.own.size() ? row.own[place + i] + later : TimePoint{};
  };
  if (row.pieces.empty()) {
    copy_own(from, to - from);
    return;
  }
  for (const Piece* piece = &piece_of(row, from); from < to; ++piece) {
    const bool is_last = piece == &row.pieces.back();
    const std::size_t end = is_last ? to : std::min<std::size_t>(to, piece[1].from);
    if (piece->like == kOwn) {
      copy_own(static_cast<std::size_t>(piece->value) + from - piece->from, end - from);
    } else {
      const std::size_t known = is_last ? std::clamp(row.next, from, end) : end;
      copy_later(piece->like, from, known, later + Duration::picoseconds(piece->value), out);
      std::fill(out + (known - from), out + (end - from), TimePoint{});
    }
    out += end - from;
    from = end;
  }
}

std::vector<TimePoint> StreamEnds::Row::all() const {
  std::vector<TimePoint> out(size());
  of_->copy(stream_, 0, out.size(), out.data());
  return out;
}

bool operator==(const StreamEnds& a, const StreamEnds& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i])) return false;
  return true;
}

}  // namespace lockstep
