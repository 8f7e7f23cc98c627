#include "sim/program/packed_documents.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/check.hpp"
#include "sim/base/hash.hpp"

namespace lockstep {

namespace {

/// In (0, 1).
double fraction(std::uint64_t random) {
  return (static_cast<double>(random >> 11U) + 0.5) * 0x1p-53;
}

/// Numbers of one sequence.
class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t sequence) {
    constexpr std::uint64_t kPurpose = 0x444f4355U;  // "DOCU"
    state_ = mix64(seed ^ kPurpose) + static_cast<std::uint64_t>(sequence) * mix64(kPurpose);
  }

  [[nodiscard]] double next() {
    const double out = fraction(splitmix64(state_));
    state_ += kGoldenGamma;
    return out;
  }

  /// Box and Muller, A Note on the Generation of Random Normal Deviates, 1958.
  [[nodiscard]] double normal() {
    const double radius = std::sqrt(-2 * std::log(next()));
    return radius * std::cos(2 * std::numbers::pi * next());
  }

 private:
  std::uint64_t state_ = 0;
};

std::int64_t length_of(const DocumentDraw& draw, Draws& draws, std::int64_t most) {
  if (draw.kind == DocumentDraw::Kind::uniform) {
    const auto count = static_cast<double>(draw.longest - draw.shortest + 1);
    const auto above = static_cast<std::int64_t>(draws.next() * count);
    return std::min(draw.shortest + above, draw.longest);
  }
  // exp(m + sigma z) has the mean exp(m + sigma^2 / 2).
  const double middle = std::log(draw.mean) - draw.sigma * draw.sigma / 2;
  const double drawn = std::exp(middle + draw.sigma * draws.normal());
  return std::llround(std::clamp(drawn, 1.0, static_cast<double>(most)));
}

}  // namespace

std::vector<std::int64_t> PackedDocuments::of_sequence(std::int64_t index,
                                                       std::int64_t tokens) const {
  LOCKSTEP_CHECK(any() && index >= 0);
  if (!lists.empty()) return lists[static_cast<std::size_t>(index) % lists.size()];
  Draws draws{drawn->seed, index};
  std::vector<std::int64_t> out;
  for (std::int64_t left = tokens; left > 0; left -= out.back())
    out.push_back(std::min(left, length_of(*drawn, draws, tokens)));
  return out;
}

}  // namespace lockstep
