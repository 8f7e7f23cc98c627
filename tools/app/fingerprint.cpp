#include "tools/app/fingerprint.hpp"

#include <fmt/format.h>

namespace lockstep::app {

void Fingerprint::add(std::int64_t number) {
  auto bits = static_cast<std::uint64_t>(number);
  for (int i = 0; i < 8; ++i) {
    hash_ = (hash_ ^ (bits & 0xFFU)) * 0x100000001b3ULL;
    bits >>= 8U;
  }
}

std::string Fingerprint::text() const {
  return fmt::format("{:016x}", hash_);
}

}  // namespace lockstep::app
