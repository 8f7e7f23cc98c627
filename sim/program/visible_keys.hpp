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

/// Pairs of a query and a visible key of the first `queries` queries of a sequence; with a window.
[[nodiscard]] inline double windowed_pairs(const VisibleKeys& visible, std::int64_t queries) {
  const auto triangle = [](std::int64_t n) {
    return static_cast<double>(n) * static_cast<double>(n + 1) / 2;
  };
  const std::int64_t window = visible.window;
  if (queries <= window) return triangle(queries);
  const std::int64_t chunks = queries / window;
  if (visible.chunked)
    return static_cast<double>(chunks) * triangle(window) + triangle(queries % window);
  return triangle(window) + static_cast<double>(queries - window) * static_cast<double>(window);
}

/// Pairs of the part of a causal sequence that has most of them, of `parts` equal ones: of zigzag
/// parts, equal without a window, or of plain ones, of which it is the last.
[[nodiscard]] inline double most_pairs(const VisibleKeys& visible, std::int64_t sequence,
                                       std::int64_t parts, bool zigzag) {
  const auto keys = static_cast<double>(sequence);
  const double queries = keys / static_cast<double>(parts);
  if (!visible.limits(sequence)) return queries * (zigzag ? keys / 2 : keys - queries / 2);
  const std::int64_t runs = zigzag ? 2 * parts : parts;
  const auto run = [&](std::int64_t i) {
    return windowed_pairs(visible, sequence * (i + 1) / runs) -
           windowed_pairs(visible, sequence * i / runs);
  };
  double most = 0;
  for (std::int64_t part = 0; part < parts; ++part)
    most = std::max(most, run(part) + (zigzag ? run(runs - 1 - part) : 0));
  return most;
}

/// Pairs of a query and a visible key in one causal sequence. Without a window, half of the square;
/// with a window, the sum over queries, capped at that half (a window close to the sequence length
/// would exceed it by half a diagonal).
[[nodiscard]] inline double visible_pairs(const VisibleKeys& visible, std::int64_t sequence) {
  const auto s = static_cast<double>(sequence);
  const double half = s * s / 2;
  if (!visible.limits(sequence)) return half;
  return std::min(half, windowed_pairs(visible, sequence));
}

}  // namespace lockstep
