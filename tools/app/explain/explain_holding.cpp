#include "tools/app/explain/explain_holding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace lockstep::app {

namespace {

constexpr std::size_t kLongest = 14;  // letters, so that eight chunks fit a line of 120

/// From one rank to another, perhaps on from the last to rank 0.
std::optional<std::string> as_interval(const std::vector<int>& ranks, int n) {
  const auto count = static_cast<int>(ranks.size());
  if (count < 3) return std::nullopt;
  const auto gap =
      std::adjacent_find(ranks.begin(), ranks.end(), [](int a, int b) { return b != a + 1; });
  if (gap == ranks.end()) return fmt::format("{}..{}", ranks.front(), ranks.back());
  const int last = *gap;
  const int first = *(gap + 1);
  if (ranks.front() != 0 || ranks.back() != n - 1 || n - first + last + 1 != count)
    return std::nullopt;
  return fmt::format("{}..{}", first, last);
}

/// Every k-th rank.
std::optional<std::string> as_stride(const std::vector<int>& ranks) {
  if (ranks.size() < 3) return std::nullopt;
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != stride) return std::nullopt;
  return fmt::format("{}..{}/{}", ranks.front(), ranks.back(), stride);
}

/// Runs of ranks, joined by plus signs.
std::string as_sum(const std::vector<int>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    const bool is_run = end - i > 2;
    if (!out.empty()) out += "+";
    out += is_run ? fmt::format("{}..{}", ranks[i], ranks[end - 1]) : std::to_string(ranks[i]);
    i = is_run ? end : i + 1;
  }
  return out;
}

}  // namespace

std::string rank_set_text(const std::vector<int>& ranks, int n, bool all) {
  if (ranks.empty()) return {};
  if (all && static_cast<int>(ranks.size()) == n) return "all";
  if (const auto text = as_interval(ranks, n)) return *text;
  if (const auto text = as_stride(ranks)) return *text;
  std::string text = as_sum(ranks);
  return text.size() <= kLongest ? text : fmt::format("{} of {}", ranks.size(), n);
}

std::string chunk_name(char prefix, std::int64_t first, std::int64_t count) {
  if (count == 1) return fmt::format("{}{}", prefix, first);
  return fmt::format("{}{}-{}", prefix, first, first + count - 1);
}

std::string HoldingText::operator()(const Contributions& held, std::int64_t first,
                                    std::int64_t count) const {
  if (!held.written()) return {};
  const std::vector<int> ranks = held.ranks();
  if (ranks.empty()) return "zeros";
  const std::string text = rank_set_text(ranks, ranks_, sums_);
  return held.block() == first ? text : text + ":" + chunk_name('c', held.block(), count);
}

}  // namespace lockstep::app
