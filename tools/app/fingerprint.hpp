#pragma once

#include <cstdint>
#include <string>

namespace lockstep::app {

/// 64-bit FNV-1a hash of numbers, in hexadecimal, to detect changes of results.
class Fingerprint {
 public:
  void add(std::int64_t number);
  [[nodiscard]] std::string text() const;
  /// For inclusion in another fingerprint.
  [[nodiscard]] std::int64_t number() const { return static_cast<std::int64_t>(hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace lockstep::app
