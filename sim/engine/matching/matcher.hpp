#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/engine/matching/connection_table.hpp"

namespace lockstep {

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

/// Unmatched ends of transfers, FIFO per connection. Copyable.
class Matcher {
 public:
  /// Matches the oldest waiting post of the other direction on the connection and removes it;
  /// without one, keeps `post` and returns nothing.
  std::optional<Post> meet(const ConnectionKey& key, const Post& post) {
    const std::size_t at = waiting_.find(key);
    if (!waiting_.used(at)) {
      waiting_.insert(at, key, {kNone, post});
      return std::nullopt;
    }
    Waiting& waiting = waiting_[at];
    if (waiting.first.sending == post.sending) {
      append(waiting, post);
      return std::nullopt;
    }
    const Post met = waiting.first;
    if (waiting.last == kNone) {
      waiting_.erase(at);
    } else {
      advance(waiting);
    }
    return met;
  }

  /// Calls visit(key, post) for every waiting post, in no particular order.
  template <typename Visit>
  void each_waiting(Visit visit) const {
    waiting_.each([&](const ConnectionKey& key, const Waiting& waiting) {
      visit(key, waiting.first);
      if (waiting.last == kNone) return;
      std::uint32_t at = waiting.last;
      do {
        at = more_[at].next;
        visit(key, more_[at].post);
      } while (at != waiting.last);
    });
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Waiting {
    std::uint32_t last = kNone;  // last of a ring of further posts in this direction
    Post first;
  };
  struct More {
    Post post;
    std::uint32_t next = kNone;
  };

  void append(Waiting& waiting, const Post& post) {
    std::uint32_t at = 0;
    if (spare_.empty()) {
      at = static_cast<std::uint32_t>(more_.size());
      more_.emplace_back();
    } else {
      at = spare_.back();
      spare_.pop_back();
    }
    if (waiting.last == kNone) {
      more_[at] = {post, at};
    } else {
      more_[at] = {post, more_[waiting.last].next};
      more_[waiting.last].next = at;
    }
    waiting.last = at;
  }

  void advance(Waiting& waiting) {
    const std::uint32_t at = more_[waiting.last].next;
    waiting.first = more_[at].post;
    if (at == waiting.last) {
      waiting.last = kNone;
    } else {
      more_[waiting.last].next = more_[at].next;
    }
    spare_.push_back(at);
  }

  ConnectionTable<Waiting> waiting_;
  std::vector<More> more_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace lockstep
