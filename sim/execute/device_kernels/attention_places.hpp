#pragma once

#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"
#include "sim/execute/device_kernels/tiles.hpp"

namespace lockstep::kernels {

/// Whether a causal query attends to a key under a window: positive: the last `window` keys;
/// negative: chunks of -window tokens; zero: all keys.
[[nodiscard]] LOCKSTEP_BOTH inline bool is_visible(std::int64_t query, std::int64_t key,
                                                   std::int64_t window) {
  if (key > query) return false;
  if (window < 0) return key / -window == query / -window;
  return window == 0 || query - key < window;
}

/// First key of the document of a query of one of the samples, of a table that may be absent.
template <class Args>
[[nodiscard]] LOCKSTEP_BOTH std::int64_t document_begin(const Args& a, int table,
                                                        std::int64_t index) {
  return a.table[table] == nullptr ? 0 : a.table[table][index];
}

/// What attention begins with: nothing, an output and its statistics which it reads as operands 3
/// and 4, or a logit per head without a value (sinks), operand 3.
struct AttentionStart {
  static constexpr std::int64_t kNothing = 0;
  static constexpr std::int64_t kOutput = 1;
  static constexpr std::int64_t kSinks = 2;
};

/// Operands of attention. Tables: positions of queries, positions of keys, key head per head, index
/// in the batch, index of the head, first key of the document of each sample's queries (none: all).
/// Sizes: queries, keys, heads, key heads, head size, value size, whether causal, what else takes
/// part (see AttentionStart), heads and tokens of the whole tensor, first sample, queries and keys
/// per tile, window (0: all earlier keys; negative: chunks of that many tokens), samples. Numbers:
/// scale of scores, dropout probability.
template <class Real, class Args>
struct AttentionPlaces {
  const Args& a;

  [[nodiscard]] LOCKSTEP_BOTH std::int64_t queries() const { return a.size[0]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t keys() const { return a.size[1]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t heads() const { return a.size[2]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t key_heads() const { return a.size[3]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t samples() const { return a.size[14]; }
  [[nodiscard]] LOCKSTEP_BOTH int width() const { return static_cast<int>(a.size[4]); }
  [[nodiscard]] LOCKSTEP_BOTH int value_width() const { return static_cast<int>(a.size[5]); }
  [[nodiscard]] LOCKSTEP_BOTH Real factor() const { return static_cast<Real>(a.number[0]); }
  /// Queries or keys per tile.
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t query_block() const { return a.size[11]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t key_block() const { return a.size[12]; }

  [[nodiscard]] LOCKSTEP_BOTH std::int64_t query_row(std::int64_t b, std::int64_t s,
                                                     std::int64_t head) const {
    return (b * queries() + s) * heads() + head;
  }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t key_row(std::int64_t b, std::int64_t t,
                                                   std::int64_t group) const {
    return (b * keys() + t) * key_heads() + group;
  }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t statistic(std::int64_t b, std::int64_t s,
                                                     std::int64_t head) const {
    return (b * heads() + head) * queries() + s;
  }
  [[nodiscard]] LOCKSTEP_BOTH bool sees(std::int64_t b, std::int64_t s, std::int64_t t) const {
    return a.size[6] == 0 || (is_visible(a.at(0, s), a.at(1, t), a.size[13]) &&
                              a.at(1, t) >= document_begin(a, 5, b * queries() + s));
  }
  /// Whether any of these queries may attend to any of these keys, ignoring windows.
  [[nodiscard]] LOCKSTEP_BOTH bool meet(std::int64_t s, std::int64_t rows, std::int64_t t,
                                        std::int64_t columns) const {
    return a.size[6] == 0 || first_of(1, t, columns) <= last_of(0, s, rows);
  }
  /// Dropout factor of a probability: 0 if dropped.
  [[nodiscard]] LOCKSTEP_BOTH Real kept(std::int64_t b, std::int64_t s, std::int64_t head,
                                        std::int64_t t) const {
    if (a.number[1] == 0) return 1;
    const auto u = [](std::int64_t i) { return static_cast<std::uint64_t>(i); };
    std::uint64_t place = u(a.size[10]) + u(a.at(3, b));
    place = place * u(a.size[8]) + u(a.at(4, head));
    place = place * u(a.size[9]) + u(a.at(0, s));
    place = place * u(a.size[9]) + u(a.at(1, t));
    return unit_of(mixed_bits(a.draw, place)) < a.number[1]
               ? Real{0}
               : static_cast<Real>(1 / (1 - a.number[1]));
  }

 private:
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t last_of(int table, std::int64_t first,
                                                   std::int64_t count) const {
    if (a.table[table] == nullptr) return first + count - 1;
    std::int64_t out = a.table[table][first];
    for (std::int64_t i = 1; i < count; ++i) {
      out = a.table[table][first + i] > out ? a.table[table][first + i] : out;
    }
    return out;
  }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t first_of(int table, std::int64_t first,
                                                    std::int64_t count) const {
    if (a.table[table] == nullptr) return first;
    std::int64_t out = a.table[table][first];
    for (std::int64_t i = 1; i < count; ++i) {
      out = a.table[table][first + i] < out ? a.table[table][first + i] : out;
    }
    return out;
  }
};

/// The queries of one head, or keys of one key head, assigned to a team.
struct AttentionRows {
  std::int64_t b;
  std::int64_t head;
  std::int64_t first;
  int count;

  /// Block number `block` of size `side` in a sequence of `length`; blocks of all heads of a
  /// position range are adjacent.
  LOCKSTEP_BOTH AttentionRows(std::int64_t index, std::int64_t block, std::int64_t length,
                              std::int64_t side, std::int64_t heads, std::int64_t samples)
      : b{index / heads % samples},
        head{index % heads},
        first{block * side},
        count{static_cast<int>(length - first < side ? length - first : side)} {}

  /// Under a causal mask the last queries and the first keys cost most; these are scheduled first
  /// to balance load.
  template <class Places>
  [[nodiscard]] LOCKSTEP_BOTH static AttentionRows of_queries(const Places& at,
                                                              std::int64_t index) {
    const std::int64_t blocks = (at.queries() + at.query_block() - 1) / at.query_block();
    const std::int64_t block = blocks - 1 - index / (at.heads() * at.samples());
    return {index, block, at.queries(), at.query_block(), at.heads(), at.samples()};
  }
  template <class Places>
  [[nodiscard]] LOCKSTEP_BOTH static AttentionRows of_keys(const Places& at, std::int64_t index) {
    const std::int64_t block = index / (at.key_heads() * at.samples());
    return {index, block, at.keys(), at.key_block(), at.key_heads(), at.samples()};
  }
};

}  // namespace lockstep::kernels
