#include "sim/config/did_you_mean.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lockstep {

namespace {

constexpr std::size_t kLongestWord = 64;   // nobody mistypes a longer name
constexpr std::size_t kShortestStart = 3;  // letters that a beginning needs to stand for a name

// Case is cheap, but not free: "gb/s" is nearer to "Gb/s" than to "GB/s".
constexpr std::size_t kEdit = 100;
constexpr std::size_t kOtherCase = 1;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_letter(char a, char b) {
  return lower(a) == lower(b);
}

std::size_t cost_of_replacing(char a, char b) {
  if (a == b) return 0;
  return same_letter(a, b) ? kOtherCase : kEdit;
}

/// Optimal string alignment distance in steps of kEdit, row by row.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j * kEdit;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i * kEdit;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + cost_of_replacing(a[i - 1], b[j - 1]);
      row[j] = std::min({last[j] + kEdit, row[j - 1] + kEdit, replaced});
      const bool swapped =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + kEdit);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::size_t length_difference(std::string_view a, std::string_view b) {
  return a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
}

std::optional<std::string_view> only_one_beginning_with(
    std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() < kShortestStart) return std::nullopt;
  const auto begins = [word](std::string_view name) { return name.substr(0, word.size()) == word; };
  const auto found = std::find_if(candidates.begin(), candidates.end(), begins);
  if (found == candidates.end()) return std::nullopt;
  if (std::any_of(found + 1, candidates.end(), begins)) return std::nullopt;
  return *found;
}

/// "seq" for "sequence".
std::optional<std::string_view> only_one_that_begins(
    std::string_view word, const std::vector<std::string_view>& candidates) {
  const auto begins = [word](std::string_view name) {
    return name.size() >= kShortestStart && word.substr(0, name.size()) == name;
  };
  const auto found = std::find_if(candidates.begin(), candidates.end(), begins);
  if (found == candidates.end()) return std::nullopt;
  if (std::any_of(found + 1, candidates.end(), begins)) return std::nullopt;
  return *found;
}

/// "llama3-70b-dgx-h100" for "lama3-70b": the only name whose beginning is near.
std::optional<std::string_view> only_one_beginning_near(
    std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::size_t allowed = kEdit * (word.size() / 6);
  std::optional<std::string_view> found;
  for (const std::string_view name : candidates) {
    if (name.size() <= word.size()) continue;
    std::size_t edits = allowed + 1;
    for (const std::size_t length : {word.size() - 1, word.size(), word.size() + 1})
      edits = std::min(edits, edits_between(word, name.substr(0, length)));
    if (edits > allowed) continue;
    if (found) return std::nullopt;
    found = name;
  }
  return found;
}

}  // namespace

std::optional<std::string_view> did_you_mean(std::string_view word,
                                             const std::vector<std::string_view>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  std::size_t fewest = (allowed + 1) * kEdit;
  std::optional<std::string_view> nearest;
  for (const std::string_view name : candidates) {
    if (name == word) return std::nullopt;
    if (length_difference(word, name) > allowed) continue;
    const std::size_t edits = edits_between(word, name);
    if (edits >= fewest || edits >= std::max(word.size(), name.size()) * kEdit) continue;
    fewest = edits;
    nearest = name;
  }
  if (!nearest) nearest = only_one_beginning_with(word, candidates);
  if (!nearest) nearest = only_one_that_begins(word, candidates);
  return nearest ? nearest : only_one_beginning_near(word, candidates);
}

}  // namespace lockstep
