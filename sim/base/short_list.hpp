#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

/// A list that is mostly short, for elements that are many: up to `kInside` items lie within it, so
/// that it takes no memory of its own.
template <typename T, std::size_t kInside>
class ShortList {
 public:
  ShortList() = default;
  ShortList(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  ShortList(const std::vector<T>& items) { append(items.begin(), items.end()); }
  ShortList(const ShortList& other) { append(other.begin(), other.end()); }
  ShortList(ShortList&& other) noexcept
      : inside_{other.inside_},
        outside_{std::move(other.outside_)},
        size_{std::exchange(other.size_, 0)},
        capacity_{std::exchange(other.capacity_, kInside)} {}
  ShortList& operator=(const ShortList& other) {
    if (this == &other) return *this;
    clear();
    append(other.begin(), other.end());
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {
    inside_ = other.inside_;
    outside_ = std::move(other.outside_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInside);
    return *this;
  }
  ~ShortList() = default;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const T* begin() const { return outside_ ? outside_.get() : inside_.data(); }
  [[nodiscard]] const T* end() const { return begin() + size_; }
  [[nodiscard]] T* begin() { return outside_ ? outside_.get() : inside_.data(); }
  [[nodiscard]] T* end() { return begin() + size_; }

  void clear() { size_ = 0; }
  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    auto larger = std::make_unique<T[]>(count);
    std::copy(begin(), end(), larger.get());
    outside_ = std::move(larger);
    capacity_ = static_cast<std::uint32_t>(count);
  }
  void push_back(const T& item) {
    const T kept = item;  // may lie in this list
    if (size_ == capacity_) reserve(2 * std::size_t{capacity_});
    begin()[size_++] = kept;
  }

 private:
  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    reserve(size_ + static_cast<std::size_t>(last - first));
    std::copy(first, last, end());
    size_ += static_cast<std::uint32_t>(last - first);
  }

  std::array<T, kInside> inside_{};
  std::unique_ptr<T[]> outside_{};
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInside;
};

}  // namespace lockstep
