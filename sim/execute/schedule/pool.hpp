#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace lockstep {

/// Reusable items by number, without an allocation per item. References are valid until the next
/// take().
template <typename T>
class Pool {
 public:
  [[nodiscard]] T& operator[](std::uint32_t number) { return items_[number]; }
  [[nodiscard]] const T& operator[](std::uint32_t number) const { return items_[number]; }

  /// A reused item keeps its last contents.
  [[nodiscard]] std::uint32_t take() {
    if (spare_.empty()) {
      items_.emplace_back();
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t number = spare_.back();
    spare_.pop_back();
    return number;
  }
  void give_back(std::uint32_t number) { spare_.push_back(number); }

 private:
  std::vector<T> items_;
  std::vector<std::uint32_t> spare_;
};

/// A queue of a Pool's items, linked by their `next`.
struct PooledQueue {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t size = 0;

  template <typename T>
  void push(Pool<T>& pool, std::uint32_t number) {
    pool[number].next = kNone;
    (size == 0 ? first : pool[last].next) = number;
    last = number;
    ++size;
  }
  template <typename T>
  std::uint32_t pop(const Pool<T>& pool) {
    const std::uint32_t number = first;
    first = pool[number].next;
    --size;
    return number;
  }
  template <typename T, typename Visit>
  void each(const Pool<T>& pool, Visit&& visit) const {
    std::uint32_t number = first;
    for (std::uint32_t i = 0; i < size; ++i, number = pool[number].next) visit(pool[number]);
  }
};

/// Allocator of equally sized objects: reuses them, allocates in slabs and frees all at the end.
class FreeList {
 public:
  FreeList() = default;
  FreeList(const FreeList&) = delete;
  FreeList& operator=(const FreeList&) = delete;
  ~FreeList() {
    for (std::byte* each : slabs_) ::operator delete(each);
  }

  [[nodiscard]] void* take(std::size_t bytes) {
    if (spare_.empty()) add_slab(bytes);
    void* out = spare_.back();
    spare_.pop_back();
    return out;
  }
  void give_back(void* memory) { spare_.push_back(memory); }

 private:
  static constexpr std::size_t kSlab = 64;  // objects

  /// Slabs are aligned for any type.
  void add_slab(std::size_t bytes) {
    constexpr std::size_t kAlignment = alignof(std::max_align_t);
    const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    slabs_.push_back(static_cast<std::byte*>(::operator new(kSlab* size)));
    for (std::size_t i = kSlab; i-- > 0;) spare_.push_back(slabs_.back() + i * size);
  }

  std::vector<void*> spare_;
  std::vector<std::byte*> slabs_;
};

/// For std::allocate_shared of a single type; the list must outlive its objects.
template <typename T>
struct FreeListAllocator {
  using value_type = T;
  FreeList* list = nullptr;

  explicit FreeListAllocator(FreeList& from) : list{&from} {}
  template <typename Other>
  FreeListAllocator(const FreeListAllocator<Other>& other) : list{other.list} {}  // NOLINT

  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(list->take(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) { list->give_back(memory); }
  friend bool operator==(const FreeListAllocator& a, const FreeListAllocator& b) {
    return a.list == b.list;
  }
};

/// A message's contents, inline if few.
template <typename T, std::size_t kFew>
class SmallRun {
 public:
  explicit SmallRun(std::size_t size) : size_{size} {
    if (size > kFew) many_.reserve(size);
  }
  template <typename Iterator>
  void append(Iterator first, std::size_t count) {
    if (size_ > kFew) {
      many_.insert(many_.end(), first, first + static_cast<std::ptrdiff_t>(count));
      return;
    }
    for (std::size_t i = 0; i < count; ++i, ++first) few_[filled_++] = *first;
  }
  [[nodiscard]] const T* data() const { return size_ > kFew ? many_.data() : few_; }

 private:
  std::size_t size_;
  std::size_t filled_ = 0;
  T few_[kFew];  // NOLINT
  std::vector<T> many_;
};

}  // namespace lockstep
