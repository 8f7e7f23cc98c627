#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep {

/// Keys visible to a query of causal attention, among those up to its own.
struct VisibleKeys {
  std::int64_t window = 0;  // number of visible keys, including its own; 0: all
  bool chunked = false;     // chunked attention instead of a sliding window

  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    if (window == 0) return key <= query;
    return key <= query && (chunked ? key / window == query / window : query - key < window);
  }
  /// Whether some queries of a sequence do not see all earlier keys.
  [[nodiscard]] bool limits(std::int64_t sequence) const { return window > 0 && window < sequence; }

  friend bool operator==(const VisibleKeys&, const VisibleKeys&) = default;
};

/// Pairs of a query and a visible key in one causal sequence. Without a window, half of the square;
/// with a window, the sum over queries, capped at that half (a window close to the sequence length
/// would exceed it by half a diagonal).
[[nodiscard]] inline double visible_pairs(const VisibleKeys& visible, std::int64_t sequence) {
  const auto s = static_cast<double>(sequence);
  const double half = s * s / 2;
  if (!visible.limits(sequence)) return half;
  const auto w = static_cast<double>(visible.window);
  const double triangle = w * (w + 1) / 2;
  if (!visible.chunked) return std::min(half, triangle + (s - w) * w);
  const auto rest = static_cast<double>(sequence % visible.window);
  const std::int64_t runs = sequence / visible.window;
  return std::min(half, static_cast<double>(runs) * triangle + rest * (rest + 1) / 2);
}

}  // namespace lockstep
