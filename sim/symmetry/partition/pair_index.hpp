#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::fold {

/// Map from (a, b) to a number: a hash table with open addressing, for millions of entries.
class PairIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// The stored number; stores `value` if there is none.
  std::uint32_t find_or_add(std::uint32_t a, std::uint32_t b, std::uint32_t value) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key(a, b))];
    if (slot.value == kNone) {
      slot = {key(a, b), value};
      ++used_;
    }
    return slot.value;
  }
  /// kNone if there is none.
  [[nodiscard]] std::uint32_t find(std::uint32_t a, std::uint32_t b) const {
    return slots_[place(key(a, b))].value;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };
  [[nodiscard]] static std::uint64_t key(std::uint32_t a, std::uint32_t b) {
    return (std::uint64_t{a} << 32U) | b;
  }
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
    std::size_t at = static_cast<std::size_t>(mixed ^ (mixed >> 32U)) & (slots_.size() - 1);
    while (slots_[at].value != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.value != kNone) slots_[place(slot.key)] = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t used_ = 0;
};

/// Numbers of pairs (one, other), added list by list: short lists are searched linearly, long ones
/// have a table.
class PairLists {
 public:
  /// Memory for so many lists, of one each.
  void reserve(std::size_t lists) {
    first_.reserve(lists);
    others_.reserve(lists);
  }

  /// Starts the list of the next `one`.
  void begin_list() { first_.push_back(static_cast<std::uint32_t>(others_.size())); }

  /// The pair's number; the next free number if it is new.
  std::uint32_t find_or_add(std::uint32_t other) {
    const auto one = static_cast<std::uint32_t>(first_.size() - 1);
    const std::uint32_t known = find(one, other);
    if (known != PairIndex::kNone) return known;
    const auto next = static_cast<std::uint32_t>(others_.size());
    others_.push_back(other);
    const std::uint32_t count = next + 1 - first_.back();
    if (count == kMostLooked + 1) {
      for (std::uint32_t i = first_.back(); i <= next; ++i) index_.find_or_add(one, others_[i], i);
    } else if (count > kMostLooked) {
      index_.find_or_add(one, other, next);
    }
    return next;
  }
  /// kNone if there is none.
  [[nodiscard]] std::uint32_t find(std::uint32_t one, std::uint32_t other) const {
    const std::uint32_t first = first_[one];
    const auto end =
        one + 1 < first_.size() ? first_[one + 1] : static_cast<std::uint32_t>(others_.size());
    if (end - first > kMostLooked) return index_.find(one, other);
    for (std::uint32_t i = first; i < end; ++i)
      if (others_[i] == other) return i;
    return PairIndex::kNone;
  }

 private:
  static constexpr std::uint32_t kMostLooked = 32;
  std::vector<std::uint32_t> first_;  // per list
  std::vector<std::uint32_t> others_;
  PairIndex index_;
};

}  // namespace lockstep::fold
