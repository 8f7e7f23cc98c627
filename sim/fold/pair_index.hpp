#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::fold {

/// Numbers by (a, b): a hash table with open addressing, for some millions of entries.
class PairIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// The number that is there, or `value`, which then is.
  std::uint32_t find_or_add(std::uint32_t a, std::uint32_t b, std::uint32_t value) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key(a, b))];
    if (slot.value == kNone) {
      slot = {key(a, b), value};
      ++used_;
    }
    return slot.value;
  }
  /// kNone where there is none.
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

}  // namespace lockstep::fold
