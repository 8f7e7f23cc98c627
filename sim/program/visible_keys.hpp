#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep {

/// Which of the keys up to its own a query of causal attention sees.
struct VisibleKeys {
  std::int64_t window = 0;  // at most so many, its own among them; 0: all
  bool chunked = false;     // those of its own run of `window` tokens, else the last ones

  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    if (window == 0) return key <= query;
    return key <= query && (chunked ? key / window == query / window : query - key < window);
  }
  /// Whether a sequence has queries that do not see all keys before them.
  [[nodiscard]] bool limits(std::int64_t sequence) const { return window > 0 && window < sequence; }

  friend bool operator==(const VisibleKeys&, const VisibleKeys&) = default;
};

/// Pairs of a query and a key that it sees, of one causal sequence. Where all keys are visible,
/// half of the square; where a window limits them, the sum over queries, which with windows close
/// to the sequence's length would be half a diagonal above that and counts as the half then.
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
