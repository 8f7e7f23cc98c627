#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace lockstep {

/// An event at an instant. The pusher defines the meaning of `kind` and `id`; `version` lets it
/// recognize outdated events.
struct Event {
  std::int64_t at_ps = 0;
  std::uint32_t id = 0;
  std::uint32_t kind : 4 = 0;
  std::uint32_t version : 28 = 0;
};

/// Versions wrap around in the bits available in an event.
inline constexpr std::uint32_t kVersionMask = (1U << 28U) - 1;

template <typename Kind>
[[nodiscard]] Event make_event(Kind kind, std::uint32_t id, TimePoint at,
                               std::uint32_t version = 0) {
  Event event;
  event.at_ps = at.ps();
  event.id = id;
  event.kind = static_cast<std::uint32_t>(kind) & 15U;
  event.version = version & kVersionMask;
  return event;
}

/// Events ordered by (time, order of pushing), for a monotonic clock: a radix heap. An event is in
/// the bucket of the highest hexadecimal digit in which its time differs from the clock, and of
/// that digit's value; when the clock advances, the first used bucket is redistributed to lower
/// ones, in order, so that equal times stay together in order. Amortized O(log(time span))
/// sequential moves per event. Copyable.
class EventQueue {
 public:
  /// Throws InternalError for a time before `now()`.
  void push(const Event& event) {
    LOCKSTEP_CHECK(event.at_ps >= now_ps_);
    put(event);
    ++size_;
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] TimePoint now() const { return TimePoint{Duration::picoseconds(now_ps_)}; }

  /// Time of the next event; empty if there is none.
  [[nodiscard]] std::optional<TimePoint> next() const {
    if (size_ == 0) return std::nullopt;
    if (has_now()) return now();
    const auto& bucket = buckets_[first_used()];
    std::int64_t earliest = bucket.front().at_ps;
    for (const Event& event : bucket) earliest = std::min(earliest, event.at_ps);
    return TimePoint{Duration::picoseconds(earliest)};
  }

  /// Moves the clock to the next event. Requires !empty(). Calls soon(events) with some of those
  /// that come shortly after, any number of times, for the caller to ask for memory.
  template <typename Soon>
  void advance(Soon soon) {
    if (cursor_ < buckets_[0].size()) return;
    buckets_[0].clear();
    cursor_ = 0;
    LOCKSTEP_CHECK(size_ > 0);
    const std::size_t bucket = first_used();
    if (buckets_[bucket].size() <= kSoon) soon(std::span<const Event>{buckets_[bucket]});
    deal_out(bucket);
  }
  void advance() {
    advance([](std::span<const Event>) {});
  }

  /// Whether events are left at the current time.
  [[nodiscard]] bool has_now() const { return cursor_ < buckets_[0].size(); }

  /// Removes the next event at the current time, if any.
  [[nodiscard]] bool pop_now(Event& event) {
    if (cursor_ >= buckets_[0].size()) return false;
    event = buckets_[0][cursor_++];
    --size_;
    return true;
  }

 private:
  static constexpr std::size_t kDigitBits = 4;
  static constexpr std::size_t kDigits = 1U << kDigitBits;
  // A time has at most 63 bits; the first bucket is that of the present instant.
  static constexpr std::size_t kBuckets = 1 + (63 + kDigitBits - 1) / kDigitBits * kDigits;
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kSoon = 32;  // events that come at about the same time

  [[nodiscard]] std::size_t bucket_of(std::int64_t at_ps) const {
    const auto differing = static_cast<std::uint64_t>(at_ps ^ now_ps_);
    if (differing == 0) return 0;
    const std::size_t digit =
        (static_cast<std::size_t>(std::bit_width(differing)) - 1) / kDigitBits;
    const auto value = static_cast<std::size_t>(at_ps >> (digit * kDigitBits)) % kDigits;
    return 1 + digit * kDigits + value;
  }

  /// Inlined by order: every event goes through it several times.
  [[gnu::always_inline]] void put(const Event& event) {
    const std::size_t bucket = bucket_of(event.at_ps);
    buckets_[bucket].push_back(event);
    used_[bucket / kWordBits] |= std::uint64_t{1} << bucket % kWordBits;
  }

  /// The first bucket after that of the present instant that holds something.
  [[nodiscard]] std::size_t first_used() const {
    std::uint64_t word = used_[0] & ~std::uint64_t{1};
    std::size_t at = 0;
    while (word == 0) word = used_[++at];
    return at * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
  }

  void deal_out(std::size_t bucket) {
    std::vector<Event>& from = buckets_[bucket];
    std::int64_t earliest = from.front().at_ps;
    for (const Event& event : from)
      if (event.at_ps < earliest) earliest = event.at_ps;
    now_ps_ = earliest;
    used_[bucket / kWordBits] &= ~(std::uint64_t{1} << bucket % kWordBits);
    for (const Event& event : from) put(event);
    from.clear();
  }

  std::array<std::vector<Event>, kBuckets> buckets_;
  std::array<std::uint64_t, kBuckets / kWordBits + 1> used_{};  // nonempty buckets
  std::size_t cursor_ = 0;                                      // next unread event of bucket 0
  std::size_t size_ = 0;
  std::int64_t now_ps_ = 0;
};

}  // namespace lockstep
