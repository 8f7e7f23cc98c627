#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "sim/base/hash.hpp"

namespace lockstep {

/// Selects which ready item proceeds. Every order is possible in a real run, so a correct schedule
/// gives the same result in each.
enum class ExecuteOrder : std::uint8_t {
  first_ready_first,
  last_ready_first,
  shuffled,  // random, by a seed
  starved,   // one lane proceeds only when nothing else can
};

/// Ready items, removed in one of these orders.
template <typename T>
class ReadyPool {
 public:
  ReadyPool(ExecuteOrder order, std::uint64_t seed) : order_{order}, state_{seed} {}

  [[nodiscard]] bool empty() const { return items_.empty() && last_.empty(); }

  /// `starved`: comes after all others in that order.
  void push(T item, bool starved) {
    (starved && order_ == ExecuteOrder::starved ? last_ : items_).push_back(std::move(item));
  }

  T pop() {
    if (items_.empty()) return front_of(last_);
    if (order_ == ExecuteOrder::shuffled) std::swap(items_[draw() % items_.size()], items_.back());
    if (order_ == ExecuteOrder::first_ready_first || order_ == ExecuteOrder::starved)
      return front_of(items_);
    T item = std::move(items_.back());
    items_.pop_back();
    return item;
  }

 private:
  static T front_of(std::deque<T>& items) {
    T item = std::move(items.front());
    items.pop_front();
    return item;
  }

  std::uint64_t draw() { return mix64(state_ += kGoldenGamma); }

  ExecuteOrder order_;
  std::uint64_t state_;
  std::deque<T> items_;
  std::deque<T> last_;
};

}  // namespace lockstep
