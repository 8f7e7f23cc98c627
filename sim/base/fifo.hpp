#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep {

/// FIFO queue for many mostly empty instances: allocates on first use (an empty std::deque takes
/// 600 bytes).
template <typename T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return head_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - head_; }
  /// Index 0 is the oldest.
  [[nodiscard]] T& operator[](std::size_t index) { return items_[head_ + index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const { return items_[head_ + index]; }

  void push(T item) { items_.push_back(std::move(item)); }

  T pop() {
    T oldest = std::move(items_[head_++]);
    if (2 * head_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return oldest;
  }

 private:
  std::vector<T> items_;
  std::size_t head_ = 0;
};

}  // namespace lockstep
