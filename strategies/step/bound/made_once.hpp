#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "sim/reuse/key.hpp"

namespace lockstep {

/// Thread-safe map whose values are created once; concurrent requests for a value wait for its
/// creator.
template <class Value>
class MadeOnce {
 public:
  template <class Make>
  [[nodiscard]] const Value& of(const fold::Key& key, Make make) {
    Entry& entry = find(key);
    std::call_once(entry.once, [&] { entry.value = std::make_unique<const Value>(make()); });
    return *entry.value;
  }

 private:
  struct Entry {
    std::once_flag once;
    std::unique_ptr<const Value> value;
  };

  [[nodiscard]] Entry& find(const fold::Key& key) {
    const std::lock_guard lock(mutex_);
    return entries_[key];
  }

  std::mutex mutex_;
  std::map<fold::Key, Entry> entries_;  // with stable addresses
};

}  // namespace lockstep
