#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/check.hpp"

namespace lockstep {

/// A connection: the k-th send posted on it meets the k-th receive posted on it.
struct ConnectionKey {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t channel = 0;
  friend bool operator==(const ConnectionKey&, const ConnectionKey&) = default;
};

/// One end of a transfer, waiting for the other.
struct Post {
  std::uint32_t track = 0;  // the poster
  bool sending = false;
  bool reduces = false;  // receives: reduce the data
  bool repeats = false;  // the poster posts the same next
  std::int64_t bytes = 0;
  std::uint64_t order = 0;    // sends: order of issue
  std::int64_t times = 1;     // receives: number of equal messages
  std::uint64_t instant = 0;  // sends: instant of issue
  std::uint32_t place = 0;    // index among the sends or receives of the poster's step
  bool forwarded = false;     // receives: the next step forwards the data from its slot
};

/// Unmatched ends of transfers, FIFO per connection: a hash table with open addressing over the
/// connections in use, so memory follows what is in flight. Copyable.
class Matcher {
 public:
  Matcher() : slots_(kFewestSlots) {}

  /// Matches the oldest waiting post of the other direction on the connection and removes it;
  /// without one, keeps `post` and returns nothing.
  std::optional<Post> meet(const ConnectionKey& key, const Post& post) {
    std::size_t at = find(key);
    if (!slots_[at].used()) {
      insert(at, key, post);
      return std::nullopt;
    }
    Slot& slot = slots_[at];
    if (slot.first.sending == post.sending) {
      append(slot, post);
      return std::nullopt;
    }
    const Post met = slot.first;
    if (slot.last == kNone) {
      erase(at);
    } else {
      advance(slot);
    }
    return met;
  }

  /// Calls visit(key, post) for every waiting post, in no particular order.
  template <typename Visit>
  void each_waiting(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (!slot.used()) continue;
      visit(slot.key, slot.first);
      if (slot.last == kNone) continue;
      std::uint32_t at = slot.last;
      do {
        at = more_[at].next;
        visit(slot.key, more_[at].post);
      } while (at != slot.last);
    }
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kFewestSlots = 64;
  struct Slot {
    ConnectionKey key{kNone, kNone, kNone};
    std::uint32_t last = kNone;  // last of a ring of further posts in this direction
    Post first;
    [[nodiscard]] bool used() const { return key.from != kNone; }
  };
  struct More {
    Post post;
    std::uint32_t next = kNone;
  };

  [[nodiscard]] static std::uint64_t mix(const ConnectionKey& key) {
    std::uint64_t h = ((std::uint64_t{key.from} << 32U) | key.to) * 0x9E3779B97F4A7C15ULL;
    h ^= key.channel * 0xC2B2AE3D27D4EB4FULL;
    return h ^ (h >> 29U);
  }
  [[nodiscard]] std::size_t home(const ConnectionKey& key) const {
    return static_cast<std::size_t>(mix(key)) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t find(const ConnectionKey& key) const {
    std::size_t at = home(key);
    while (slots_[at].used() && !(slots_[at].key == key)) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  void insert(std::size_t at, const ConnectionKey& key, const Post& post) {
    if (2 * (used_ + 1) > slots_.size()) {
      grow();
      at = find(key);
    }
    slots_[at] = {key, kNone, post};
    ++used_;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.used()) slots_[find(slot.key)] = slot;
  }

  void erase(std::size_t at) {
    // Close the gap: entries displaced past it by a collision move back.
    std::size_t hole = at;
    std::size_t next = at;
    for (;;) {
      next = (next + 1) & (slots_.size() - 1);
      if (!slots_[next].used()) break;
      const std::size_t wanted = home(slots_[next].key);
      const std::size_t mask = slots_.size() - 1;
      if (((next - wanted) & mask) >= ((next - hole) & mask)) {
        slots_[hole] = slots_[next];
        hole = next;
      }
    }
    slots_[hole].key.from = kNone;
    --used_;
  }

  void append(Slot& slot, const Post& post) {
    std::uint32_t at = 0;
    if (spare_.empty()) {
      at = static_cast<std::uint32_t>(more_.size());
      more_.emplace_back();
    } else {
      at = spare_.back();
      spare_.pop_back();
    }
    if (slot.last == kNone) {
      more_[at] = {post, at};
    } else {
      more_[at] = {post, more_[slot.last].next};
      more_[slot.last].next = at;
    }
    slot.last = at;
  }

  void advance(Slot& slot) {
    const std::uint32_t at = more_[slot.last].next;
    slot.first = more_[at].post;
    if (at == slot.last) {
      slot.last = kNone;
    } else {
      more_[slot.last].next = more_[at].next;
    }
    spare_.push_back(at);
  }

  std::vector<Slot> slots_;
  std::vector<More> more_;
  std::vector<std::uint32_t> spare_;
  std::size_t used_ = 0;
};

}  // namespace lockstep
