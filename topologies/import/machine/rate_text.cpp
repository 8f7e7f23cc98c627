#include "topologies/import/machine/rate_text.hpp"

#include <fmt/format.h>

namespace lockstep {

std::string rate_text(Rate rate) {
  const std::uint64_t bytes = rate.steps() >> Rate::kFractionBits;
  if (bytes % 1'000'000'000 == 0) return fmt::format("{} GB/s", bytes / 1'000'000'000);
  if (bytes % 1'000'000 == 0) return fmt::format("{} MB/s", bytes / 1'000'000);
  return fmt::format("{} B/s", bytes);
}

std::string network_rate_text(Rate rate) {
  const std::uint64_t bits = (rate.steps() >> Rate::kFractionBits) * 8;
  if (bits % 1'000'000'000 == 0) return fmt::format("{} Gb/s", bits / 1'000'000'000);
  return rate_text(rate);
}

}  // namespace lockstep
