#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// A connection: the k-th send posted on it meets the k-th receive posted on it.
struct ConnectionKey {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t channel = 0;
  friend bool operator==(const ConnectionKey&, const ConnectionKey&) = default;
};

/// A value for each connection in use, so that memory follows what is in flight: a hash table with
/// open addressing. Places hold until the next insert() or erase(). Copyable.
template <typename Value>
class ConnectionTable {
 public:
  ConnectionTable() : slots_(kFewestSlots) {}

  /// The place of the connection, or where insert() would put it.
  [[nodiscard]] std::size_t find(const ConnectionKey& key) const {
    std::size_t at = home(key);
    while (used(at) && !(slots_[at].key == key)) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  [[nodiscard]] bool used(std::size_t at) const { return slots_[at].key.from != kUnused; }
  [[nodiscard]] Value& operator[](std::size_t at) { return slots_[at].value; }

  /// `at`: where find() did not find it.
  void insert(std::size_t at, const ConnectionKey& key, const Value& value) {
    if (2 * (used_ + 1) > slots_.size()) {
      grow();
      at = find(key);
    }
    slots_[at] = {key, value};
    ++used_;
  }

  void erase(std::size_t at) {
    // Close the gap: entries displaced past it by a collision move back.
    std::size_t hole = at;
    std::size_t next = at;
    for (;;) {
      next = (next + 1) & (slots_.size() - 1);
      if (!used(next)) break;
      const std::size_t wanted = home(slots_[next].key);
      const std::size_t mask = slots_.size() - 1;
      if (((next - wanted) & mask) >= ((next - hole) & mask)) {
        slots_[hole] = slots_[next];
        hole = next;
      }
    }
    slots_[hole].key.from = kUnused;
    --used_;
  }

  /// Calls visit(key, value) for every connection, in no particular order.
  template <typename Visit>
  void each(Visit visit) const {
    for (const Slot& slot : slots_)
      if (slot.key.from != kUnused) visit(slot.key, slot.value);
  }

 private:
  static constexpr std::uint32_t kUnused = UINT32_MAX;
  static constexpr std::size_t kFewestSlots = 64;
  struct Slot {
    ConnectionKey key{kUnused, kUnused, kUnused};
    Value value{};
  };

  [[nodiscard]] std::size_t home(const ConnectionKey& key) const {
    std::uint64_t h = ((std::uint64_t{key.from} << 32U) | key.to) * 0x9E3779B97F4A7C15ULL;
    h ^= key.channel * 0xC2B2AE3D27D4EB4FULL;
    return static_cast<std::size_t>(h ^ (h >> 29U)) & (slots_.size() - 1);
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key.from != kUnused) slots_[find(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace lockstep
