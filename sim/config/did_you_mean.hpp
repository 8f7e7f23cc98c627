#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lockstep {

/// The candidate that somebody who typed `word` most likely meant: the one fewest edits away
/// (insert, drop, replace or swap two neighbours; another case hardly counts), where that is at
/// most a third of the word's letters; else the only candidate that begins with the word, else the
/// only one with which the word begins ("seq" for "sequence"). Of equally near ones the first in
/// the list. Empty where nothing is near or the word is a candidate itself.
[[nodiscard]] std::optional<std::string_view> did_you_mean(
    std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace lockstep
